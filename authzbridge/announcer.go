package authzbridge

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

const (
	// mostUntold bounds the events that wait for a slow subscriber.
	mostUntold = 1024
	// publishedGap is the shortest time between two events about publishing: there may
	// be fifty publishes a second, and a subscriber may start a process for each event.
	publishedGap = time.Second
)

// announcer tells the events app of the newest configuration what happens in the
// Mirror. Events are synchronous, so it does that on a goroutine of its own: a
// subscriber that is slow or hangs delays other events, and nothing else. It does not
// wait for that goroutine anywhere, as a subscriber may load a configuration.
type announcer struct {
	apps    snapshot.Slot
	logger  *zap.Logger
	signal  chan struct{} // has one when there may be something to tell
	full    chan struct{} // has one when events begin to be dropped
	ended   chan struct{}
	end     func() // closes ended
	dropped atomic.Uint64

	mu     sync.Mutex // guards the fields below
	stages []*stage   // of the configurations in use, the newest last
	untold []happening
	lost   int // dropped since there was room

	told        publication // the fields below belong to the goroutine
	publishedAt time.Time
}

// happening is one event: a condition that begins or ends, or a publish.
type happening struct {
	name      string
	condition mirror.Condition
	published *snapshot.Snapshot // nil for a condition
}

func newAnnouncer(logger *zap.Logger) *announcer {
	a := &announcer{logger: logger, signal: make(chan struct{}, 1), full: make(chan struct{}, 1), ended: make(chan struct{})}
	a.end = sync.OnceFunc(func() { close(a.ended) })
	return a
}

// published takes a Snapshot in place of an earlier one that was not told yet.
func (a *announcer) published(s *snapshot.Snapshot) {
	a.mu.Lock()
	a.untold = slices.DeleteFunc(a.untold, func(h happening) bool { return h.published != nil })
	a.untold = append(a.untold, happening{name: EventPublished, published: s})
	a.mu.Unlock()
	a.wake()
}

// condition takes that a condition began or ended.
func (a *announcer) condition(c mirror.Condition, began bool) {
	switch {
	case !began:
		a.add(happening{name: EventRecovered, condition: c})
	case c.Type == mirror.Stale:
		a.add(happening{name: EventDegraded, condition: c})
		a.add(happening{name: EventStale, condition: c})
	default:
		a.add(happening{name: EventDegraded, condition: c})
	}
}

// add never waits, and logs nothing: the Mirror calls it while it holds what lists its
// conditions, and a log may block.
func (a *announcer) add(h happening) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.untold) < mostUntold {
		a.untold = append(a.untold, h)
		a.wake()
		return
	}
	a.dropped.Add(1)
	if a.lost++; a.lost == 1 {
		signal(a.full)
	}
}

func (a *announcer) wake() { signal(a.signal) }

// signal leaves one in a channel that has room for one.
func signal(to chan<- struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// use makes a configuration that has started the one that is told.
func (a *announcer) use(s *stage) {
	a.mu.Lock()
	a.stages = append(a.stages, s)
	a.mu.Unlock()
	a.wake()
}

// drop leaves out a configuration that ends.
func (a *announcer) drop(s *stage) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stages = slices.DeleteFunc(a.stages, func(other *stage) bool { return other == s })
}

// complain logs that events are dropped, until end. It has a goroutine of its own, since
// then a subscriber keeps the other one.
func (a *announcer) complain() {
	for {
		select {
		case <-a.ended:
			return
		case <-a.full:
			a.logger.Warn("events are dropped; a subscriber does not keep up", zap.Int("waiting", mostUntold))
		}
	}
}

// run tells until end.
func (a *announcer) run() {
	timer := time.NewTimer(publishedGap)
	defer timer.Stop()
	for {
		select {
		case <-a.ended:
			return
		case <-a.signal:
		case <-timer.C:
		}
		now := time.Now()
		for a.tellOne(now) {
			now = time.Now()
		}
		if wait := a.publishedAt.Add(publishedGap).Sub(now); wait > 0 {
			timer.Reset(wait)
		}
	}
}

// tellOne reports whether there was something to tell.
func (a *announcer) tellOne(now time.Time) bool {
	h, to, lost := a.take(now)
	if to == nil {
		return false
	}
	if lost > 0 {
		a.logger.Warn("events were dropped; a subscriber did not keep up", zap.Int("dropped", lost))
	}
	a.tell(h, to)
	return true
}

// take returns the first event that may be told now, and whom to tell; nil for
// nothing.
func (a *announcer) take(now time.Time) (h happening, to *stage, lost int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	tooSoon := now.Before(a.publishedAt.Add(publishedGap))
	i := slices.IndexFunc(a.untold, func(h happening) bool { return h.published == nil || !tooSoon })
	if i < 0 || len(a.stages) == 0 || a.hasEnded() {
		return happening{}, nil, 0
	}
	h = a.untold[i]
	a.untold = slices.Delete(a.untold, i, i+1)
	lost, a.lost = a.lost, 0
	return h, a.stages[len(a.stages)-1], lost
}

func (a *announcer) hasEnded() bool {
	select {
	case <-a.ended:
		return true
	default:
		return false
	}
}

// tell calls the subscribers. The data is made only if somebody is there for it.
func (a *announcer) tell(h happening, to *stage) {
	defer func() {
		if p := recover(); p != nil {
			a.logger.Error("event subscriber panicked", zap.String("event", h.name), zap.String("type", fmt.Sprintf("%T", p)))
		}
	}()
	if h.published == nil {
		to.emit(h.name, func() map[string]any { return conditionData(h.condition) })
		return
	}
	before, now := a.told, newPublication(h.published, a.apps)
	a.told, a.publishedAt = now, time.Now()
	to.emit(h.name, func() map[string]any { return now.since(before) })
}
