package snapshot

import (
	"time"
)

// AppsBuilder builds the Apps View. It remembers its last View, so one that
// nothing changed in is returned again, and one Secret's change costs no more
// than the Apps that refer to it. It must be called by one goroutine at a time,
// as the Mirror does.
type AppsBuilder struct {
	last     *Apps
	referrer map[Key][]int // the Apps of a Secret
	expiring []int         // the Apps that have an expiry
	shared   readings      // of the build that is under way
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
	if b.last != nil && b.last.equal(next) {
		return b.last, nil
	}
	b.last = next
	return next, nil
}

func (b *AppsBuilder) resolve(o Objects) *Apps {
	if b.last == nil || o.Changes.All || o.Changes.Registry {
		return b.resolveAll(o)
	}
	return b.resolveChanged(o)
}

func (b *AppsBuilder) resolveAll(o Objects) *Apps {
	entries := o.Registry.Entries()
	b.referrer = make(map[Key][]int, len(entries))
	b.expiring = nil
	next := &Apps{
		registryPresent: o.Registry.Present(),
		index:           newIndex(entries),
		guards:          newGuards(entries),
		apps:            make([]*App, len(entries)),
	}
	for i := range entries {
		e := &entries[i]
		next.apps[i] = b.app(e, i, o)
		if e.Err != nil {
			continue
		}
		b.referrer[e.SecretRef.Secret] = append(b.referrer[e.SecretRef.Secret], i)
		if !e.ExpiresAt.IsZero() {
			b.expiring = append(b.expiring, i)
		}
	}
	next.due = b.nextExpiry(next.apps, o.Now)
	return next
}

// resolveChanged shares the index with the last View: the Registry is the same.
func (b *AppsBuilder) resolveChanged(o Objects) *Apps {
	next := &Apps{
		registryPresent: b.last.registryPresent,
		index:           b.last.index,
		guards:          b.last.guards,
		apps:            append([]*App(nil), b.last.apps...),
	}
	entries := o.Registry.Entries()
	for key := range o.Changes.Secrets {
		for _, i := range b.referrer[key] {
			next.apps[i] = b.app(&entries[i], i, o)
		}
	}
	for _, i := range b.expiring {
		if last := next.apps[i]; last.expired(o.Now) != (last.Reason == ReasonAppExpired) {
			next.apps[i] = b.app(&entries[i], i, o)
		}
	}
	next.due = b.nextExpiry(next.apps, o.Now)
	return next
}

// app resolves an entry, and shares the App of the last View if it is equal.
func (b *AppsBuilder) app(e *Entry, index int, o Objects) *App {
	next := newApp(e, index, o, b.shared)
	if b.last == nil || index >= len(b.last.apps) {
		return next
	}
	if last := b.last.apps[index]; last.equal(next) {
		return last
	}
	return next
}

func (b *AppsBuilder) nextExpiry(apps []*App, now time.Time) time.Time {
	var due time.Time
	for _, i := range b.expiring {
		if at := apps[i].ExpiresAt; now.Before(at) && (due.IsZero() || at.Before(due)) {
			due = at
		}
	}
	return due
}

// equal need not compare the index: it follows from the Apps.
func (a *Apps) equal(b *Apps) bool {
	if a.registryPresent != b.registryPresent || len(a.apps) != len(b.apps) || !a.due.Equal(b.due) {
		return false
	}
	for i, app := range a.apps {
		if app != b.apps[i] && !app.equal(b.apps[i]) {
			return false
		}
	}
	return true
}
