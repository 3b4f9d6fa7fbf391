package authzbridge_test

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/authzbridge"
	"github.com/authz-bridge/authz-bridge/mirror/kube/kubetest"
)

// underLoad asks for an open and an unknown host in several goroutines, until
// stop is called, which returns how many open ones were answered.
func underLoad(d *door) (stop func() int64) {
	var clients sync.WaitGroup
	var done atomic.Bool
	var opened atomic.Int64
	for range 3 {
		clients.Go(func() {
			for !done.Load() {
				if !assert.Equal(d.tb, http.StatusOK, d.persist("shop.example.com")) {
					return
				}
				opened.Add(1)
				if !assert.Equal(d.tb, http.StatusForbidden, d.persist("unknown.example.com")) {
					return
				}
			}
		})
	}
	return func() int64 {
		done.Store(true)
		clients.Wait()
		return opened.Load()
	}
}

// persist asks again if there was no answer at all: a server of Caddy that shuts
// down may drop a connection that it has just accepted.
func (d *door) persist(host string) int {
	for range 100 {
		if got, err := d.try(host); err == nil {
			return got.status
		}
	}
	return 0
}

const openedSeries = `authz_bridge_decisions_total{app="shop",reason="allowed"}`

// goroutines counts what runs while nobody asks for anything.
func goroutines(d *door) int {
	d.client.CloseIdleConnections()
	return runtime.NumGoroutine()
}

// settles waits until no more goroutines are left than there were.
func settles(d *door, least int) {
	d.tb.Helper()
	over := time.After(patience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for waiting := true; waiting && goroutines(d) > least; {
		select {
		case <-tick.C:
		case <-over:
			waiting = false
		}
	}
	if left := goroutines(d); left > least {
		var stacks bytes.Buffer
		_ = pprof.Lookup("goroutine").WriteTo(&stacks, 1)
		require.Failf(d.tb, "goroutines are left", "%d, had %d:\n%s", left, least, stacks.String())
	}
}

func TestReloadsOfSitesKeepTheMirrorAndLeaveNothingBehind(t *testing.T) {
	w := newTown(t)
	w.secret("shop", someToken())
	w.registry(document(app("shop", "shop.example.com")))
	d := open(t, w.option())
	d.becomes("shop.example.com", http.StatusOK)
	require.NoError(t, d.load())
	before := d.bridge()
	counted := d.metric(openedSeries)
	least := goroutines(d)

	stop := underLoad(d)
	for n := range 100 {
		d.inside = fmt.Sprintf("unknown %d", 403)
		d.sites = fmt.Sprintf("http://:%d {\nbind 127.0.0.1\nrespond \"%d\"\n}", port(t, d), n)
		require.NoError(t, d.load())
	}
	opened := stop()

	after := d.bridge()
	assert.Equal(t, before.Generation, after.Generation, "the Snapshot is the same")
	assert.Equal(t, before.Rebuilds, after.Rebuilds)
	assert.Equal(t, counted+opened, d.metric(openedSeries), "the counters go on")
	d.sites = ""
	require.NoError(t, d.load())
	settles(d, least)
}

// port returns a port for one more site, the same each time.
func port(t *testing.T, d *door) int {
	t.Helper()
	if d.extra == 0 {
		_, err := fmt.Sscanf(freeAddress(t), "127.0.0.1:%d", &d.extra)
		require.NoError(t, err)
	}
	return d.extra
}

func TestReloadsOfTheGlobalBlockStartColdAndAnswerRight(t *testing.T) {
	w := newTown(t)
	w.secret("shop", someToken())
	w.registry(document(app("shop", "shop.example.com")))
	d := open(t, w.option())
	d.becomes("shop.example.com", http.StatusOK)
	least := goroutines(d)

	stop := underLoad(d)
	for n := range 10 {
		d.option = w.optionVia(w.kubeconfig, fmt.Sprintf("label_selector no-such-label-%d!=x", n))
		require.NoError(t, d.load())
		st := d.bridge()
		assert.Contains(t, st.Source, fmt.Sprintf("no-such-label-%d!=x", n), "the new settings are in force")
		assert.LessOrEqual(t, st.Generation, uint64(1), "the new Mirror starts from nothing")
	}
	opened := stop()
	assert.Positive(t, opened)
	d.option = w.option()
	require.NoError(t, d.load())
	d.becomes("shop.example.com", http.StatusOK)
	settles(d, least)
}

func TestARequestThatIsHeldIsNotLostToAReload(t *testing.T) {
	w := newTown(t)
	w.secret("shop", someToken())
	w.registry(document(app("shop", "shop.example.com")))
	proxy, err := kubetest.NewProxy(w.Address())
	require.NoError(t, err)
	defer func() { require.NoError(t, proxy.Close()) }()
	kubeconfig := w.KubeconfigVia(t, w.Admin(), proxy.Address())
	proxy.Freeze()
	d := open(t, w.optionVia(kubeconfig, ""))

	answered := make(chan int, 1)
	go func() { answered <- d.persist("shop.example.com") }()
	eventually(t, func() bool { return authzbridge.HeldRequests() == 1 }, "the request is not held")
	d.option = w.optionVia(kubeconfig, "label_selector no-such-label!=x")
	require.NoError(t, d.load())
	proxy.Pass()
	assert.Equal(t, http.StatusOK, <-answered)
}

func TestAFailedReloadLeavesTheOldConfigurationAndItsMetrics(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "") // as outside of a Pod
	w := newTown(t)
	w.secret("shop", someToken())
	w.registry(document(app("shop", "shop.example.com")))
	d := open(t, w.option())
	d.becomes("shop.example.com", http.StatusOK)

	good := d.option
	for name, bad := range map[string]string{
		"fails when provisioned": w.optionVia("/does/not/exist", ""),
		"fails when started":     "registry " + w.namespace + "/registry",
	} {
		d.option = bad
		require.Error(t, d.load(), name)
		counted := d.metric(openedSeries)
		assert.Equal(t, http.StatusOK, d.status("shop.example.com"), name)
		assert.Equal(t, counted+1, d.metric(openedSeries), name)
	}
	w.DeleteSecret(t, w.namespace, "shop")
	d.becomes("shop.example.com", http.StatusServiceUnavailable)
	d.option = good
	require.NoError(t, d.load())
}

func TestAMirrorThatGoesOnAfterAFailedReloadStillLogs(t *testing.T) {
	w := newTown(t)
	w.registry(document(app("shop", "shop.example.com")))
	d := open(t, w.option())
	d.becomes("shop.example.com", http.StatusServiceUnavailable)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()

	kept := d.log
	d.log = filepath.Join(t.TempDir(), "other.log")
	d.sites = "http://" + taken.Addr().String() + " {\nbind 127.0.0.1\n}"
	require.ErrorContains(t, d.load(), "address already in use")

	w.registry("no document")
	d.degraded("RegistryMalformed", true)
	eventually(t, func() bool {
		text, err := os.ReadFile(kept)
		require.NoError(t, err)
		return strings.Contains(string(text), "registry malformed")
	}, "the log of the configuration that goes on says nothing")
}

func TestValidationNeedsNoClusterAndNoNetwork(t *testing.T) {
	kubeconfig := farKubeconfig(t)
	for name, option := range map[string]string{
		"in a Pod":        "registry a/b",
		"far away":        "registry a/b\nsource kubernetes {\nkubeconfig " + kubeconfig + "\ncontext prod\n}",
		"some namespaces": "registry a/b\nsource kubernetes {\nscope namespaces a b\n}",
		"by name":         "registry a/b\nsource kubernetes {\nscope referenced\n}",
		"files":           "registry a/b\nsource files " + t.TempDir(),
	} {
		t.Run(name, func(t *testing.T) {
			d := newDoor(t, option)
			adapted, _, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(d.config()), nil)
			require.NoError(t, err)
			var config caddy.Config
			require.NoError(t, caddy.StrictUnmarshalJSON(adapted, &config))
			assert.NoError(t, caddy.Validate(&config))
		})
	}
}
