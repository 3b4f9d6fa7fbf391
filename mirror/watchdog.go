package mirror

import (
	"context"
	"time"
)

// watchAge enforces max_age. It has a goroutine of its own, for a build that hangs
// must not keep open what is too old.
func (m *Mirror) watchAge(ctx context.Context) {
	if m.maxAge <= 0 {
		return
	}
	timer := time.NewTimer(maxSleep)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.ages.changed:
		case <-timer.C:
		}
		timer.Reset(max(m.expire(time.Now()), time.Millisecond))
	}
}
