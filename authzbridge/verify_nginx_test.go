package authzbridge_test

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// nginxBinary returns what NGINX names, which must work then, as in CI; or the one that
// is installed.
func nginxBinary(t *testing.T) string {
	t.Helper()
	if named := os.Getenv("NGINX"); named != "" {
		return named
	}
	for _, name := range []string{"nginx", "/usr/sbin/nginx"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("there is no nginx: install it, or name one in NGINX")
	return ""
}

// startNginx runs nginx in one process with an example in its http block, until the
// test ends.
func startNginx(t *testing.T, binary, address, site string) {
	t.Helper()
	dir := t.TempDir()
	var temporary string
	for _, what := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		temporary += fmt.Sprintf("    %s_temp_path %s;\n", what, filepath.Join(dir, what))
	}
	config := filepath.Join(dir, "nginx.conf")
	text := fmt.Sprintf("daemon off;\nmaster_process off;\npid %s;\nevents { }\nhttp {\n    access_log off;\n%s%s\n}\n",
		filepath.Join(dir, "pid"), temporary, site)
	require.NoError(t, os.WriteFile(config, []byte(text), 0o600))

	command := exec.Command(binary, "-e", "stderr", "-p", dir, "-c", config)
	var said bytes.Buffer
	command.Stdout, command.Stderr = &said, &said
	require.NoError(t, command.Start())
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	var early bool
	t.Cleanup(func() {
		if !early {
			require.NoError(t, command.Process.Kill())
			assert.Error(t, <-ended)
		}
		if t.Failed() {
			t.Logf("nginx said:\n%s", said.String())
		}
	})
	eventually(t, func() bool {
		select {
		case err := <-ended:
			early = true
			require.NoError(t, err, "nginx ended: %s", said.String())
		default:
		}
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return false
		}
		conn.Close()
		return true
	}, "nginx never listens")
}

func nginxAsks(t *testing.T) *frontDoor {
	t.Helper()
	binary := nginxBinary(t)
	f := startVerify(t, localApps(t), nil)
	f.asksByNginx(t, binary, f.verify)
	return f
}

// asksByNginx starts the example, which asks at an address.
func (f *frontDoor) asksByNginx(t *testing.T, binary, address string) {
	t.Helper()
	startNginx(t, binary, f.site, example(t, "verify-nginx.conf",
		"listen 8080", "listen "+f.site, "127.0.0.1:9091", address, "127.0.0.1:9000", f.behind))
}

func TestNginxAsks(t *testing.T) {
	assertGuards(t, nginxAsks(t), http.StatusServiceUnavailable)
}

// What nginx takes for another location is not what is asked about.
func TestNginxAsksForWhatTheClientWrote(t *testing.T) {
	f := nginxAsks(t)
	for path, want := range map[string]int{
		"/healthz/%2e%2e/admin":        http.StatusUnauthorized,
		"/%68ealthz":                   http.StatusUnauthorized,
		"/static/a%2fb":                http.StatusUnauthorized,
		"/static/caf%C3%A9":            http.StatusOK,
		"/static/caf\xc3\xa9":          http.StatusUnauthorized,
		"/static/a,b":                  http.StatusOK,
		"/static/a,/b":                 http.StatusServiceUnavailable,
		"/authz-bridge":                http.StatusNotFound, // internal
		"/authz-bridge?x":              http.StatusNotFound,
		"http://private.localhost":     http.StatusUnauthorized,
		"http://PRIVATE.localhost:80/": http.StatusUnauthorized,
	} {
		assert.Equal(t, want, f.overWire("GET "+path+" HTTP/1.1", "Host: private.localhost").status, path)
	}
	got := f.overWire("GET /healthz HTTP/1.1", "Host: private.localhost", "X_Auth_Client: admin", "X.Auth.Client: admin")
	assert.NotContains(t, got.body, "X_Auth_Client")
}

// Where nobody answers nginx, it opens nothing.
func TestNginxOpensNothingWithoutAnAnswer(t *testing.T) {
	binary := nginxBinary(t)
	f := startVerify(t, localApps(t), nil)
	f.asksByNginx(t, binary, freeAddress(t))
	got := f.overWire("GET / HTTP/1.1", "Host: open.localhost")
	assert.Equal(t, http.StatusServiceUnavailable, got.status)
	assert.Equal(t, "5", got.header.Get("Retry-After"))
}
