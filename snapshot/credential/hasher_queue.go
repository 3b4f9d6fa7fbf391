package credential

import (
	"slices"
	"sync"
)

// budget bounds the work that waits, in units: about 4 s of one processor. Two hashes
// of the highest cost are half of it, so that nobody is sent away when nothing
// waits.
const budget = 1 << 16

// queue hands out slots. While none is free the Apps take turns, so that one that is
// flooded delays the others by one hash each.
type queue struct {
	mu      sync.Mutex // guards the fields below
	free    int        // slots; none while somebody waits
	waiting int        // units
	apps    map[string]*backlog
	turns   []*backlog // the same as apps; the first is next
}

// backlog is what waits of one App, in order; never nothing.
type backlog struct {
	app     string
	units   int
	waiters []*waiter
}

type waiter struct {
	units int
	turn  chan struct{} // closed when the slot is handed over
}

// run does the work when it is its turn. It reports false if it did not, because too
// much waits or cancel was closed before.
func (q *queue) run(app string, units int, cancel <-chan struct{}, work func()) bool {
	w, ok := q.enter(app, units)
	if !ok || w != nil && !q.await(app, w, cancel) {
		return false
	}
	defer q.leave() // a panic must not keep the slot
	work()
	return true
}

// enter takes a free slot, or a place among those who wait. An App may have as much
// waiting as it leaves for all others: alone half of the budget, with one other App a
// third.
func (q *queue) enter(app string, units int) (*waiter, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.free > 0 {
		q.free--
		return nil, true
	}
	b, found := q.apps[app]
	if !found {
		b = &backlog{app: app}
	}
	if b.units+units > budget-q.waiting {
		return nil, false
	}
	if !found {
		q.add(b)
	}
	w := &waiter{units: units, turn: make(chan struct{})}
	b.waiters = append(b.waiters, w)
	b.units += units
	q.waiting += units
	return w, true
}

func (q *queue) add(b *backlog) {
	if q.apps == nil {
		q.apps = make(map[string]*backlog)
	}
	q.apps[b.app] = b
	q.turns = append(q.turns, b)
}

func (q *queue) await(app string, w *waiter, cancel <-chan struct{}) bool {
	select {
	case <-w.turn:
		return true
	case <-cancel:
	}
	if !q.withdraw(app, w) {
		q.leave() // the slot came at the same time
	}
	return false
}

// withdraw reports whether the waiter had no slot yet.
func (q *queue) withdraw(app string, w *waiter) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	b, found := q.apps[app]
	if !found {
		return false
	}
	i := slices.Index(b.waiters, w)
	if i < 0 {
		return false
	}
	q.remove(b, i)
	return true
}

// leave hands the slot over.
func (q *queue) leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.turns) == 0 {
		q.free++
		return
	}
	b := q.turns[0]
	q.turns = append(slices.Delete(q.turns, 0, 1), b)
	close(q.remove(b, 0).turn)
}

func (q *queue) remove(b *backlog, i int) *waiter {
	w := b.waiters[i]
	b.waiters = slices.Delete(b.waiters, i, i+1)
	b.units -= w.units
	q.waiting -= w.units
	if len(b.waiters) == 0 {
		delete(q.apps, b.app)
		q.turns = slices.DeleteFunc(q.turns, func(other *backlog) bool { return other == b })
	}
	return w
}
