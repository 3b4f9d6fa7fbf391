package authzbridge_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddytls"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/authzbridge"
)

// gate is a door with a site that gets its certificates on demand, of Caddy's internal
// issuer.
type gate struct {
	*door

	address string
	storage string
}

// newGate does not start it yet. The permission is the option's content after its name.
func newGate(t *testing.T, option, permission, issuer string) *gate {
	t.Helper()
	g := &gate{door: newDoor(t, option), address: freeAddress(t), storage: t.TempDir()}
	_, port, err := net.SplitHostPort(g.address)
	require.NoError(t, err)
	g.global = fmt.Sprintf("storage file_system %s\nskip_install_trust\nauto_https disable_redirects\non_demand_tls {\npermission authz_bridge %s\n}", g.storage, permission)
	g.sites = fmt.Sprintf("https://:%s {\nbind 127.0.0.1\ntls {\non_demand\nissuer internal %s\n}\nauthz_bridge\nrespond open\n}\n", port, issuer)
	return g
}

func openGate(t *testing.T, option, permission string) *gate {
	t.Helper()
	g := newGate(t, option, permission, "")
	require.NoError(t, g.load())
	return g
}

// certificate returns what a client that asks for a name is shown in the handshake. It
// trusts the root of the internal issuer.
func (g *gate) certificate(name string) (*x509.Certificate, error) {
	g.tb.Helper()
	root, err := os.ReadFile(filepath.Join(g.storage, "pki", "authorities", "local", "root.crt"))
	require.NoError(g.tb, err)
	roots := x509.NewCertPool()
	require.True(g.tb, roots.AppendCertsFromPEM(root))
	dialer := &tls.Dialer{
		NetDialer: &net.Dialer{Timeout: patience},
		Config:    &tls.Config{ServerName: name, RootCAs: roots, MinVersion: tls.VersionTLS13},
	}
	conn, err := dialer.DialContext(g.tb.Context(), "tcp", g.address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return conn.(*tls.Conn).ConnectionState().PeerCertificates[0], nil
}

func (g *gate) has(name string) bool {
	g.tb.Helper()
	shown, err := g.certificate(name)
	if err != nil {
		return false
	}
	assert.Equal(g.tb, []string{name}, shown.DNSNames)
	return true
}

func (g *gate) becomesServing(n int) {
	g.tb.Helper()
	eventually(g.tb, func() bool { return g.bridge().Apps.Serving == n }, "there are never %d Apps that serve", n)
}

func TestCertificatesAreForTheHostnamesOfTheRegistry(t *testing.T) {
	k := newDesk(t)
	for _, name := range []string{"shop", "invalid", "expired", "one", "two"} {
		k.secret(name, "token", "placeholder")
	}
	k.secret("registry", "registry.yaml", document(
		app("shop", "shop.example.com", "www.shop.example.com", "*.shop.example.com"),
		app("invalid", "invalid.example.com")+"\nquota: 1",
		app("expired", "expired.example.com")+"\nexpiresAt: 2001-01-01T00:00:00Z",
		app("absent", "absent.example.com"),
		app("one", "both.example.com"), app("two", "both.example.com"),
	))
	for about, c := range map[string]struct {
		permission string
		want       map[string]bool
	}{
		"by default": {"", map[string]bool{
			"shop.example.com": true, "www.shop.example.com": true, "absent.example.com": true,
			"a.shop.example.com": false, "*.shop.example.com": false, "other.example.com": false, "a.b.shop.example.com": false,
			"invalid.example.com": false, "expired.example.com": false, "both.example.com": false,
		}},
		"with wildcards": {"{\nwildcards\n}", map[string]bool{
			"shop.example.com": true, "a.shop.example.com": true, "absent.example.com": true,
			"*.shop.example.com": false, "a.b.shop.example.com": false, "other.example.com": false, "both.example.com": false,
		}},
		"while ready": {"{\nrequire_ready\n}", map[string]bool{
			"shop.example.com": true, "absent.example.com": false, "a.shop.example.com": false, "expired.example.com": false,
		}},
	} {
		t.Run(about, func(t *testing.T) {
			g := openGate(t, filesOption(k.manifests), c.permission)
			g.becomesServing(3)
			for name, want := range c.want {
				assert.Equal(t, want, g.has(name), name)
			}
			assert.Contains(t, g.logged(), "certificate not allowed by permission module")
			assert.NotContains(t, g.logged(), "failed to get permission")
		})
	}
}

func TestCertificatesFollowTheRegistryWithoutAReload(t *testing.T) {
	w := newTown(t)
	for _, name := range []string{"shop", "blog"} {
		w.secret(name, someToken())
	}
	w.registry(document(app("shop", "shop.example.com", "later.example.com")))
	g := openGate(t, w.option(), "")
	g.becomesServing(1)
	require.True(t, g.has("shop.example.com"))
	require.False(t, g.has("blog.example.com"))

	w.registry(document(app("shop", "shop.example.com", "later.example.com"), app("blog", "blog.example.com")))
	eventually(t, func() bool { return g.has("blog.example.com") }, "a hostname that was added gets no certificate")
	g.becomesServing(2)
	w.registry(document(app("shop", "shop.example.com")))
	g.becomesServing(1)
	assert.False(t, g.has("later.example.com"), "removed before its first")
	assert.True(t, g.has("blog.example.com"), "what is in memory serves on")

	t.Log("a process that starts loads nothing from the storage for it either")
	require.NoError(t, caddy.Stop())
	assert.FileExists(t, filepath.Join(g.storage, "certificates", "local", "blog.example.com", "blog.example.com.crt"))
	require.NoError(t, g.load())
	g.becomesServing(1)
	assert.True(t, g.has("shop.example.com"))
	assert.False(t, g.has("blog.example.com"))
}

// A refusal would cost certificates that are there: Caddy drops one that it may not
// renew.
func TestARegistryWithoutAppsRefusesNoCertificate(t *testing.T) {
	k := newDesk(t)
	k.secret("registry", "registry.yaml", "version: 1\napps: []\n")
	g := openGate(t, filesOption(k.manifests), "")
	eventually(t, func() bool { return g.bridge().Ready }, "never ready")
	assert.False(t, g.has("shop.example.com"))
	assert.Contains(t, g.logged(), "the Registry has no Apps")
	assert.NotContains(t, g.logged(), "certificate not allowed by permission module")
}

func TestARemovedHostnameIsNotRenewed(t *testing.T) {
	k := newDesk(t)
	k.secret("shop", "token", "placeholder")
	k.secret("registry", "registry.yaml", document(app("shop", "shop.example.com", "blog.example.com")))
	g := newGate(t, filesOption(k.manifests), "", "{\nlifetime 4s\n}")
	require.NoError(t, g.load())
	g.becomesServing(1)
	first, err := g.certificate("blog.example.com")
	require.NoError(t, err)
	kept, err := g.certificate("shop.example.com")
	require.NoError(t, err)

	k.secret("registry", "registry.yaml", document(app("shop", "shop.example.com")))
	eventually(t, func() bool { return g.status("blog.example.com") == http.StatusForbidden }, "never removed")
	eventually(t, func() bool { return !g.has("blog.example.com") }, "it is renewed though removed")
	eventually(t, func() bool {
		renewed, err := g.certificate("shop.example.com")
		return err == nil && renewed.SerialNumber.Cmp(kept.SerialNumber) != 0
	}, "the other one is not renewed")
	eventually(t, func() bool { return time.Now().After(first.NotAfter) }, "the first one never ends")
	assert.False(t, g.has("blog.example.com"))
}

// A denial is everyday work; that nobody can tell is an error.
func TestThatNobodyCanTellIsNoDenial(t *testing.T) {
	k := newDesk(t)
	k.secret("registry", "registry.yaml", "no document")
	g := openGate(t, filesOption(k.manifests), "{\nrequire_ready\n}")
	assert.False(t, g.has("shop.example.com"))
	assert.Contains(t, g.logged(), `nobody can tell whether \"shop.example.com\" may have a certificate: unsynced`)
	assert.Contains(t, g.logged(), "failed to get permission for on-demand certificate")
	assert.NotContains(t, g.logged(), "certificate not allowed by permission module")

	k.secret("shop", "token", "placeholder")
	k.secret("registry", "registry.yaml", document(app("shop", "shop.example.com")))
	eventually(t, func() bool { return g.has("shop.example.com") }, "not even when it is known")
}

func TestAPermissionNeedsTheGlobalOption(t *testing.T) {
	err := caddy.Load([]byte(`{"admin": {"disabled": true}, `+quiet+`, "apps": {"tls": {"automation": {
		"on_demand": {"permission": {"module": "authz_bridge"}}, "policies": [{"on_demand": true}]}}}}`), true)
	assert.ErrorContains(t, err, "add the global option `authz_bridge")
}

func TestACertificateIsForTheNameAsItIs(t *testing.T) {
	k := newDesk(t)
	k.secret("shop", "token", "placeholder")
	k.secret("registry", "registry.yaml", document(app("shop", "shop.example.com")))
	d := open(t, filesOption(k.manifests))
	d.becomes("shop.example.com", http.StatusOK)
	permission := new(authzbridge.Permission)
	assert.NoError(t, authzbridge.Permit(t.Context(), permission, "shop.example.com"))
	for _, name := range []string{"SHOP.example.com", "shop.example.com.", "shop.example.com:443", "shop.example.com:0443", ""} {
		assert.ErrorIs(t, authzbridge.Permit(t.Context(), permission, name), caddytls.ErrPermissionDenied, name)
	}
}
