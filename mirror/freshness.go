package mirror

import (
	"cmp"
	"sync"
	"time"
)

// Freshness is what a Source says about the age of what it has told.
type Freshness struct {
	// Contact is when the Source last heard from where the objects are; zero for
	// never.
	Contact time.Time
	// AsOf is a time as of which everything that was told is known to be right, or
	// newer. Zero while nobody knows.
	AsOf time.Time
	// Oldest names the watch that AsOf is the time of, for people.
	Oldest string
}

// ages keeps as of when what is served is known to be right. It is as old as its
// oldest part.
type ages struct {
	changed chan struct{} // has one signal when the rest changed

	mu       sync.Mutex // guards the fields below
	told     Freshness
	accepted Freshness // of what is served; what was told after it may still be built
	since    time.Time // of a first publish that the Source told nothing before; else zero
	cached   time.Time // as of when the Cache is, while it is served; else zero
	// held is as of when inputs are that stay in use because newer ones are not
	// accepted, by what does not accept them.
	held map[string]time.Time
}

func newAges() ages {
	return ages{changed: make(chan struct{}, 1), held: make(map[string]time.Time)}
}

func (a *ages) change(f func()) {
	a.mu.Lock()
	f()
	a.mu.Unlock()
	select {
	case a.changed <- struct{}{}:
	default:
	}
}

// tell takes what the Source says.
func (a *ages) tell(f Freshness) {
	a.change(func() { a.told = a.told.with(f) })
}

// accept takes that everything that was told before f is served, or held.
func (a *ages) accept(f Freshness) {
	a.change(func() { a.accepted = a.accepted.with(f) })
}

// with returns the newer of each. Nothing becomes older.
func (f Freshness) with(later Freshness) Freshness {
	if later.Contact.Before(f.Contact) {
		later.Contact = f.Contact
	}
	if later.AsOf.Before(f.AsOf) {
		later.AsOf, later.Oldest = f.AsOf, f.Oldest
	}
	return later
}

// hold says that an input is not accepted any more: what is served stays as old as
// it is now.
func (a *ages) hold(by string, now time.Time) {
	a.change(func() { a.holdAsOf(by, cmp.Or(a.source(), now)) })
}

// holdView says that a View is not made anew any more: it may be made of what the
// Cache had, whatever is served beside it later.
func (a *ages) holdView(by string, now time.Time) {
	a.change(func() { a.holdAsOf(by, cmp.Or(a.cached, a.source(), now)) })
}

// holdAsOf keeps the time of the first call. The caller holds the lock.
func (a *ages) holdAsOf(by string, asOf time.Time) {
	if _, known := a.held[by]; !known {
		a.held[by] = asOf
	}
}

// holdSince is hold for an input that was accepted by an earlier process.
func (a *ages) holdSince(by string, asOf time.Time) {
	a.change(func() { a.held[by] = asOf })
}

func (a *ages) release(by string) {
	a.change(func() { delete(a.held, by) })
}

// serve says what is published: live if cached is zero.
func (a *ages) serve(now, cached time.Time) {
	a.change(func() {
		if a.source().IsZero() && cached.IsZero() {
			a.since = now
		}
		a.cached = cached
	})
}

// withdraw says that nothing is served any more.
func (a *ages) withdraw() {
	a.change(func() { a.cached = time.Time{} })
}

// source is as of when the newest input is. It never goes back, not even when the
// Source tells for the first time. The caller holds the lock.
func (a *ages) source() time.Time {
	if a.accepted.AsOf.Before(a.since) {
		return a.since
	}
	return a.accepted.AsOf
}

// age is how old what is served is, and of which part.
type age struct {
	asOf time.Time // zero if nothing is served
	of   string
}

// oldest returns the age of the oldest part.
func (a *ages) oldest() age {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.cached.IsZero() {
		return age{a.cached, "cache"}
	}
	oldest := age{a.source(), cmp.Or(a.accepted.Oldest, "source")}
	for by, asOf := range a.held {
		if asOf.Before(oldest.asOf) {
			oldest = age{asOf, by}
		}
	}
	return oldest
}

func (a *ages) contact() time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.told.Contact
}

func (a *ages) validated() time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.told.AsOf
}

// at returns how old it is at a time; 0 for nothing, and for what a clock that
// was set back makes come from the future.
func (a age) at(now time.Time) time.Duration {
	if a.asOf.IsZero() {
		return 0
	}
	return max(now.Sub(a.asOf), 0)
}
