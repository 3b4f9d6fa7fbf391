package authzbridge_test

import (
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

// behindAProxy asks for a key, and tells the app behind who the caller is.
const behindAProxy = `
anyOf:
- apiKey: {from: [{header: X-API-Key}]}
identityHeader: X-Auth-Client
preflight: pass
public: [{path: /healthz}, {path: "/static/*"}]`

// way is how a request comes to an app behind.
type way struct {
	name   string
	head   []string
	status int
	told   []string // of the identity
}

// waysIn are all outcomes that end at an app behind, error routes included.
func waysIn() []way {
	const shop = "Host: shop.example.com"
	preflight := []string{"OPTIONS / HTTP/1.1", shop, "Origin: https://a.example", "Access-Control-Request-Method: PUT"}
	return []way{
		{"a right key", []string{"GET / HTTP/1.1", shop, "X-API-Key: the-key"}, 200, []string{"X-Auth-Client: shop"}},
		{"a public path", []string{"GET /healthz HTTP/1.1", shop}, 200, nil},
		{"a preflight", preflight, 200, nil},
		{"an App that asks for nothing", []string{"GET / HTTP/1.1", "Host: open.example.com"}, 200, nil},
		{"no key", []string{"GET / HTTP/1.1", shop}, 401, nil},
		{"a wrong key", []string{"GET / HTTP/1.1", shop, "X-API-Key: wrong"}, 401, nil},
		{"a host of no App", []string{"GET / HTTP/1.1", "Host: unknown.example.com"}, 403, nil},
		{"a host that is none", []string{"GET / HTTP/1.1", "Host: bad..example.com"}, 400, nil},
		{"an App that is wrong", []string{"GET / HTTP/1.1", "Host: wrong.example.com"}, 503, nil},
		{"an App without its Secret", []string{"GET / HTTP/1.1", "Host: absent.example.com"}, 503, nil},
	}
}

func townBehindAProxy(t *testing.T) *door {
	t.Helper()
	w := newTown(t)
	w.secret("shop", clients("the-key"))
	w.secret("open", someToken())
	w.secret("given", map[string]string{"token": "the-key", "upstream": "the-app-s-own"})
	w.alter("given", func(s *corev1.Secret) { s.Labels = map[string]string{snapshot.InjectLabel: "true"} })
	w.registry(document(
		app("shop", "shop.example.com")+behindAProxy,
		app("open", "open.example.com"),
		app("wrong", "wrong.example.com")+behindAProxy+"\nunheard: of",
		app("absent", "absent.example.com")+behindAProxy,
		app("given", "given.example.com")+behindAProxy+"\ninject: {header: Authorization, scheme: Bearer, key: upstream}",
	))
	d := proxied(t, w, startUpstream(t, echo))
	d.becomes("given.example.com", http.StatusUnauthorized)
	return d
}

func TestNoCallerTellsTheAppBehindWhoItIs(t *testing.T) {
	d := townBehindAProxy(t)
	spoofs := map[string][]string{
		"nothing":                  nil,
		"the name itself":          {"X-Auth-Client: admin"},
		"twice":                    {"X-Auth-Client: admin", "X-Auth-Client: admin"},
		"lower case":               {"x-auth-client: admin"},
		"upper case":               {"X-AUTH-CLIENT: admin"},
		"underscores":              {"X_Auth_Client: admin"},
		"one underscore":           {"X-Auth_Client: admin"},
		"dots":                     {"X.Auth.Client: admin"},
		"mixed case":               {"x_AUTH-cLiEnT: admin"},
		"other bytes":              {"X!Auth~Client: admin", "X`Auth|Client: admin", "x$auth%client: admin"},
		"all at once":              {"X-Auth-Client: admin", "X_Auth_Client: admin", "X.Auth.Client: admin", "x_auth.client: admin"},
		"named in Connection":      {"Connection: X-Auth-Client"},
		"among others":             {"Connection: keep-alive, x-auth-CLIENT, X-Other", "X-Other: y"},
		"an alias in Connection":   {"Connection: x_auth_client, X.Auth.Client", "X-Auth-Client: admin"},
		"the key in Connection":    {"Connection: X-API-Key, X-Auth-Client", "X_Auth_Client: admin"},
		"a name of the error page": {"X-Auth-Client: admin", "X_Status: 200"},
	}
	for _, in := range waysIn() {
		t.Run(in.name, func(t *testing.T) {
			for name, lines := range spoofs {
				got := d.overWire(append(append([]string{}, in.head...), lines...)...)
				assert.Equal(t, in.status, got.status, name)
				assert.Contains(t, got.body, "X-Seen:", "%s: reaches no app behind", name)
				assert.Equal(t, in.told, headersLike(got.body, "X-Auth-Client"), name)
				assert.NotContains(t, got.body, "admin", name)
				assert.NotContains(t, got.body, "the-key", name)
			}
		})
	}
}

func TestNoCallerTellsTheAppBehindWhoItIsInATrailer(t *testing.T) {
	d := townBehindAProxy(t)
	const body = "1\r\na\r\n0\r\nX-Sum: 1\r\nX-Auth-Client: admin\r\nX_Auth_Client: admin\r\nX-API-Key: the-key\r\n\r\n"
	for name, announced := range map[string]string{
		"announced":     "Trailer: X-Auth-Client, X_Auth_Client, X-API-Key",
		"not announced": "Trailer: X-Sum",
		"none is":       "X-Other: y",
	} {
		for key, status := range map[string]int{"the-key": http.StatusOK, "wrong": http.StatusUnauthorized} {
			t.Run(name+" with "+key, func(t *testing.T) {
				got := d.overWireWith(body, "POST / HTTP/1.1", "Host: shop.example.com", "X-API-Key: "+key,
					"Transfer-Encoding: chunked", announced)
				assert.Equal(t, status, got.status)
				assert.NotContains(t, got.body, "admin")
				assert.NotContains(t, got.body, "the-key")
			})
		}
	}
}

func TestNoCallerTellsTheAppBehindWhoItIsOverHTTP2(t *testing.T) {
	d := townBehindAProxy(t)
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: &protocols}
	t.Cleanup(transport.CloseIdleConnections)
	for _, key := range []struct {
		value  string
		status int
		told   []string
	}{{"the-key", http.StatusOK, []string{"X-Auth-Client: shop"}}, {"wrong", http.StatusUnauthorized, nil}} {
		r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://"+d.site+"/", nil)
		require.NoError(t, err)
		r.Host = "shop.example.com"
		r.Header = http.Header{
			"X-Api-Key": {key.value}, "x-auth-client": {"admin"}, "x_auth_client": {"admin"}, "x.auth.client": {"admin"},
		}
		response, err := transport.RoundTrip(r)
		require.NoError(t, err)
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		assert.Equal(t, 2, response.ProtoMajor)
		assert.Equal(t, key.status, response.StatusCode)
		assert.Equal(t, key.told, headersLike(string(body), "X-Auth-Client"))
		assert.NotContains(t, string(body), "admin")
	}
}

func TestNoCallerReplacesWhatTheAppBehindIsGiven(t *testing.T) {
	d := townBehindAProxy(t)
	const given = "Host: given.example.com"
	for name, lines := range map[string][]string{
		"nothing":             nil,
		"the header itself":   {"Authorization: Bearer evil"},
		"twice":               {"authorization: Basic evil", "AUTHORIZATION: Bearer evil"},
		"named in Connection": {"Connection: Authorization", "Authorization: Bearer evil"},
	} {
		got := d.overWire(append([]string{"GET / HTTP/1.1", given, "X-API-Key: the-key"}, lines...)...)
		assert.Equal(t, http.StatusOK, got.status, name)
		assert.Equal(t, []string{"Authorization: Bearer the-app-s-own"}, headersLike(got.body, "Authorization"), name)

		for _, head := range [][]string{
			{"GET /healthz HTTP/1.1", given},
			{"OPTIONS / HTTP/1.1", given, "Origin: https://a.example", "Access-Control-Request-Method: PUT"},
		} {
			got = d.overWire(append(head, lines...)...)
			assert.Contains(t, got.body, "X-Seen: given", name)
			assert.Empty(t, headersLike(got.body, "Authorization"), "%s: %s", name, head[0])
		}
		got = d.overWire(append([]string{"GET / HTTP/1.1", given, "X-API-Key: wrong"}, lines...)...)
		assert.Equal(t, http.StatusUnauthorized, got.status, name)
		assert.NotContains(t, got.body, "Bearer", "%s: an error route is given nothing, nor what looks like it", name)
	}
}
