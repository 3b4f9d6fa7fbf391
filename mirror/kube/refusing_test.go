package kube

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
)

// refusing is a reverse proxy to an API server that answers itself for one path
// as long as it has answers.
type refusing struct {
	mu      sync.Mutex
	answers []func(http.ResponseWriter)
	asked   []time.Time
}

func (r *refusing) next() func(http.ResponseWriter) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, time.Now())
	if len(r.answers) == 0 {
		return nil
	}
	answer := r.answers[0]
	r.answers = r.answers[1:]
	return answer
}

func (r *refusing) serve(t *testing.T, config *rest.Config, path string) *rest.Config {
	t.Helper()
	target, err := url.Parse(config.Host)
	require.NoError(t, err)
	transport, err := rest.TransportFor(config)
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport = transport
	proxy.FlushInterval = -1
	proxy.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if request.URL.Path == path && !isProbe(request) { // probes have tests of their own
			if answer := r.next(); answer != nil {
				answer(w)
				return
			}
		}
		proxy.ServeHTTP(w, request)
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}
}

// isProbe knows a probe by what it alone asks for.
func isProbe(request *http.Request) bool { return request.Header.Get("Accept") == metadataOnly }

// busy is an answer that asks to be left alone for 2 s.
func busy(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "2")
	w.WriteHeader(http.StatusTooManyRequests)
}
