package mirror

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

// listeners are called for every published Snapshot.
type listeners struct {
	mu  sync.Mutex // guards all
	all []*listener
}

type listener struct {
	call    func(*snapshot.Snapshot)
	removed atomic.Bool
}

// OnPublish has f called after every publish, in order, on a goroutine of the
// Mirror's own, one at a time: it must return at once. That a foreign Cache is not
// served any more is no publish. A panic is recovered and logged. The
// returned function ends it; a call that has begun may still be under way.
func (m *Mirror) OnPublish(f func(*snapshot.Snapshot)) (remove func()) {
	l := &m.listeners
	added := &listener{call: f}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, added)
	return func() {
		added.removed.Store(true)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.all = slices.DeleteFunc(slices.Clone(l.all), func(other *listener) bool { return other == added })
	}
}

func (l *listeners) call(s *snapshot.Snapshot, logger *zap.Logger) {
	l.mu.Lock()
	all := l.all
	l.mu.Unlock()
	for _, each := range all {
		if !each.removed.Load() {
			each.safely(s, logger)
		}
	}
}

func (l *listener) safely(s *snapshot.Snapshot, logger *zap.Logger) {
	defer func() {
		if p := recover(); p != nil {
			logger.Error("publish listener panicked", zap.String("type", fmt.Sprintf("%T", p)))
		}
	}()
	l.call(s)
}
