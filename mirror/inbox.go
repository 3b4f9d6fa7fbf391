package mirror

import (
	"maps"
	"sync"

	"go.uber.org/zap"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

// inbox takes the news of the Source until the loop comes for them. Of several
// news about one object only the last is kept, so a storm costs no more memory
// than there are objects, and however many arrive, one signal is queued.
type inbox struct {
	signal chan struct{}

	mu   sync.Mutex // guards news
	news news
}

// news is what came in since the loop last looked.
type news struct {
	registry    *snapshot.Secret
	registrySet bool
	secrets     map[snapshot.Key]snapshot.SecretState

	cluster  string    // empty for no news
	contents *Contents // of the Cache; nil for no news

	fresh Freshness // of all the rest
}

func newInbox() *inbox {
	return &inbox{signal: make(chan struct{}, 1)}
}

// put applies a change to the news and wakes the loop.
func (in *inbox) put(change func(*news)) {
	in.mu.Lock()
	change(&in.news)
	in.mu.Unlock()
	in.wake()
}

func (in *inbox) wake() {
	select {
	case in.signal <- struct{}{}:
	default: // one is queued, and whoever takes it sees this change too
	}
}

func (in *inbox) take() news {
	in.mu.Lock()
	defer in.mu.Unlock()
	taken := in.news
	in.news = news{}
	return taken
}

// sink is the Mirror as its Source sees it.
type sink Mirror

// Registry implements Sink.
func (s *sink) Registry(secret *snapshot.Secret) {
	s.inbox.put(func(n *news) { n.registry, n.registrySet = secret, true })
}

// Secrets implements Sink.
func (s *sink) Secrets(states map[snapshot.Key]snapshot.SecretState) {
	s.inbox.put(func(n *news) {
		if n.secrets == nil {
			n.secrets = make(map[snapshot.Key]snapshot.SecretState, len(states))
		}
		maps.Copy(n.secrets, states)
	})
}

// Fresh implements Sink. It counts for what is served once what was told before is.
func (s *sink) Fresh(f Freshness) {
	s.ages.tell(f)
	s.inbox.put(func(n *news) { n.fresh = n.fresh.with(f) })
}

// Cluster implements Sink.
func (s *sink) Cluster(id string) {
	s.inbox.put(func(n *news) { n.cluster = id })
}

// Failed implements Sink.
func (s *sink) Failed(watch string, failure Failure) {
	s.observer.SourceFailed(failure.Kind)
	if kind, isNew := s.conditions.watchFailed(watch, failure); isNew {
		s.logger.Warn("watch failing; serving what is known",
			zap.String("condition", string(kind)), zap.String("watch", watch), zap.String("detail", failure.Detail))
	}
}

// Recovered implements Sink.
func (s *sink) Recovered(watch string) {
	if kind, was := s.conditions.watchRecovered(watch); was {
		s.logger.Info("watch recovered", zap.String("condition", string(kind)), zap.String("watch", watch))
	}
}

// Resynced implements Sink.
func (s *sink) Resynced(string) {
	s.resyncs.Add(1)
	s.observer.Resynced()
}
