package mirror_test

import (
	"slices"
	"sync"
	"time"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

// record takes what the Mirror's goroutine tells. It is locked because passing
// virtual time orders nothing for the race detector.
type record[T any] struct {
	mu  sync.Mutex // guards all
	all []T
}

func (r *record[T]) add(v T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, v)
}

func (r *record[T]) list() []T {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.all)
}

func (r *record[T]) len() int { return len(r.list()) }

func (r *record[T]) last() T {
	all := r.list()
	return all[len(all)-1]
}

// spy is a Builder that remembers how it was called. Each View that it makes is
// another one, unless the test says what to make.
type spy struct {
	name  string
	calls record[snapshot.Objects]
	at    record[time.Time]

	mu   sync.Mutex // guards make
	make func(snapshot.Objects) (any, error)
}

func newSpy(name string) *spy { return &spy{name: name} }

func (s *spy) Name() string { return s.name }

func (s *spy) Build(o snapshot.Objects) (any, error) {
	s.calls.add(o)
	s.at.add(time.Now())
	s.mu.Lock()
	f := s.make
	s.mu.Unlock()
	if f == nil {
		return s.calls.len(), nil
	}
	return f(o)
}

// makes says what every build does from now on.
func (s *spy) makes(f func(snapshot.Objects) (any, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.make = f
}

// takes makes every build last so long.
func (s *spy) takes(d time.Duration) *spy {
	s.makes(func(snapshot.Objects) (any, error) {
		time.Sleep(d)
		return s.calls.len(), nil
	})
	return s
}

// fails makes every build from now on return an error.
func (s *spy) fails(err error) {
	s.makes(func(snapshot.Objects) (any, error) { return nil, err })
}

// panics makes every build from now on panic.
func (s *spy) panics(with any) {
	s.makes(func(snapshot.Objects) (any, error) { panic(with) })
}

// recovers makes every build from now on return a new View.
func (s *spy) recovers() { s.makes(nil) }

// changes are those of the last call.
func (s *spy) changes() snapshot.Changes { return s.calls.last().Changes }

// due is a View that changes by time.
type due struct{ at time.Time }

func (d *due) NextChange() time.Time { return d.at }
