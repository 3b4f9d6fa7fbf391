package snapshot

import (
	"cmp"
	"slices"
	"time"
)

// AppsBuilder builds the Apps View. It remembers its last View, so one that
// nothing changed in is returned again, and one Secret's change costs no more
// than the Apps that refer to it. It must be called by one goroutine at a time,
// as the Mirror does.
type AppsBuilder struct {
	last     *Apps
	at       time.Time // of last
	referrer referrers // of the Registry of last
	expiring []int     // the Apps that have an expiry, by that
	shared   readings  // of the build that is under way
}

// NewAppsBuilder returns a Builder of the View *Apps.
func NewAppsBuilder() *AppsBuilder { return &AppsBuilder{} }

// Name implements Builder.
func (*AppsBuilder) Name() string { return "apps" }

// Build implements Builder. It returns an *Apps and never an error.
func (b *AppsBuilder) Build(o Objects) (any, error) {
	b.shared = make(readings)
	next := b.resolve(o)
	b.shared = nil
	b.last, b.at = next, o.Now
	return next, nil
}

// resolve returns the last View if nobody could tell the next one from it.
func (b *AppsBuilder) resolve(o Objects) *Apps {
	if b.last != nil && !o.Changes.All && !o.Changes.Registry {
		return b.resolveChanged(o)
	}
	next := b.resolveAll(o)
	if b.last != nil && b.last.equal(next) {
		return b.last
	}
	return next
}

func (b *AppsBuilder) resolveAll(o Objects) *Apps {
	entries := o.Registry.Entries()
	b.referrer = newReferrers(entries)
	b.expiring = nil
	next := &Apps{
		registry: o.Registry.asRead(),
		index:    newIndex(entries),
		guards:   newGuards(entries),
		slots:    newSlots(len(entries)),
	}
	for i, e := range entries {
		*next.slots.at(i) = newSlot(b.app(e, i, o))
		if e.Err == nil && !e.ExpiresAt.IsZero() {
			b.expiring = append(b.expiring, i)
		}
	}
	slices.SortStableFunc(b.expiring, func(i, j int) int { return entries[i].ExpiresAt.Compare(entries[j].ExpiresAt) })
	next.due = b.nextExpiry(entries, o.Now)
	return next
}

// resolveChanged shares all but what changed with the last View: the Registry is the
// same.
func (b *AppsBuilder) resolveChanged(o Objects) *Apps {
	entries := o.Registry.Entries()
	due := b.nextExpiry(entries, o.Now)
	next, cloned := *b.last, false
	next.due = due
	resolve := func(i int) {
		last := next.slots.at(i).app
		app := b.app(entries[i], i, o)
		if app == last {
			return
		}
		if !cloned {
			next.slots, cloned = b.last.slots.clone(), true
		}
		next.slots.replace(i, app, &b.last.slots)
	}
	for key := range o.Changes.Secrets {
		for i := range b.referrer.of(key, entries) {
			resolve(i)
		}
	}
	for _, i := range b.expiredBetween(entries, b.at, o.Now) {
		resolve(i)
	}
	if !cloned && due.Equal(b.last.due) {
		return b.last
	}
	return &next
}

// app resolves an entry, and shares the App of the last View if it is equal.
func (b *AppsBuilder) app(e *Entry, index int, o Objects) *App {
	next := newApp(e, index, o, b.shared)
	if b.last == nil || index >= b.last.slots.n {
		return next
	}
	if last := b.last.slots.at(index).app; last.equal(next) {
		return last
	}
	return next
}

// position returns how many of the expiring Apps have expired at a time.
func (b *AppsBuilder) position(entries []*Entry, now time.Time) int {
	n, _ := slices.BinarySearchFunc(b.expiring, now, func(i int, now time.Time) int {
		return cmp.Or(entries[i].ExpiresAt.Compare(now), -1)
	})
	return n
}

// expiredBetween returns the Apps that have expired between two times, or the other
// way round where the clock was set back.
func (b *AppsBuilder) expiredBetween(entries []*Entry, last, now time.Time) []int {
	from, to := b.position(entries, last), b.position(entries, now)
	return b.expiring[min(from, to):max(from, to)]
}

func (b *AppsBuilder) nextExpiry(entries []*Entry, now time.Time) time.Time {
	if n := b.position(entries, now); n < len(b.expiring) {
		return entries[b.expiring[n]].ExpiresAt
	}
	return time.Time{}
}

// equal need not compare the index: it follows from the Apps.
func (a *Apps) equal(b *Apps) bool {
	if a.registry.Present != b.registry.Present || a.slots.n != b.slots.n || !a.due.Equal(b.due) {
		return false
	}
	for i := range a.slots.n {
		if x, y := a.slots.at(i).app, b.slots.at(i).app; x != y && !x.equal(y) {
			return false
		}
	}
	return true
}
