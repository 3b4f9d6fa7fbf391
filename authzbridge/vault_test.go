package authzbridge_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/mirror/cache"
	"github.com/authz-bridge/authz-bridge/mirror/kube"
	"github.com/authz-bridge/authz-bridge/mirror/kube/kubetest"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

// vault is the directory of a Cache, and what it takes to look into it.
type vault struct {
	tb     testing.TB
	dir    string
	key    string
	origin cache.Origin
}

// newVault returns the directory that a configuration with cacheOption uses. It does
// not exist yet.
func newVault(t *testing.T, origin cache.Origin) *vault {
	t.Helper()
	t.Setenv(keyVariable, cacheKey)
	return &vault{tb: t, dir: filepath.Join(t.TempDir(), "cache"), key: cacheKey, origin: origin}
}

func (v *vault) path() string { return filepath.Join(v.dir, "objects.sealed") }

// open returns a Cache beside that of the configuration.
func (v *vault) open() *cache.Cache {
	v.tb.Helper()
	c, err := cache.New(cache.Options{Dir: v.dir, Key: []byte(v.key), Origin: v.origin})
	require.NoError(v.tb, err)
	v.tb.Cleanup(func() { require.NoError(v.tb, c.Close()) })
	return c
}

// contents is what is stored.
func (v *vault) contents() mirror.Contents {
	v.tb.Helper()
	contents, err := v.open().Load()
	require.NoError(v.tb, err)
	return contents
}

// rewrite changes what is stored, while nobody else has the lock.
func (v *vault) rewrite(change func(*mirror.Contents)) {
	v.tb.Helper()
	contents := v.contents()
	change(&contents)
	v.store(contents)
}

func (v *vault) store(contents mirror.Contents) {
	v.tb.Helper()
	c := v.open()
	require.NoError(v.tb, c.Store(contents))
	require.NoError(v.tb, c.Close())
}

// reach is a town whose API server is asked through a proxy, so that it can be out
// of reach while the test still writes.
type reach struct {
	*town
	*vault
	proxy *kubetest.Proxy
}

func newReach(t *testing.T) *reach {
	t.Helper()
	w := newTown(t)
	proxy, err := kubetest.NewProxy(w.Address())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, proxy.Close()) })
	w.kubeconfig = w.KubeconfigVia(t, w.Admin(), proxy.Address())
	return &reach{w, newVault(t, originOf(t, w.kubeconfig, w.namespace)), proxy}
}

func originOf(t *testing.T, kubeconfig, namespace string) cache.Origin {
	t.Helper()
	config, err := kube.LoadConfig(kubeconfig, "")
	require.NoError(t, err)
	server, ca, err := kube.Origin(config)
	require.NoError(t, err)
	return cache.Origin{Server: server, CA: ca, Registry: snapshot.Key{Namespace: namespace, Name: "registry"}}
}

// option is the content of the global option with the Cache.
func (r *reach) option(more ...string) string {
	return r.town.option() + cacheOption(r.dir) + "\n" + strings.Join(more, "\n")
}

// stored runs a process that lives until it has stored what makes a host answer so.
func (r *reach) stored(t *testing.T, host string, status int) *door {
	t.Helper()
	d := open(t, r.option())
	d.becomes(host, status)
	d.writes(1)
	require.NoError(t, caddy.Stop())
	return d
}

// writes waits until the Cache was stored so many times.
func (d *door) writes(least uint64) {
	d.tb.Helper()
	eventually(d.tb, func() bool { return d.bridge().Cache.Writes >= least }, "the cache is not written %d times", least)
}

// inState waits until the Mirror is in a state.
func (d *door) inState(state string) {
	d.tb.Helper()
	eventually(d.tb, func() bool { return d.bridge().State == state }, "the state is never %s", state)
}

// told is all that is told to operators.
func (d *door) told() map[string]string {
	d.tb.Helper()
	texts := make(map[string]string)
	for _, path := range []string{"/config/", "/authz_bridge/status", "/authz_bridge/ready", "/metrics"} {
		_, texts["the admin API's "+path] = d.get(d.admin, path)
	}
	_, texts["the metrics"] = d.get(d.meter, "/metrics")
	texts["the log"] = d.logged()
	return texts
}

func (d *door) logged() string {
	d.tb.Helper()
	text, err := os.ReadFile(d.log)
	require.NoError(d.tb, err)
	return string(text)
}

// probed adds a site for the kubelet's probes, and returns what it is answered.
func (d *door) probed(tb testing.TB) (ready func() int) {
	tb.Helper()
	probe := freeAddress(tb)
	d.sites = fmt.Sprintf("http://%s {\nbind 127.0.0.1\nauthz_bridge_ready\n}", probe)
	return func() int {
		status, _ := d.get(probe, "/")
		return status
	}
}
