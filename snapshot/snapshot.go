package snapshot

import (
	"reflect"
	"slices"
	"time"
)

// State says where the content of a Snapshot comes from.
type State uint8

// The states of a Mirror and of the Snapshot that it serves.
const (
	// Unsynced means that there has been nothing to serve yet.
	Unsynced State = iota
	// FromCache means that the last good Objects of an earlier process are
	// served.
	FromCache
	// Live means that the content is what the Source said in this process.
	Live
)

var stateNames = [...]string{Unsynced: "unsynced", FromCache: "from_cache", Live: "live"}

// String returns the state's name in lower case, as status and metrics show it.
func (s State) String() string { return stateNames[s] }

// States returns all states in order.
func States() []State { return []State{Unsynced, FromCache, Live} }

// Snapshot is one immutable, published generation. It is safe for concurrent
// use, and a nil Snapshot holds no Views.
type Snapshot struct {
	generation uint64
	builtAt    time.Time
	state      State
	stale      bool
	views      []any
}

// NewSnapshot makes a Snapshot of views in the order of their slots. It copies
// the slice.
func NewSnapshot(generation uint64, builtAt time.Time, state State, views []any) *Snapshot {
	return &Snapshot{generation: generation, builtAt: builtAt, state: state, views: slices.Clone(views)}
}

// As returns the same content as another generation, which is stale or is not any
// more.
func (s *Snapshot) As(generation uint64, stale bool) *Snapshot {
	next := *s
	next.generation, next.stale = generation, stale
	return &next
}

// Stale reports whether the content is too old to open anything.
func (s *Snapshot) Stale() bool { return s != nil && s.stale }

// Generation counts published Snapshots of one Mirror, from 1. It is 0 for a nil
// Snapshot.
func (s *Snapshot) Generation() uint64 {
	if s == nil {
		return 0
	}
	return s.generation
}

// BuiltAt returns the time that the build went by; zero for a nil Snapshot.
func (s *Snapshot) BuiltAt() time.Time {
	if s == nil {
		return time.Time{}
	}
	return s.builtAt
}

// State returns where the content comes from; Unsynced for a nil Snapshot.
func (s *Snapshot) State() State {
	if s == nil {
		return Unsynced
	}
	return s.state
}

// ViewAt returns the View in a slot. It is false while the Builder has never
// succeeded, when the View is of another type, and for a nil Snapshot. It does
// not allocate.
func ViewAt[T any](s *Snapshot, slot Slot) (T, bool) {
	if s == nil || uint(slot.n-1) >= uint(len(s.views)) {
		var none T
		return none, false
	}
	v, ok := s.views[slot.n-1].(T)
	return v, ok
}

// SameViews reports whether views are the very ones of the Snapshot. A View of a
// type that Go cannot compare counts as another one. A nil Snapshot is the same
// as nothing.
func (s *Snapshot) SameViews(views []any) bool {
	if s == nil {
		return false
	}
	return slices.EqualFunc(s.views, views, func(a, b any) bool {
		if a == nil || b == nil {
			return a == b
		}
		return reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() && a == b
	})
}
