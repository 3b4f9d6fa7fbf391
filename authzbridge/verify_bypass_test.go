package authzbridge_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/authzbridge"
)

// opensInside is opened with other directives in the site.
func opensInside(t *testing.T, inside string) *oracle {
	t.Helper()
	a := newOracle(t).opens(trusting(everyone), inside)
	eventually(t, func() bool { return a.bridge().Ready }, "never ready")
	return a
}

// An error page that comes with 200, as of many a server of pages, would open all.
func TestNoErrorRouteAnswersAQuestion(t *testing.T) {
	a := opensInside(t, "authz_bridge_verify\nhandle_errors {\nrespond sorry 200\n}")
	for host, want := range map[string]int{
		"shop.example.com": 401, "unknown.example.com": 403, "absent.example.com": 503, "bad..example.com": 400,
	} {
		got := a.about(host)
		assert.Equal(t, want, got.status, host)
		assert.Empty(t, got.body)
	}
	assert.Equal(t, http.StatusBadRequest, a.about("open.example.com", "X-Forwarded-Uri").status)
	assert.Equal(t, http.StatusBadRequest, a.overWire("GET / HTTP/1.1", "Host: bad host").status, "Go's server answers")
}

func TestAProbeWithoutAPathAnswersNoQuestion(t *testing.T) {
	a := opensInside(t, "authz_bridge_ready\nauthz_bridge_verify")
	assert.Equal(t, http.StatusBadRequest, a.about("open.example.com", "X-API-Key: the-key").status)
	status, body := a.get(a.verify, "/readyz")
	assert.Equal(t, http.StatusOK, status)
	assert.Equal(t, "ready\n", body)
}

func TestNothingElseInTheSiteAnswersFirst(t *testing.T) {
	a := opensInside(t, "respond fine 200\nredir https://elsewhere.example\nauthz_bridge_verify\nauthz_bridge_ready /readyz")
	assert.Equal(t, http.StatusUnauthorized, a.about("shop.example.com").status)
	assert.Equal(t, http.StatusUnauthorized, a.overWire("GET /any/path?at=all HTTP/1.1", "Host: any.host",
		"X-Forwarded-Host: shop.example.com", "X-Forwarded-Method: GET", "X-Forwarded-Uri: /", "X-Forwarded-For: 203.0.113.5").status)
	status, body := a.get(a.verify, "/readyz")
	assert.Equal(t, http.StatusOK, status)
	assert.Equal(t, "ready\n", body)
}

// The Host is what the proxy calls this site: who may ask for that App may not ask for
// the forwarded one.
func TestWhatAnotherHandlerHasAllowedAnswersNoQuestion(t *testing.T) {
	a := opensInside(t, "route {\nauthz_bridge\nauthz_bridge_verify\n}")
	got := a.about("shop.example.com", "Host: shop.example.com", "X-API-Key: the-key")
	assert.Equal(t, http.StatusUnauthorized, got.status, "the handler has taken the key")
	assert.Empty(t, got.header.Get("X-Auth-Client"))
	assert.Equal(t, http.StatusBadRequest, a.about("open.example.com", "Host: open.example.com", "X-Forwarded-Host").status)
	assert.Contains(t, a.logged(), `"authz_bridge":{"app":"","reason":"invalid_host"`)
}

func TestAnAppThatAsksForNothingCanBeRefused(t *testing.T) {
	a := opensInside(t, "authz_bridge_verify {\nrequire_credentials\n}")
	assert.Equal(t, http.StatusServiceUnavailable, a.about("open.example.com").status)
	assert.Equal(t, http.StatusOK, a.about("shop.example.com", "X-API-Key: the-key").status)
}

// What the handler would take out of the request, the other proxy sends on.
func TestWhatOnlyTheOtherProxyCouldRemoveIsRefused(t *testing.T) {
	a := opened(t)
	const key, public = "X-API-Key: the-key", "X-Forwarded-Uri: /healthz"
	for name, c := range map[string]struct {
		host   string
		lines  []string
		status int
	}{
		"a WebSocket":                     {"shop.example.com", []string{key, "Upgrade: websocket"}, 200},
		"a public WebSocket":              {"shop.example.com", []string{public, "Upgrade: WebSocket"}, 200},
		"another protocol":                {"shop.example.com", []string{key, "Upgrade: spdy/3.1"}, 200},
		"another protocol, public":        {"shop.example.com", []string{public, "Upgrade: spdy/3.1"}, 400},
		"HTTP/2":                          {"shop.example.com", []string{key, "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"}, 400},
		"HTTP/2, public":                  {"shop.example.com", []string{public, "Upgrade: h2c"}, 400},
		"HTTP/2 after a WebSocket":        {"shop.example.com", []string{public, "Upgrade: websocket", "Upgrade: h2c"}, 400},
		"HTTP/2 among others":             {"shop.example.com", []string{key, "Upgrade: websocket, h2c"}, 400},
		"TLS":                             {"shop.example.com", []string{key, "Upgrade: TLS/1.0"}, 400},
		"HTTP/2 with a wrong key":         {"shop.example.com", []string{"X-API-Key: wrong", "Upgrade: h2c"}, 401},
		"HTTP/2, where nobody asks":       {"open.example.com", []string{"Upgrade: h2c"}, 200},
		"an alias of the identity":        {"shop.example.com", []string{key, "X~Auth~Client: admin"}, 400},
		"an alias of it, public":          {"shop.example.com", []string{public, "X-Auth!Client: admin"}, 400},
		"an alias of a credential":        {"shop.example.com", []string{key, "X`API`Key: other"}, 400},
		"an alias where nobody asks":      {"open.example.com", []string{"X*Auth*Client: admin"}, 400},
		"an underscore, as Caddy drops":   {"shop.example.com", []string{key, "X_Auth_Client: admin"}, 200},
		"the way between the proxies":     {"shop.example.com", []string{key, "Connection: X-API-Key, X-Auth-Client, close"}, 200},
		"an odd header of another name":   {"shop.example.com", []string{key, "X~Other: y"}, 200},
		"a trailer, which goes nowhere":   {"shop.example.com", []string{key, "Trailer: X-Auth-Client"}, 200},
		"the identity itself":             {"shop.example.com", []string{key, "X-Auth-Client: admin"}, 400},
		"the identity, public":            {"shop.example.com", []string{public, "X-Auth-Client: admin"}, 400},
		"the identity, where nobody asks": {"open.example.com", []string{"X-Auth-Client: admin"}, 400},
		"the identity, and a wrong key":   {"shop.example.com", []string{"X-API-Key: wrong", "X-Auth-Client: admin"}, 401},
		"an empty one":                    {"open.example.com", []string{"X-Auth-Client:"}, 400},
	} {
		got := a.about(c.host, c.lines...)
		assert.Equal(t, c.status, got.status, name)
		if c.status != http.StatusOK {
			assert.Empty(t, got.header.Get("X-Auth-Client"), name)
		}
		assert.NotEqual(t, "admin", got.header.Get("X-Auth-Client"), name)
	}
	assert.Equal(t, 1, strings.Count(a.logged(), "let the proxy remove such aliases"))
}

func TestExpectedUnderscoresAreAliasesToo(t *testing.T) {
	a := newOracle(t).opens(trusting(everyone)+"\nexpected_underscore_headers X_Auth_Client", "")
	eventually(t, func() bool { return a.about("open.example.com").status == http.StatusOK }, "the Registry is never read")
	assert.Equal(t, http.StatusBadRequest, a.about("shop.example.com", "X-API-Key: the-key", "X_Auth_Client: admin").status)
}

func TestQuestionsAreAnsweredOverHTTP2(t *testing.T) {
	a := opened(t)
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: &protocols}
	t.Cleanup(transport.CloseIdleConnections)
	ask := func(h http.Header) (status int, identity string) {
		r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://"+a.verify+"/", nil)
		require.NoError(t, err)
		r.Host, r.Header = "open.example.com", h
		response, err := transport.RoundTrip(r)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		assert.Equal(t, 2, response.ProtoMajor)
		return response.StatusCode, response.Header.Get("X-Auth-Client")
	}
	whole := http.Header{
		"X-Forwarded-Host": {"shop.example.com"}, "X-Forwarded-Method": {"GET"}, "X-Forwarded-Uri": {"/"}, "X-Forwarded-For": {"203.0.113.5"},
		"X-Api-Key": {"the-key"},
	}
	status, identity := ask(whole)
	assert.Equal(t, http.StatusOK, status)
	assert.Equal(t, "shop", identity)
	for name, change := range map[string]func(http.Header){
		"a host twice":             func(h http.Header) { h["X-Forwarded-Host"] = []string{"shop.example.com", "open.example.com"} },
		"another in another case":  func(h http.Header) { h["x-forwarded-host"] = []string{"open.example.com"} },
		"none, though :authority":  func(h http.Header) { h.Del("X-Forwarded-Host") },
		"an empty one":             func(h http.Header) { h["X-Forwarded-Host"] = []string{""} },
		"an empty one and another": func(h http.Header) { h["X-Forwarded-Host"] = []string{"", "shop.example.com"} },
	} {
		h := whole.Clone()
		change(h)
		status, _ = ask(h)
		assert.Equal(t, http.StatusBadRequest, status, name)
	}
}

func TestAQuestionWaitsForTheFirstSnapshotIfATrustedProxyAsks(t *testing.T) {
	for name, c := range map[string]struct {
		trusted string
		status  int
	}{
		"a trusted proxy": {trusting(everyone), http.StatusServiceUnavailable},
		"another":         {trusting("192.0.2.0/24"), http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			a := newOracle(t)
			a.secret("registry", "registry.yaml", "no document")
			a.opens(c.trusted, "")
			answered := make(chan int)
			go func() {
				got, err := a.tryAbout("open.example.com")
				assert.NoError(t, err)
				answered <- got
			}()
			if c.status == http.StatusServiceUnavailable {
				eventually(t, func() bool { return authzbridge.HeldRequests() == 1 }, "the question is not held")
			}
			assert.Equal(t, c.status, <-answered)
			assert.Zero(t, authzbridge.HeldRequests())
		})
	}
}

// tryAbout is about for goroutines, which must not end the test.
func (a *oracle) tryAbout(host string) (int, error) {
	r, err := http.NewRequest(http.MethodGet, "http://"+a.verify+"/", nil)
	if err != nil {
		return 0, err
	}
	r.Header = http.Header{
		"X-Forwarded-Host": {host}, "X-Forwarded-Method": {"GET"}, "X-Forwarded-Uri": {"/"}, "X-Forwarded-For": {"203.0.113.5"},
	}
	response, err := a.client.Do(r)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}
