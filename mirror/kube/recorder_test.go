package kube

import (
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

// patience bounds what a test waits for; it is over long before unless the test
// fails.
const patience = time.Minute

// recorder is a Sink that remembers.
type recorder struct {
	mu      sync.Mutex
	changed chan struct{} // closed and replaced at each call

	registry      *snapshot.Secret
	registryCalls int
	states        map[snapshot.Key]snapshot.SecretState
	secretCalls   int
	fresh         []mirror.Freshness
	clusters      []string
	failures      map[string][]mirror.Failure
	recoveries    map[string]int
	resyncs       map[string]int
}

func newRecorder() *recorder {
	return &recorder{
		changed:    make(chan struct{}),
		states:     make(map[snapshot.Key]snapshot.SecretState),
		failures:   make(map[string][]mirror.Failure),
		recoveries: make(map[string]int),
		resyncs:    make(map[string]int),
	}
}

func (r *recorder) record(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *recorder) Registry(secret *snapshot.Secret) {
	r.record(func() { r.registry, r.registryCalls = secret, r.registryCalls+1 })
}

func (r *recorder) Secrets(states map[snapshot.Key]snapshot.SecretState) {
	r.record(func() { maps.Copy(r.states, states); r.secretCalls++ })
}

func (r *recorder) Fresh(f mirror.Freshness) {
	r.record(func() { r.fresh = append(r.fresh, f) })
}

func (r *recorder) Cluster(id string) {
	r.record(func() { r.clusters = append(r.clusters, id) })
}

func (r *recorder) Failed(watch string, failure mirror.Failure) {
	r.record(func() { r.failures[watch] = append(r.failures[watch], failure) })
}

func (r *recorder) Recovered(watch string) {
	r.record(func() { r.recoveries[watch]++ })
}

func (r *recorder) Resynced(watch string) {
	r.record(func() { r.resyncs[watch]++ })
}

// await returns when the condition holds, which is asked under the lock.
func (r *recorder) await(tb testing.TB, what string, condition func() bool) {
	tb.Helper()
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for {
		r.mu.Lock()
		holds, changed := condition(), r.changed
		r.mu.Unlock()
		if holds {
			return
		}
		select {
		case <-changed:
		case <-timeout.C:
			require.Fail(tb, "waited in vain: "+what, r.summary())
		}
	}
}

func (r *recorder) summary() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return fmt.Sprintf("failures: %v\nrecoveries: %v\nresyncs: %v", r.failures, r.recoveries, r.resyncs)
}

// awaitValue waits until the Secret is present with a value under "token".
func (r *recorder) awaitValue(tb testing.TB, key snapshot.Key, value string) {
	tb.Helper()
	r.await(tb, key.String()+" has token "+value, func() bool { return r.value(key) == value })
}

func (r *recorder) value(key snapshot.Key) string {
	state := r.states[key]
	if state.Status != snapshot.SecretPresent {
		return ""
	}
	value, _ := state.Secret.Value("token")
	return value
}

// held is value for a test that does not wait.
func (r *recorder) held(key snapshot.Key) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.value(key)
}

func (r *recorder) awaitStatus(tb testing.TB, key snapshot.Key, status snapshot.SecretStatus) {
	tb.Helper()
	r.await(tb, key.String()+" has another status", func() bool { return r.states[key].Status == status })
}

// awaitFailure waits for a failure of the watch after the first n.
func (r *recorder) awaitFailure(tb testing.TB, watch string, n int) mirror.Failure {
	tb.Helper()
	r.await(tb, "a failure of "+watch, func() bool { return len(r.failures[watch]) > n })
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failures[watch][len(r.failures[watch])-1]
}

func (r *recorder) state(key snapshot.Key) snapshot.SecretState {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.states[key]
}

func (r *recorder) look(at func() int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return at()
}
