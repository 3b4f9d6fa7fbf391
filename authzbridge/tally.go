package authzbridge

import (
	"slices"
	"sync/atomic"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

// tally counts the decisions for one App, by reason.
type tally struct {
	app     string
	allowed atomic.Uint64
	others  atomic.Pointer[counts] // nil before the first
}

// counts are by reason. Most Apps of many are never asked for, and cost none.
type counts [snapshot.ReasonCount]atomic.Uint64

func (t *tally) add(reason snapshot.Reason) {
	if reason == snapshot.ReasonAllowed {
		t.allowed.Add(1)
		return
	}
	others := t.others.Load()
	if others == nil {
		t.others.CompareAndSwap(nil, new(counts))
		others = t.others.Load()
	}
	others[reason].Add(1)
}

func (t *tally) of(reason snapshot.Reason) uint64 {
	others := t.others.Load()
	switch {
	case reason == snapshot.ReasonAllowed:
		return t.allowed.Load()
	case others == nil:
		return 0
	}
	return others[reason].Load()
}

// tallies is the View that binds every App of a Snapshot to its counters, so
// that a request looks nothing up.
type tallies struct {
	byIndex []*tally
	none    *tally // of requests that belong to no App
}

// of returns the counters of an App, which may be nil. The App View may be older
// than this one while its Builder fails, so the name is compared.
func (t *tallies) of(app *snapshot.App) *tally {
	if app == nil || app.Index >= len(t.byIndex) {
		return t.none
	}
	if found := t.byIndex[app.Index]; found.app == app.Name {
		return found
	}
	return t.none
}

// tallyBuilder builds the View *tallies. The counters of an App go on for as long
// as the Registry lists it.
type tallyBuilder struct {
	none *tally
	last *tallies
}

func newTallyBuilder() *tallyBuilder { return &tallyBuilder{none: new(tally)} }

// Name implements snapshot.Builder.
func (*tallyBuilder) Name() string { return "tallies" }

// Build implements snapshot.Builder.
func (b *tallyBuilder) Build(o snapshot.Objects) (any, error) {
	if b.last != nil && !o.Changes.All && !o.Changes.Registry {
		return b.last, nil
	}
	entries := o.Registry.Entries()
	next := &tallies{byIndex: make([]*tally, len(entries)), none: b.none}
	known := b.known(len(entries))
	for i := range entries {
		name := entries[i].Name
		if known[name] == nil {
			known[name] = &tally{app: name}
		}
		next.byIndex[i] = known[name]
	}
	if b.last != nil && slices.Equal(b.last.byIndex, next.byIndex) {
		return b.last, nil
	}
	b.last = next
	return next, nil
}

func (b *tallyBuilder) known(size int) map[string]*tally {
	known := make(map[string]*tally, size)
	if b.last == nil {
		return known
	}
	for _, t := range b.last.byIndex {
		known[t.app] = t
	}
	return known
}

// tallyOf returns where decisions about an App of s are counted; both may be nil.
func (b *bridge) tallyOf(s *snapshot.Snapshot, app *snapshot.App) *tally {
	if bound, ok := snapshot.ViewAt[*tallies](s, b.tallied); ok {
		return bound.of(app)
	}
	return b.tallies.none
}
