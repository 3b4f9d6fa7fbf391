package mirror

import (
	"time"

	"go.uber.org/zap"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

// build calls every Builder that wants it, and publishes if a View differs.
func (l *loop) build(now time.Time) {
	l.rebuilds.Add(1)
	o := l.input(now)
	all := l.registrations.list()
	views := make([]any, len(all))
	for i, r := range all {
		if r.wants(now) {
			l.buildOne(r, o)
		}
		views[i] = r.view
	}
	l.put(now, views)
}

// put publishes, and offers what is good to the Cache.
func (l *loop) put(now time.Time, views []any) {
	l.ages.accept(l.fresh)
	if !l.live {
		l.publish(now, snapshot.FromCache, l.restored.asOf, views)
		return
	}
	if l.publish(now, snapshot.Live, time.Time{}, views) {
		l.logger.Info("first snapshot published", zap.Int("pending_secrets", l.objects.pending))
	}
	l.offer()
}

func (l *loop) buildOne(r *registration, o snapshot.Objects) {
	err := r.build(o)
	if err == nil {
		l.ages.release("builder " + r.name)
		if l.conditions.clear(BuildFailed, r.name) {
			l.logger.Info("builder succeeds again", zap.String("builder", r.name))
		}
		return
	}
	l.ages.holdView("builder "+r.name, o.Now)
	l.observer.BuildFailed(r.name)
	if l.conditions.raise(BuildFailed, r.name, "builder "+r.name+": "+err.Error()+"; its last view stays in use") {
		l.logger.Error("builder failed; its last view stays in use",
			zap.String("builder", r.name), zap.Error(err))
	}
}
