package caddyfile_test

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// running is an example that runs, on ports of its own.
type running struct {
	t      *testing.T
	client *http.Client
}

// run adapts an example, with some of its text replaced, and runs it. What is in it of
// this machine, its address and the admin API, is always replaced.
func run(t *testing.T, example, port string, replaced ...string) *running {
	t.Helper()
	text, err := os.ReadFile("examples/" + example)
	require.NoError(t, err)
	adapt(t, string(text)) // as it is: without a warning
	free := freePort(t)
	config := strings.Replace(string(text), "admin localhost:2019", "admin off", 1)
	replaced = append(replaced, ":"+port, ":"+free,
		"admin off\n", "admin off\n\tpersist_config off\n\tdefault_bind 127.0.0.1\n\tauto_https disable_redirects\n")
	for i := 0; i < len(replaced); i += 2 {
		require.Contains(t, config, replaced[i])
		config = strings.ReplaceAll(config, replaced[i], replaced[i+1])
	}
	adapted, _, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(config), map[string]any{"filename": example})
	require.NoError(t, err)
	require.NoError(t, caddy.Load(adapted, true))
	t.Cleanup(func() { require.NoError(t, caddy.Stop()) })
	r := &running{t: t}
	r.client = &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true, // each request is a handshake
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, "127.0.0.1:"+free)
		},
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // as the example's curl -k
	}}
	return r
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	return port
}

// get returns the status and the body in one line, or what is wrong with the request.
func (r *running) get(url string, headers ...string) string {
	r.t.Helper()
	request, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, url, nil)
	require.NoError(r.t, err)
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := r.client.Do(request)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(r.t, err)
	return strings.TrimSpace(response.Status[:3] + " " + string(body))
}

func TestTheExampleOfCertificatesOnDemand(t *testing.T) {
	t.Setenv("QUICKSTART_DIR", "examples/quickstart")
	r := run(t, "on-demand-tls.caddyfile", "8443", "skip_install_trust", "skip_install_trust\n\tstorage file_system "+t.TempDir())
	assert.Equal(t, "200 hello from open", r.get("https://open.localhost"))
	assert.Equal(t, "200 hello from private alice", r.get("https://private.localhost", "X-API-Key", "alices-key"))
	assert.Equal(t, "503", r.get("https://closed.localhost"), "listed, though its Secret is missing")
	assert.Contains(t, r.get("https://nobody.localhost"), "tls: internal error")
}

func TestTheExampleOfDynamicUpstreams(t *testing.T) {
	dir, shop, blog := t.TempDir(), ":"+freePort(t), ":"+freePort(t)
	t.Setenv("UPSTREAMS_DIR", dir)
	for _, file := range []string{"registry.yaml", "secrets.yaml"} {
		text, err := os.ReadFile("examples/dynamic-upstreams/" + file)
		require.NoError(t, err)
		moved := strings.NewReplacer(":9001", shop, ":9002", blog).Replace(string(text))
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(moved), 0o600))
	}
	r := run(t, "dynamic-upstreams.caddyfile", "8080", ":9001", shop, ":9002", blog)
	assert.Equal(t, "200 the blog", r.get("http://blog.localhost"))
	assert.Equal(t, "200 the shop, for alice", r.get("http://shop.localhost", "X-API-Key", "alices-key"))
	assert.Equal(t, "401", r.get("http://shop.localhost"))
	assert.Equal(t, "503 back soon", r.get("http://closed.localhost"))
	assert.Equal(t, "403", r.get("http://nobody.localhost"))
}
