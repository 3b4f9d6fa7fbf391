package kube

import (
	"sync"

	"go.uber.org/zap"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

// gate passes calls on to a Sink until it is shut, and logs what the Mirror does
// not.
type gate struct {
	logger *zap.Logger

	mu   sync.RWMutex // guards sink; held while it is called
	sink mirror.Sink  // nil once shut
}

var _ mirror.Sink = (*gate)(nil)

// shut returns when no call is under way, and lets none through afterwards.
func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sink = nil
}

func (g *gate) pass(call func(mirror.Sink)) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if g.sink != nil {
		call(g.sink)
	}
}

// Registry implements mirror.Sink.
func (g *gate) Registry(secret *snapshot.Secret) {
	g.pass(func(s mirror.Sink) { s.Registry(secret) })
}

// Secrets implements mirror.Sink.
func (g *gate) Secrets(states map[snapshot.Key]snapshot.SecretState) {
	g.pass(func(s mirror.Sink) { s.Secrets(states) })
}

// Fresh implements mirror.Sink.
func (g *gate) Fresh(f mirror.Freshness) {
	g.pass(func(s mirror.Sink) { s.Fresh(f) })
}

// Cluster implements mirror.Sink.
func (g *gate) Cluster(id string) {
	g.pass(func(s mirror.Sink) { s.Cluster(id) })
}

// Failed implements mirror.Sink.
func (g *gate) Failed(watch string, failure mirror.Failure) {
	g.logger.Debug("attempt failed", zap.String("watch", watch),
		zap.String("kind", string(failure.Kind)), zap.String("detail", failure.Detail))
	g.pass(func(s mirror.Sink) { s.Failed(watch, failure) })
}

// Recovered implements mirror.Sink.
func (g *gate) Recovered(watch string) {
	g.pass(func(s mirror.Sink) { s.Recovered(watch) })
}

// Resynced implements mirror.Sink.
func (g *gate) Resynced(watch string) {
	g.logger.Info("watch started over from a full list", zap.String("watch", watch))
	g.pass(func(s mirror.Sink) { s.Resynced(watch) })
}
