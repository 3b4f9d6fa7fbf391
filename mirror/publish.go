package mirror

import (
	"time"

	"go.uber.org/zap"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

// publish puts Views in service if they differ from those that are, or if the state
// does. asOf is as of when those from the Cache are. It reports whether nothing was
// served before.
func (m *Mirror) publish(now time.Time, state snapshot.State, asOf time.Time, views []any) (first bool) {
	defer m.tell()
	m.publishing.Lock()
	defer m.publishing.Unlock()
	if m.hasStopped() {
		return false // a build that Stop did not wait for
	}
	m.ages.serve(now, asOf)
	// Not now: the build may have taken long.
	prev, at := m.current.Load(), time.Now()
	stale := m.isStale(at)
	if stale != prev.Stale() {
		m.noteStale(stale, at)
	}
	if prev != nil && prev.State() == state && prev.Stale() == stale && prev.SameViews(views) {
		return false
	}
	m.generation++
	next := snapshot.NewSnapshot(m.generation, now, state, views)
	if stale {
		next = next.As(m.generation, true)
	}
	if prev == nil {
		m.progress.published(now) // before anybody can see a Snapshot, and be ready too soon
	}
	m.serve(next)
	return prev == nil
}

// serve stores a Snapshot. The caller has the lock, and calls tell once it has not.
func (m *Mirror) serve(s *snapshot.Snapshot) {
	m.current.Store(s)
	m.begin.Do(func() { close(m.first) })
	m.untold = append(m.untold, s)
}

// tell calls the listeners for what was published, in order, one goroutine at a
// time. One that finds another at it leaves its own to that: a listener that hangs
// must not keep what is too old from being closed.
func (m *Mirror) tell() {
	for m.hasUntold() && m.telling.TryLock() {
		for _, s := range m.takeUntold() {
			m.listeners.call(s, m.logger)
		}
		m.telling.Unlock()
	}
}

func (m *Mirror) hasUntold() bool {
	m.publishing.Lock()
	defer m.publishing.Unlock()
	return len(m.untold) > 0
}

func (m *Mirror) takeUntold() []*snapshot.Snapshot {
	m.publishing.Lock()
	defer m.publishing.Unlock()
	taken := m.untold
	m.untold = nil
	return taken
}

// withdraw takes what is served out of service, for good: it was somebody else's.
func (m *Mirror) withdraw() {
	m.publishing.Lock()
	defer m.publishing.Unlock()
	m.current.Store(nil)
	m.ages.withdraw()
	m.conditions.clear(Stale, "")
}

// expire closes everything once what is served has become too old, and opens it
// again once it was validated. It returns when to look again at the latest.
func (m *Mirror) expire(now time.Time) time.Duration {
	defer m.tell()
	m.publishing.Lock()
	defer m.publishing.Unlock()
	s := m.current.Load()
	if s == nil || m.hasStopped() {
		return maxSleep
	}
	stale := m.isStale(now)
	if stale != s.Stale() {
		m.noteStale(stale, now)
		m.generation++
		m.serve(s.As(m.generation, stale))
	}
	if stale {
		return maxSleep
	}
	return min(m.maxAge-m.ages.oldest().at(now), maxSleep)
}

// isStale reports whether what is served is too old.
func (m *Mirror) isStale(now time.Time) bool {
	return m.maxAge > 0 && m.ages.oldest().at(now) >= m.maxAge
}

func (m *Mirror) noteStale(stale bool, now time.Time) {
	oldest := m.ages.oldest()
	if !stale {
		m.conditions.clear(Stale, "")
		m.logger.Info("what is served was validated; open again")
		return
	}
	message := "what is known was last right at " + oldest.asOf.UTC().Format(time.RFC3339) + " (" + oldest.of + "), longer ago than max_age " +
		m.maxAge.String() + "; every request is refused until it is validated"
	m.conditions.raise(Stale, "", message)
	m.logger.Error("stale; every request is refused", zap.Duration("age", oldest.at(now)),
		zap.Duration("max_age", m.maxAge), zap.String("oldest", oldest.of))
}
