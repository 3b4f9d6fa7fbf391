package snapshot

import "time"

// Builder makes one View of the Objects. The Mirror calls it from one goroutine,
// in order of registration, when something changed since its last success.
//
// A Builder that returns an error or panics keeps its previous View in service,
// and costs no other Builder anything. One that made nothing new returns the
// View it returned before: a Snapshot is published only when a View differs, and
// Views are compared with ==.
type Builder interface {
	// Name identifies the View; it is neither empty nor used twice.
	Name() string
	// Build returns a View that is never changed afterwards.
	Build(Objects) (any, error)
}

// Timed is implemented by a View that changes by time alone.
type Timed interface {
	// NextChange returns when its Builder must be called again even if no
	// object changed; the zero time means never.
	NextChange() time.Time
}

// Slot is the place of a View in every Snapshot of one Mirror. It is what
// registering a Builder returns. The zero Slot holds nothing.
type Slot struct{ n int }

// NewSlot returns the slot at a zero-based position.
func NewSlot(position int) Slot { return Slot{n: position + 1} }

// Position returns the zero-based position of the slot, -1 for the zero Slot.
func (s Slot) Position() int { return s.n - 1 }
