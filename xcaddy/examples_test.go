package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/mirror/kube/kubetest"
)

const examplesDir = "../caddyfile/examples"

// example is this process with one of the example Caddyfiles loaded.
type example struct {
	site, health string // addresses
}

// runExample loads an example, in which more may be replaced. The environment says where
// its objects are.
func runExample(t *testing.T, name string, pairs ...string) example {
	t.Helper()
	e, caddyfile := localExample(t, name, pairs...)
	require.NoError(t, caddy.Load(adapt(t, caddyfile), true))
	t.Cleanup(func() { assert.NoError(t, caddy.Stop()) })
	return e
}

// localExample changes no more of an example than where it listens, and what would
// outlast the test.
func localExample(t *testing.T, name string, pairs ...string) (e example, caddyfile string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(examplesDir, name))
	require.NoError(t, err)
	adapt(t, string(text)) // as it is: without a warning
	e = example{site: freeAddress(t), health: freeAddress(t)}
	local := fmt.Sprintf("admin off\n\tpersist_config off\n\tdefault_bind 127.0.0.1\n\tauto_https disable_redirects\n\tstorage file_system %s\n", t.TempDir())
	caddyfile = strings.Replace(string(text), "admin localhost:2019\n", "admin off\n", 1)
	caddyfile = replaceEach(t, caddyfile, append(pairs, "admin off\n", local)...)
	for port, address := range map[string]string{":8080 {": e.site, ":8443 {": e.site, ":9090 {": e.health} {
		caddyfile = strings.ReplaceAll(caddyfile, port, portOf(t, address)+" {")
	}
	require.Contains(t, caddyfile, portOf(t, e.site))
	return e, caddyfile
}

func portOf(t *testing.T, address string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	return ":" + port
}

// ask returns the status and the text for an App.
func (e example) ask(t *testing.T, host string, header http.Header) (status int, text string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+e.site+"/", http.NoBody)
	require.NoError(t, err)
	request.Host, request.Header = host, header
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: podTimeout}
	response, err := client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(body)
}

func (e example) await(t *testing.T, host string, header http.Header, want int) (text string) {
	t.Helper()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		var status int
		status, text = e.ask(t, host, header)
		assert.Equal(c, want, status, host)
	}, podTimeout, podPoll)
	return text
}

func TestQuickstartExample(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join(examplesDir, "quickstart"))))
	t.Setenv("QUICKSTART_DIR", dir)
	e := runExample(t, "quickstart.caddyfile")
	assert.Equal(t, "hello from open \n", e.await(t, "open.localhost", nil, http.StatusOK))
	e.await(t, "nobody.localhost", nil, http.StatusForbidden)
	e.await(t, "private.localhost", nil, http.StatusUnauthorized)
	assert.Equal(t, "hello from private alice\n", e.await(t, "private.localhost", http.Header{"X-Api-Key": {"alices-key"}}, http.StatusOK))
	e.await(t, "closed.localhost", nil, http.StatusServiceUnavailable)

	closed, err := os.ReadFile(filepath.Join(examplesDir, "closed.secret.yaml"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "closed.secret.yaml"), closed, 0o600))
	e.await(t, "closed.localhost", nil, http.StatusOK)
}

func TestCredentialsExample(t *testing.T) {
	t.Setenv("CREDENTIALS_DIR", filepath.Join(examplesDir, "credentials"))
	e := runExample(t, "credentials.caddyfile")
	hello := func(app, user string, header http.Header) {
		t.Helper()
		assert.Equal(t, "hello "+user+", this is "+app+"\n", e.await(t, app+".localhost", header, http.StatusOK))
	}
	hello("api", "alice", http.Header{"X-Api-Key": {"alices-old-key"}})
	hello("api", "alice", http.Header{"X-Api-Key": {"alices-new-key"}})
	hello("api", "bob", http.Header{"Authorization": {"Bearer bobs-key"}})
	hello("wiki", "carol", basicAuth("carol", "not-a-secret"))
	hello("events", "dora", http.Header{"Authorization": {"Bearer " + eventsToken(t, "web")}})

	e.await(t, "api.localhost", http.Header{"X-Api-Key": {"carols-key"}}, http.StatusUnauthorized)
	e.await(t, "wiki.localhost", basicAuth("carol", "wrong"), http.StatusUnauthorized)
	e.await(t, "events.localhost", http.Header{"Authorization": {"Bearer " + eventsToken(t, "sales")}}, http.StatusForbidden)
	e.await(t, "forgotten.localhost", nil, http.StatusServiceUnavailable)
}

func basicAuth(user, password string) http.Header {
	var request http.Request
	request.Header = make(http.Header)
	request.SetBasicAuth(user, password)
	return request.Header
}

// eventsToken is signed with the key in the example's Secret.
func eventsToken(t *testing.T, team string) string {
	t.Helper()
	key := []byte("an-example-of-32-bytes-or-more-that-nobody-guesses")
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.HS256, Key: key}, nil)
	require.NoError(t, err)
	claims := map[string]any{"sub": "dora", "aud": "events", "team": team, "exp": time.Now().Add(time.Hour).Unix()}
	token, err := jwt.Signed(signer).Claims(claims).Serialize()
	require.NoError(t, err)
	return token
}

// exampleCluster is an API server with the quickstart's objects, as make cluster
// starts one.
func exampleCluster(t *testing.T) *kubetest.Cluster {
	t.Helper()
	cluster, err := kubetest.Start(kubetest.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, cluster.Stop()) })
	for _, name := range []string{"namespace", "registry", "open", "private"} {
		manifest, err := os.ReadFile(filepath.Join(examplesDir, "quickstart", name+".yaml"))
		require.NoError(t, err)
		require.NoError(t, cluster.Apply(t.Context(), manifest, false))
	}
	t.Setenv("KUBECONFIG", cluster.Kubeconfig(t, cluster.Admin()))
	return cluster
}

func TestClusterExample(t *testing.T) {
	exampleCluster(t)
	e := runExample(t, "cluster.caddyfile")
	assert.Equal(t, "hello from open\n", e.await(t, "open.localhost", nil, http.StatusOK))
	e.await(t, "closed.localhost", nil, http.StatusServiceUnavailable)
	e.awaitHealth(t)
}

// awaitHealth asks as the kubelet and Prometheus do.
func (e example) awaitHealth(t *testing.T) {
	t.Helper()
	for _, path := range []string{"/livez", "/readyz", "/metrics"} {
		probe := pod{client: new(http.Client)}
		probe.await(t, http.StatusOK, question{address: e.health, host: e.health, path: path})
		probe.client.CloseIdleConnections()
	}
}

func TestColdStartExample(t *testing.T) {
	cluster := exampleCluster(t)
	t.Setenv("CACHE_DIR", filepath.Join(t.TempDir(), "cache"))
	t.Setenv("STARTUP_TIMEOUT", "0s")
	t.Setenv("AUTHZ_BRIDGE_CACHE_KEY", "0123456789abcdef0123456789abcdef")
	e := runExample(t, "coldstart.caddyfile")
	e.await(t, "open.localhost", nil, http.StatusOK)
	require.NoError(t, caddy.Stop()) // stores what is served
	require.NoError(t, cluster.KillAPIServer())

	e = runExample(t, "coldstart.caddyfile")
	assert.Equal(t, "hello from open\n", e.await(t, "open.localhost", nil, http.StatusOK))
	e.await(t, "private.localhost", http.Header{"X-Api-Key": {"bobs-key"}}, http.StatusOK)
	e.await(t, "closed.localhost", nil, http.StatusServiceUnavailable)
}

func TestOnDemandTLSExample(t *testing.T) {
	t.Setenv("QUICKSTART_DIR", filepath.Join(examplesDir, "quickstart"))
	e := runExample(t, "on-demand-tls.caddyfile")
	client := &http.Client{Timeout: podTimeout, Transport: &http.Transport{
		DisableKeepAlives: true, // each request is a handshake
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, e.site)
		},
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // as the example's curl -k
	}}
	get := func(host string) (string, error) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+host+"/", http.NoBody)
		require.NoError(t, err)
		request.Header.Set("X-Api-Key", "alices-key")
		response, err := client.Do(request)
		if err != nil {
			return "", err
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		return fmt.Sprintf("%d %s", response.StatusCode, text), err
	}
	for host, want := range map[string]string{
		"open.localhost":    "200 hello from open \n",
		"private.localhost": "200 hello from private alice\n",
		"closed.localhost":  "503 ", // listed, though its Secret is missing
	} {
		got, err := get(host)
		require.NoError(t, err, host)
		assert.Equal(t, want, got, host)
	}
	_, err := get("nobody.localhost")
	assert.ErrorContains(t, err, "tls: internal error")
}

func TestDynamicUpstreamsExample(t *testing.T) {
	dir, shop, blog := t.TempDir(), portOf(t, freeAddress(t)), portOf(t, freeAddress(t))
	t.Setenv("UPSTREAMS_DIR", dir)
	for _, file := range []string{"registry.yaml", "secrets.yaml"} {
		text, err := os.ReadFile(filepath.Join(examplesDir, "dynamic-upstreams", file))
		require.NoError(t, err)
		moved := strings.NewReplacer(":9001", shop, ":9002", blog).Replace(string(text))
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(moved), 0o600))
	}
	e := runExample(t, "dynamic-upstreams.caddyfile", ":9001", shop, ":9002", blog)
	assert.Equal(t, "the blog\n", e.await(t, "blog.localhost", nil, http.StatusOK))
	assert.Equal(t, "the shop, for alice\n", e.await(t, "shop.localhost", http.Header{"X-Api-Key": {"alices-key"}}, http.StatusOK))
	e.await(t, "shop.localhost", nil, http.StatusUnauthorized)
	assert.Equal(t, "back soon\n", e.await(t, "closed.localhost", nil, http.StatusServiceUnavailable))
	e.await(t, "nobody.localhost", nil, http.StatusForbidden)
}
