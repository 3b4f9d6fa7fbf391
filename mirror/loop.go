package mirror

import (
	"context"
	"time"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

const (
	// minGap and maxGap bound the pause after a build, gapFactor relates it to
	// how long that took, reading the Registry included: readers get news at
	// once, and building takes no more than a fifth of one core as long as a
	// build takes no more than a quarter of maxGap.
	minGap    = 20 * time.Millisecond
	maxGap    = time.Second
	gapFactor = 4

	// firstWait is how long the first publish waits for the referenced Secrets
	// once the Registry is known. It is shorter than requests are held, so that
	// those for other Apps are answered.
	firstWait = time.Second

	// readyWait is how long a Mirror is not ready after the first publish for
	// want of some Secret: rolling out replicas that answer 503 would be worse
	// than to wait, and to wait for ever as well.
	readyWait = 15 * time.Second

	// maxSleep bounds the sleep until something is due by the wall clock, which
	// may be set while the loop sleeps by the monotonic one.
	maxSleep = 30 * time.Second
)

// loop is the one goroutine that owns the Objects and calls the Builders.
type loop struct {
	*Mirror
	objects    objects
	registryAt time.Time // when the Registry became known; zero before
	live       bool      // what the Source says is served

	restored    *restored // what is served from the Cache; nil if nothing is
	fresh       Freshness // of what was absorbed
	adopted     bool      // the Registry is that of the Cache
	malformed   bool      // the Registry as the Source saw it last
	cluster     string    // what the Source has contact with; empty if it is not known
	registryUID string    // of the Registry as the Source saw it last
}

func newLoop(m *Mirror) *loop {
	return &loop{Mirror: m, objects: newObjects()}
}

// run takes a turn at once when something changes, and pauses after each build,
// so that the changes of a burst share one.
func (l *loop) run(ctx context.Context) {
	timer := time.NewTimer(maxSleep)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.inbox.signal:
		case <-timer.C:
		}
		if l.hasStopped() {
			return // select does not prefer ctx
		}
		pause := l.turn(time.Now())
		if pause > 0 && !sleep(ctx, pause) {
			return
		}
		timer.Reset(l.untilDue(time.Now()))
	}
}

// turn takes in what is new and builds if there is reason to. It returns how
// long to pause.
func (l *loop) turn(now time.Time) time.Duration {
	begin := time.Now()
	n := l.inbox.take()
	l.fresh = l.fresh.with(n.fresh)
	l.absorb(n, now)
	named := l.absorbCluster(n.cluster)
	l.absorbCache(n.contents)
	l.adopt(now)
	if !l.mayPublish(now) || !l.wantsBuild(now) {
		l.ages.accept(l.fresh)
		if named && l.live {
			l.offer()
		}
		// A Registry that is malformed has to be read as well to know it.
		return l.untilDeadline(min(gapFactor*time.Since(begin), maxGap))
	}
	l.timedBuild(now)
	return min(max(gapFactor*time.Since(begin), minGap), maxGap)
}

// untilDeadline shortens a pause so that the first publish is not late.
func (l *loop) untilDeadline(pause time.Duration) time.Duration {
	if !l.awaitsDeadline() {
		return pause
	}
	return min(pause, max(time.Until(l.deadline()), 0))
}

func (l *loop) timedBuild(now time.Time) {
	begin := time.Now()
	l.build(now)
	l.observer.Rebuilt(time.Since(begin).Seconds())
}

// mayPublish holds the first publish until the Registry and what it references
// are in sync, or for a while: else Apps would be shown as pending that the next
// event opens.
func (l *loop) mayPublish(now time.Time) bool {
	if !l.live && l.isInSync(now) {
		l.goLive()
	}
	return l.live || l.restored != nil
}

func (l *loop) isInSync(now time.Time) bool {
	if l.objects.registry == nil {
		return false
	}
	return l.objects.pending == 0 || !l.adopted && !now.Before(l.deadline())
}

// goLive replaces what is served from the Cache whole.
func (l *loop) goLive() {
	l.live = true
	l.liveOnce.Do(func() { close(l.isLive) })
	if l.restored == nil {
		return
	}
	l.restored = nil
	l.startOver()
	l.conditions.clear(ServingFromCache, "")
	l.logger.Info("in sync; the cache is not served any more")
}

// startOver lets no Builder reuse what it made of other Objects.
func (l *loop) startOver() {
	for _, r := range l.registrations.list() {
		r.changes, r.dirty = snapshot.Changes{All: true}, true
	}
}

// awaitsDeadline reports whether something is published by time alone.
func (l *loop) awaitsDeadline() bool {
	return !l.live && !l.adopted && !l.registryAt.IsZero()
}

// deadline is until when the first publish waits for the referenced Secrets once the
// Registry is known: longer while the Cache has them.
func (l *loop) deadline() time.Time {
	if l.restored != nil {
		return l.registryAt.Add(readyWait)
	}
	return l.registryAt.Add(firstWait)
}

func (l *loop) wantsBuild(now time.Time) bool {
	for _, r := range l.registrations.list() {
		if r.wants(now) {
			return true
		}
	}
	return l.current.Load() == nil
}

// untilDue returns how long to sleep if nothing changes.
func (l *loop) untilDue(now time.Time) time.Duration {
	next := now.Add(maxSleep)
	if l.awaitsDeadline() {
		next = earlier(next, l.deadline())
	}
	for _, r := range l.registrations.list() {
		next = earlier(next, r.due)
	}
	return max(next.Sub(now), 0)
}

// earlier returns the earlier of a and b, where a zero b means never.
func earlier(a, b time.Time) time.Time {
	if b.IsZero() || a.Before(b) {
		return a
	}
	return b
}

// sleep reports whether the time passed before ctx was done.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
