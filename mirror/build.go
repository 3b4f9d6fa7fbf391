package mirror

import (
	"time"

	"go.uber.org/zap"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

// build calls every Builder that wants it, and publishes if a View differs.
func (l *loop) build(now time.Time) {
	l.rebuilds.Add(1)
	o := l.objects.take(now)
	all := l.registrations.list()
	views := make([]any, len(all))
	for i, r := range all {
		if r.wants(now) {
			l.buildOne(r, o)
		}
		views[i] = r.view
	}
	l.publish(now, views)
}

func (l *loop) buildOne(r *registration, o snapshot.Objects) {
	err := r.build(o)
	if err == nil {
		if l.conditions.clear(BuildFailed, r.name) {
			l.logger.Info("builder succeeds again", zap.String("builder", r.name))
		}
		return
	}
	l.observer.BuildFailed(r.name)
	if l.conditions.raise(BuildFailed, r.name, "builder "+r.name+": "+err.Error()+"; its last view stays in use") {
		l.logger.Error("builder failed; its last view stays in use",
			zap.String("builder", r.name), zap.Error(err))
	}
}

func (l *loop) publish(now time.Time, views []any) {
	if l.hasStopped() {
		return // a build that Stop did not wait for
	}
	prev := l.current.Load()
	if prev != nil && prev.State() == snapshot.Live && prev.SameViews(views) {
		return
	}
	next := snapshot.NewSnapshot(prev.Generation()+1, now, snapshot.Live, views)
	if prev == nil {
		l.progress.published(now) // before anybody can see a Snapshot, and be ready too soon
	}
	l.current.Store(next)
	if prev == nil {
		close(l.first)
		l.logger.Info("first snapshot published", zap.Int("pending_secrets", l.objects.pending))
	}
	l.listeners.call(next, l.logger)
}
