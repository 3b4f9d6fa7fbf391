package authzbridge_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// heard is a connection that keeps what is read from it.
type heard struct {
	net.Conn

	mu   sync.Mutex // guards text: the server reads ahead while a request is handled
	text []byte
}

func (h *heard) Read(p []byte) (int, error) {
	n, err := h.Conn.Read(p)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text = append(h.text, p[:n]...)
	return n, err
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return string(h.text)
}

type hearing struct{ net.Listener }

func (l hearing) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &heard{Conn: conn}, nil
}

// startUpstream starts an app behind. It makes its answers from a request as the
// server understands it and as it came over the wire, byte for byte, and returns its
// address.
func startUpstream(tb testing.TB, say func(r *http.Request, wire string) string) string {
	tb.Helper()
	type connKey struct{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the trailers come after it
		conn, _ := r.Context().Value(connKey{}).(*heard)
		if status, err := strconv.Atoi(r.Header.Get("X-Status")); err == nil {
			w.WriteHeader(status)
		}
		_, _ = io.WriteString(w, say(r, conn.String()))
	}))
	server.Listener = hearing{server.Listener}
	server.Config.SetKeepAlivesEnabled(false) // one request a connection
	server.Config.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		return context.WithValue(ctx, connKey{}, conn)
	}
	server.Start()
	tb.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// echo answers with the request as it came over the wire.
func echo(_ *http.Request, wire string) string { return wire }

// proxied starts a door whose site is a proxy to an app behind, and whose error
// routes are one as well. The app behind is told in X-Seen what the placeholders
// are, and in X-Status how to answer.
func proxied(t *testing.T, w *town, upstream string) *door {
	t.Helper()
	d := newDoor(t, w.option())
	site := freeAddress(t)
	_, port, err := net.SplitHostPort(site)
	require.NoError(t, err)
	const seen = `header_up X-Seen "{http.authz_bridge.app} {http.authz_bridge.reason} {http.authz_bridge.identity} {http.authz_bridge.generation} {http.auth.user.id}"`
	d.global = "servers {\nprotocols h1 h2c\n}"
	d.sites = fmt.Sprintf(`http://:%[1]s {
	bind 127.0.0.1
	log
	authz_bridge
	reverse_proxy %[2]s {
		%[3]s
	}
	handle_errors {
		reverse_proxy %[2]s {
			%[3]s
			header_up X-Status {err.status_code}
		}
	}
}`, port, upstream, seen)
	require.NoError(t, d.load())
	d.site = site
	return d
}

// headersLike returns the lines of a request's head, and of its trailers, whose name
// an app behind may take for one name.
func headersLike(wire, name string) []string {
	var found []string
	for line := range strings.SplitSeq(wire, "\r\n") {
		if got, _, ok := strings.Cut(line, ":"); ok && lettersOf(got) == lettersOf(name) {
			found = append(found, line)
		}
	}
	return found
}

func lettersOf(name string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(name))
}
