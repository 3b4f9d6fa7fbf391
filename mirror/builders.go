package mirror

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

// registrations are the Builders in order of registration.
type registrations struct {
	mu  sync.Mutex // guards all; what it points at belongs to the loop
	all []*registration
}

// registration is one Builder and what the loop knows about it.
type registration struct {
	builder snapshot.Builder
	name    string
	view    any
	changes snapshot.Changes // since the last success
	dirty   bool             // there is something that it has not been called for
	due     time.Time        // when to call it even if nothing changes; zero: never
	asOf    time.Time        // wall-clock time of a Timed View; zero if it is none
}

// Register adds a Builder and returns the slot of its View. It may be called
// before and after Start; once started it triggers a build. An empty name and
// one that is taken are refused.
func (m *Mirror) Register(b snapshot.Builder) (snapshot.Slot, error) {
	name := b.Name()
	if name == "" {
		return snapshot.Slot{}, errors.New("mirror: builder has no name")
	}
	r := &m.registrations
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, other := range r.all {
		if other.name == name {
			return snapshot.Slot{}, fmt.Errorf("mirror: builder %q is registered already", name)
		}
	}
	r.all = append(r.all, &registration{
		builder: b,
		name:    name,
		changes: snapshot.Changes{All: true},
		dirty:   true,
	})
	m.inbox.wake()
	return snapshot.NewSlot(len(r.all) - 1), nil
}

func (r *registrations) list() []*registration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clip(r.all)
}

// note adds what changed to what the Builder has not yet built from. Secrets
// that are not referenced any more are dropped, so that a Builder which fails
// for ever gathers no more than there is.
func (r *registration) note(registry bool, refs map[snapshot.Key]snapshot.Reference, secrets map[snapshot.Key]struct{}) {
	r.dirty = true
	if registry {
		r.changes.Registry = true
		maps.DeleteFunc(r.changes.Secrets, func(key snapshot.Key, _ struct{}) bool { return !has(refs, key) })
	}
	if r.changes.Secrets == nil {
		r.changes.Secrets = make(map[snapshot.Key]struct{}, len(secrets))
	}
	maps.Copy(r.changes.Secrets, secrets)
}

func (r *registration) wants(now time.Time) bool {
	return r.dirty || r.overdue(now)
}

// overdue reports whether the View must be made anew by time alone: what it
// waited for has come, or the clock was set back to before it was made.
func (r *registration) overdue(now time.Time) bool {
	return !r.due.IsZero() && !now.Before(r.due) || now.Before(r.asOf)
}

// retryDue is how long after a failure a Builder that was due by time is called
// again if nothing changes.
const retryDue = 10 * time.Second

// build calls the Builder. The changes stay noted until it succeeds, but it is
// not called again before there is something new.
func (r *registration) build(o snapshot.Objects) error {
	r.dirty = false
	o.Changes = r.changes
	view, due, err := r.call(o)
	if err != nil {
		// The Builder may have kept the map that it was given.
		r.changes.Secrets = maps.Clone(r.changes.Secrets)
		if r.overdue(o.Now) {
			r.due, r.asOf = o.Now.Add(retryDue), time.Time{}
		}
		return err
	}
	r.view = view
	r.changes = snapshot.Changes{}
	r.due, r.asOf = due, time.Time{}
	if _, timed := view.(snapshot.Timed); timed {
		r.asOf = o.Now.Round(0) // without the monotonic reading, which no setting of the clock moves
	}
	return nil
}

// call runs everything of the Builder's that can panic: Build, the View's
// NextChange and the error's Error.
func (r *registration) call(o snapshot.Objects) (view any, due time.Time, err error) {
	defer func() {
		if p := recover(); p != nil {
			// A panic's value may quote the input, which is secret.
			err = fmt.Errorf("panic (%T)", p)
		}
	}()
	view, err = r.builder.Build(o)
	if err != nil {
		return nil, time.Time{}, errors.New(err.Error())
	}
	return view, nextChange(view, o.Now), nil
}

// nextChange keeps a View that is always due from turning the loop into a spin.
func nextChange(view any, now time.Time) time.Time {
	timed, ok := view.(snapshot.Timed)
	if !ok {
		return time.Time{}
	}
	due := timed.NextChange()
	if !due.IsZero() && !now.Before(due) {
		return now.Add(time.Second)
	}
	return due
}
