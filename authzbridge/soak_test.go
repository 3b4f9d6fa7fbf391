package authzbridge_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/mirror/kube/kubetest"
)

// soakApps is how many Apps the soak plays with, mostIssued how many keys of now and
// then its callers try.
const (
	soakApps   = 40
	mostIssued = 2000
)

// soak is a town under attack, with a model that knows the right answer once all is
// quiet.
type soak struct {
	*town
	t      *testing.T
	door   *door
	proxy  *kubetest.Proxy
	random *rand.Rand

	listed map[string]bool   // Apps in the Registry
	keys   map[string]string // the one key of each App's Secret; none if it is not there
	next   int

	mu     sync.Mutex // guards issued
	issued []issued

	doors   sync.RWMutex // held while Caddy is reloaded, for connections that were just made are dropped then
	asked   atomic.Int64
	allowed atomic.Int64
	wrong   atomic.Int64
}

// issued is a key that was in an App's Secret at some time.
type issued struct {
	app, key string
	dead     bool // it was gone when all was quiet: never right again
}

// TestSoak plays random creates, updates, deletes, cuts, freezes, restarts and
// reloads under load, for as long as SOAK says. No key that is dead is ever right,
// and whenever all is quiet every answer is.
func TestSoak(t *testing.T) {
	duration, err := time.ParseDuration(os.Getenv("SOAK"))
	if err != nil {
		t.Skip("runs for as long as SOAK says, as in SOAK=10m, which make soak sets")
	}
	s := newSoak(t)
	stop := s.load()
	end := time.Now().Add(duration)
	rounds, events := 0, make(map[string]int)
	var first usage
	for time.Now().Before(end) {
		for range 20 {
			events[s.event()]++
		}
		s.calm()
		if rounds++; rounds == 3 {
			first = s.usage()
		}
	}
	stop()
	last := s.usage()
	t.Logf("%d rounds, events %v", rounds, events)
	t.Logf("%d requests, %d allowed, %d with a dead key allowed", s.asked.Load(), s.allowed.Load(), s.wrong.Load())
	t.Logf("after 3 rounds: %s; at the end: %s", first, last)
	assert.Zero(t, s.wrong.Load())
	assert.Positive(t, s.allowed.Load())
	assert.LessOrEqual(t, last.goroutines, first.goroutines+50, "goroutines grow")
	assert.LessOrEqual(t, last.heap, 2*first.heap+16<<20, "memory grows")
}

func newSoak(t *testing.T) *soak {
	t.Helper()
	w := newTown(t)
	proxy, err := kubetest.NewProxy(w.Address())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, proxy.Close()) })
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	s := &soak{
		town:   w,
		t:      t,
		proxy:  proxy,
		random: rand.New(rand.NewPCG(seed, 1)),
		listed: make(map[string]bool),
		keys:   make(map[string]string),
	}
	s.writeRegistry()
	t.Setenv("SOAK_CACHE_KEY", strings.Repeat("k", 32))
	s.door = newDoor(t, fmt.Sprintf("%s\ncache %s/cache {\nkey {env.SOAK_CACHE_KEY}\npersist_interval 1s\n}",
		w.optionVia(w.KubeconfigVia(t, w.Admin(), proxy.Address()), ""), t.TempDir()))
	require.NoError(t, s.door.load())
	return s
}

func soakHost(app string) string { return app + ".example.com" }

func (s *soak) pick() string { return fmt.Sprintf("app-%d", s.random.IntN(soakApps)) }

// event does one thing at random, and says what.
func (s *soak) event() string {
	name := s.pick()
	switch n := s.random.IntN(100); {
	case n < 40:
		s.put(name)
		return "put"
	case n < 55:
		s.drop(name)
		return "delete"
	case n < 75:
		s.listed[name] = !s.listed[name]
		s.writeRegistry()
		return "registry"
	case n < 82:
		s.proxy.Cut()
		s.pause(500 * time.Millisecond)
		s.proxy.Pass()
		return "cut"
	case n < 87:
		s.proxy.Freeze()
		s.pause(time.Second)
		s.proxy.Pass()
		return "freeze"
	case n < 90:
		require.NoError(s.t, s.KillAPIServer())
		require.NoError(s.t, s.StartAPIServer())
		return "restart"
	case n < 94:
		s.reload(func() { s.door.inside = map[bool]string{true: "", false: "unknown 404"}[s.door.inside != ""] })
		return "reload"
	case n < 96:
		s.reload(func() {
			s.door.option = map[bool]string{true: s.door.option + "\nmax_age 3h", false: strings.TrimSuffix(s.door.option, "\nmax_age 3h")}[!strings.HasSuffix(s.door.option, "max_age 3h")]
		})
		return "fresh start"
	}
	s.PutSecret(s.t, s.namespace, "registry", map[string]string{"registry.yaml": "version: 1\napps: ["})
	return "malformed"
}

func (s *soak) pause(most time.Duration) { <-time.After(time.Duration(s.random.Int64N(int64(most)))) }

func (s *soak) put(name string) {
	s.next++
	s.keys[name] = fmt.Sprintf("key-%d-of-%s", s.next, name)
	s.mu.Lock()
	s.issued = append(s.issued, issued{app: name, key: s.keys[name]})
	s.mu.Unlock()
	s.secret(name, map[string]string{"token": s.keys[name]})
}

func (s *soak) drop(name string) {
	if _, there := s.keys[name]; there {
		delete(s.keys, name)
		s.DeleteSecret(s.t, s.namespace, name)
	}
}

func (s *soak) writeRegistry() {
	var entries []string
	for name := range s.listed {
		if s.listed[name] {
			entries = append(entries, app(name, soakHost(name))+"\nanyOf: [{apiKey: {from: [{header: X-API-Key}]}}]")
		}
	}
	s.registry(document(entries...))
}

func (s *soak) reload(change func()) {
	s.doors.Lock()
	defer s.doors.Unlock()
	change()
	require.NoError(s.t, s.door.load())
}

// want is what a request with the App's own key is answered when all is quiet.
func (s *soak) want(name string) int {
	_, there := s.keys[name]
	switch {
	case !s.listed[name]:
		return map[bool]int{true: http.StatusForbidden, false: http.StatusNotFound}[s.door.inside == ""]
	case !there:
		return http.StatusServiceUnavailable
	}
	return http.StatusOK
}

// calm waits until every answer is right, for a while, and then knows which keys are
// dead.
func (s *soak) calm() {
	s.writeRegistry()
	for i := range soakApps {
		name := fmt.Sprintf("app-%d", i)
		var got int
		eventually(s.t, func() bool {
			got = s.door.send(soakHost(name), http.Header{"X-Api-Key": {s.keys[name]}}).status
			return got == s.want(name)
		}, "%s is never answered %d", name, s.want(name))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.issued {
		s.issued[i].dead = s.keys[s.issued[i].app] != s.issued[i].key
	}
	s.issued = s.issued[max(0, len(s.issued)-mostIssued):]
}

// load asks all the time with keys of now and then, until it is stopped.
func (s *soak) load() (stop func()) {
	var done atomic.Bool
	var running sync.WaitGroup
	for i := range 4 {
		running.Go(func() {
			random := rand.New(rand.NewPCG(uint64(i), 2))
			for !done.Load() {
				s.ask(random)
			}
		})
	}
	return func() { done.Store(true); running.Wait() }
}

func (s *soak) ask(random *rand.Rand) {
	s.mu.Lock()
	if len(s.issued) == 0 {
		s.mu.Unlock()
		return
	}
	k := s.issued[random.IntN(len(s.issued))]
	s.mu.Unlock()
	s.doors.RLock()
	got, err := s.door.trySend(soakHost(k.app), http.Header{"X-Api-Key": {k.key}})
	s.doors.RUnlock()
	s.asked.Add(1)
	if err != nil || got.status != http.StatusOK {
		return
	}
	s.allowed.Add(1)
	if k.dead {
		s.wrong.Add(1)
	}
}

// usage is what the process takes when all is quiet.
type usage struct {
	goroutines int
	heap       uint64
}

func (u usage) String() string { return fmt.Sprintf("%d goroutines, %d MiB", u.goroutines, u.heap>>20) }

func (*soak) usage() usage {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return usage{runtime.NumGoroutine(), m.HeapAlloc}
}
