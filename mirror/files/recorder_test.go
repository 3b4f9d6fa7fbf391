package files

import (
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

// recorder is a Sink that remembers everything it is told.
type recorder struct {
	mu         sync.Mutex
	changed    chan struct{} // closed and replaced at each call
	order      []string      // the calls, in words
	registries []*snapshot.Secret
	states     map[snapshot.Key]snapshot.SecretState
	failing    map[string]mirror.Failure
	failed     map[string]int // calls of Failed, by watch
	fresh      mirror.Freshness
	onSecrets  func(map[snapshot.Key]snapshot.SecretState)
}

func newRecorder() *recorder {
	return &recorder{
		changed: make(chan struct{}),
		states:  make(map[snapshot.Key]snapshot.SecretState),
		failing: make(map[string]mirror.Failure),
		failed:  make(map[string]int),
	}
}

func (r *recorder) record(call string, f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.order = append(r.order, call)
	f()
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *recorder) Registry(s *snapshot.Secret) {
	r.record("registry", func() { r.registries = append(r.registries, s) })
}

func (r *recorder) Secrets(states map[snapshot.Key]snapshot.SecretState) {
	r.record("secrets", func() {
		maps.Copy(r.states, states)
		if r.onSecrets != nil {
			r.onSecrets(states)
		}
	})
}

func (r *recorder) Fresh(f mirror.Freshness) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fresh = f
}

func (*recorder) Cluster(string) {}

func (r *recorder) Failed(watch string, f mirror.Failure) {
	r.record("failed "+watch, func() { r.failing[watch] = f; r.failed[watch]++ })
}

func (r *recorder) Recovered(watch string) {
	r.record("recovered "+watch, func() { delete(r.failing, watch) })
}

func (r *recorder) Resynced(watch string) { r.record("resynced "+watch, func() {}) }

// forget drops the record of the calls, not what is known.
func (r *recorder) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.order = nil
}

func (r *recorder) calls() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.order...)
}

func (r *recorder) state(key snapshot.Key) snapshot.SecretState {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.states[key]
}

func (r *recorder) value(key snapshot.Key, dataKey string) string {
	state := r.state(key)
	if state.Secret == nil {
		return ""
	}
	v, _ := state.Secret.Value(dataKey)
	return v
}

// registry returns the Registry that was told last, and whether one was.
func (r *recorder) registry() (*snapshot.Secret, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.registries) == 0 {
		return nil, false
	}
	return r.registries[len(r.registries)-1], true
}

func (r *recorder) failure(watch string) (mirror.Failure, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f, ok := r.failing[watch]
	return f, ok
}

// await waits until a condition holds; it is asked after each call.
func (r *recorder) await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	for {
		r.mu.Lock()
		changed := r.changed
		r.mu.Unlock()
		if holds() {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			require.FailNow(t, "never came: "+what, "calls: %v, failing: %v", r.calls(), r.failing)
		}
	}
}
