package authzbridge_test

import (
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// traefik does what the documentation of Traefik 3 says of forwardAuth, and of headers
// that come from clients which are not trusted, as by default nobody is:
// https://doc.traefik.io/traefik/reference/routing-configuration/http/middlewares/forwardauth/
// https://doc.traefik.io/traefik/reference/install-configuration/entrypoints/
type traefik struct {
	address         string   // of the answers
	responseHeaders []string // authResponseHeaders
	service         http.Handler
	client          *http.Client
}

// traefikFile is what the example has, and nothing else.
type traefikFile struct {
	HTTP struct {
		Middlewares map[string]struct {
			ForwardAuth struct {
				Address             string   `json:"address"`
				AuthResponseHeaders []string `json:"authResponseHeaders"`
			} `json:"forwardAuth"`
		} `json:"middlewares"`
		Routers map[string]struct {
			Rule        string   `json:"rule"`
			Middlewares []string `json:"middlewares"`
			Service     string   `json:"service"`
		} `json:"routers"`
		Services map[string]struct {
			LoadBalancer struct {
				Servers []struct {
					URL string `json:"url"`
				} `json:"servers"`
			} `json:"loadBalancer"`
		} `json:"services"`
	} `json:"http"`
}

// newTraefik reads a dynamic configuration as the example is.
func newTraefik(t *testing.T, text string) *traefik {
	t.Helper()
	var file traefikFile
	require.NoError(t, yaml.UnmarshalStrict([]byte(text), &file))
	router := file.HTTP.Routers["apps"]
	require.Len(t, router.Middlewares, 1)
	auth := file.HTTP.Middlewares[router.Middlewares[0]].ForwardAuth
	servers := file.HTTP.Services[router.Service].LoadBalancer.Servers
	require.Len(t, servers, 1)
	target, err := url.Parse(servers[0].URL)
	require.NoError(t, err)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &traefik{
		address:         auth.Address,
		responseHeaders: auth.AuthResponseHeaders,
		service: &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host
		}},
		client: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
}

// ServeHTTP implements http.Handler.
func (p *traefik) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for name := range r.Header {
		if strings.HasPrefix(name, "X-Forwarded-") || name == "X-Real-Ip" {
			r.Header.Del(name) // the entry point
		}
	}
	answer, err := p.ask(r)
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	defer answer.Body.Close()
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		maps.Copy(w.Header(), answer.Header)
		w.WriteHeader(answer.StatusCode)
		_, _ = io.Copy(w, answer.Body)
		return
	}
	for _, name := range p.responseHeaders {
		r.Header.Del(name)
		if values := answer.Header.Values(name); len(values) > 0 {
			r.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	p.service.ServeHTTP(w, r)
}

// ask sends all headers of the request but those of the connection, and the five that
// tell of it.
func (p *traefik) ask(r *http.Request) (*http.Response, error) {
	question, err := http.NewRequestWithContext(r.Context(), http.MethodGet, p.address, nil)
	if err != nil {
		return nil, err
	}
	question.Header = r.Header.Clone()
	for _, line := range r.Header.Values("Connection") {
		for name := range strings.SplitSeq(line, ",") {
			question.Header.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range []string{"Connection", "Keep-Alive", "Te", "Trailers", "Transfer-Encoding", "Upgrade"} {
		question.Header.Del(name)
	}
	peer, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return nil, err
	}
	question.Header.Set("X-Forwarded-Method", r.Method)
	question.Header.Set("X-Forwarded-Proto", "http")
	question.Header.Set("X-Forwarded-Host", r.Host)
	question.Header.Set("X-Forwarded-Uri", r.URL.RequestURI())
	question.Header.Set("X-Forwarded-For", peer)
	return p.client.Do(question)
}

func traefikAsks(t *testing.T) *frontDoor {
	t.Helper()
	f := startVerify(t, localApps(t), nil)
	proxy := newTraefik(t, example(t, "verify-traefik.yaml", "127.0.0.1:9091", f.verify, "127.0.0.1:9000", f.behind))
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	f.site = server.Listener.Addr().String()
	return f
}

func TestTraefikAsks(t *testing.T) {
	assertGuards(t, traefikAsks(t), http.StatusBadRequest)
}

// The labels in the comment say the same as the file.
func TestTheLabelsForTraefikAreThoseOfTheFile(t *testing.T) {
	text := example(t, "verify-traefik.yaml")
	p := newTraefik(t, text)
	labels := make(map[string]string)
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "#   traefik.http.middlewares.authz-bridge.forwardauth."), "="); ok {
			labels[name] = value
		}
	}
	assert.Equal(t, p.address, labels["address"])
	assert.Equal(t, strings.Join(p.responseHeaders, ","), labels["authresponseheaders"])
	assert.True(t, slices.Contains(p.responseHeaders, "X-Auth-Client"))
}
