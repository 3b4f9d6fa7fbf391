package authzbridge_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// everyone is this machine as a trusted proxy.
const everyone = "127.0.0.0/8 ::1"

// oracle is a door whose site answers the questions of other proxies, from Secrets in
// files.
type oracle struct {
	*door
	dir, ns string // of the manifests
	handler string // address of the site of the door, which authorizes
	verify  string // address of the site that answers other proxies
}

// newOracle has Apps of all sorts.
func newOracle(t *testing.T) *oracle {
	t.Helper()
	a := &oracle{dir: t.TempDir(), ns: "town"}
	a.door = newDoor(t, filesOption(a.dir))
	a.handler, a.verify = a.site, freeAddress(t)
	a.secret("shop", "token", "the-key")
	a.secret("open", "token", "placeholder")
	a.secret("ten", "token", "placeholder")
	a.secret("nameless", "token", "the-key")
	a.secret("given", "token", "the-key", "upstream", "given-away")
	a.secret("basic", "token", "the-key", "auth", "alice:{SHA}"+sha1OfSecret)
	a.secret("registry", "registry.yaml", document(
		app("shop", "shop.example.com", "*.shop.example.com", "2001:db8::1")+behindAProxy,
		app("open", "open.example.com", "localhost", "127.0.0.1"),
		app("ten", "ten.example.com")+"\nallowCIDRs: [10.0.0.0/8, '2001:db8::/32']",
		app("nameless", "nameless.example.com")+byKey,
		app("given", "given.example.com")+behindAProxy+"\ninject: {header: Authorization, scheme: Bearer, key: upstream}",
		app("basic", "basic.example.com")+"\nanyOf: [{basic: {key: auth}}, {apiKey: {from: [{header: X-API-Key}]}}]",
		app("absent", "absent.example.com"),
		app("wrong", "wrong.example.com")+"\nunheard: of",
		app("expired", "expired.example.com")+"\nexpiresAt: 2020-01-01T00:00:00Z",
		app("one", "both.example.com"), app("other", "both.example.com"),
	))
	return a
}

// sha1OfSecret is of the password "secret", as htpasswd -s writes it.
const sha1OfSecret = "5en6G6MezRroT3XKqkdPOmY/BfQ="

// secret writes a manifest.
func (a *oracle) secret(name string, pairs ...string) {
	a.tb.Helper()
	text := fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata:\n  namespace: %s\n  name: %s\n  labels: {authz-bridge/inject: \"true\"}\nstringData:\n", a.ns, name)
	for i := 0; i < len(pairs); i += 2 {
		text += fmt.Sprintf("  %s: %q\n", pairs[i], pairs[i+1])
	}
	require.NoError(a.tb, os.WriteFile(filepath.Join(a.dir, name+".yaml"), []byte(text), 0o600))
}

// opens starts the site, which believes some proxies.
func (a *oracle) opens(trusted, inside string) *oracle {
	a.tb.Helper()
	if inside == "" {
		inside = "authz_bridge_verify"
	}
	_, port, err := net.SplitHostPort(a.verify)
	require.NoError(a.tb, err)
	a.global = fmt.Sprintf("servers 127.0.0.1:%s {\nprotocols h1 h2c\n%s\n}", port, trusted)
	a.sites = fmt.Sprintf("http://:%s {\nbind 127.0.0.1\nlog\n%s\n}", port, inside)
	a.site = a.handler
	require.NoError(a.tb, a.load())
	a.site = a.verify
	return a
}

func trusting(ranges string) string { return "trusted_proxies static " + ranges }

// opened waits until the Registry has been read.
func opened(t *testing.T) *oracle {
	t.Helper()
	a := newOracle(t).opens(trusting(everyone), "")
	eventually(t, func() bool { return a.about("open.example.com").status == http.StatusOK }, "the Registry is never read")
	return a
}

// about asks about a request for a host, from 203.0.113.5. Each line of the head
// replaces those of its name; a name alone takes it out.
func (a *oracle) about(host string, lines ...string) answer {
	a.tb.Helper()
	head := []string{
		"GET /verify HTTP/1.1", "Host: verify.internal",
		"X-Forwarded-Host: " + host, "X-Forwarded-Method: GET", "X-Forwarded-Uri: /", "X-Forwarded-For: 203.0.113.5",
	}
	return a.overWire(replaceLines(head, lines)...)
}

func replaceLines(head, lines []string) []string {
	var kept []string
	for _, line := range head {
		name, _, _ := strings.Cut(line, ":")
		if !mentionsName(lines, name) {
			kept = append(kept, line)
		}
	}
	for _, line := range lines {
		if strings.Contains(line, ":") {
			kept = append(kept, line)
		}
	}
	return kept
}

func mentionsName(lines []string, name string) bool {
	for _, line := range lines {
		if got, _, _ := strings.Cut(line, ":"); strings.EqualFold(got, name) {
			return true
		}
	}
	return false
}

func TestAQuestionIsAnsweredAsTheHandlerAnswers(t *testing.T) {
	a := opened(t)
	for name, c := range map[string]struct {
		host   string
		lines  []string
		status int
		told   string // of the identity
	}{
		"a right key":                {"shop.example.com", []string{"X-API-Key: the-key"}, 200, "shop"},
		"below a wildcard":           {"a.shop.example.com", []string{"X-API-Key: the-key"}, 200, "shop"},
		"a port":                     {"shop.example.com:8443", []string{"X-API-Key: the-key"}, 200, "shop"},
		"upper case and a dot":       {"SHOP.example.com.", []string{"X-API-Key: the-key"}, 200, "shop"},
		"an address in brackets":     {"[2001:db8::1]:443", []string{"X-API-Key: the-key"}, 200, "shop"},
		"no key":                     {"shop.example.com", nil, 401, ""},
		"a wrong key":                {"shop.example.com", []string{"X-API-Key: wrong"}, 401, ""},
		"a key twice":                {"shop.example.com", []string{"X-API-Key: the-key", "X-API-Key: the-key"}, 401, ""},
		"a public path":              {"shop.example.com", []string{"X-Forwarded-Uri: /healthz"}, 200, ""},
		"a public path and a key":    {"shop.example.com", []string{"X-Forwarded-Uri: /healthz", "X-API-Key: the-key"}, 200, ""},
		"a preflight":                {"shop.example.com", []string{"X-Forwarded-Method: OPTIONS", "Origin: https://a.example", "Access-Control-Request-Method: PUT"}, 200, ""},
		"a GET like a preflight":     {"shop.example.com", []string{"Origin: https://a.example", "Access-Control-Request-Method: PUT"}, 401, ""},
		"an App without a header":    {"nameless.example.com", []string{"Authorization: Bearer the-key"}, 200, ""},
		"a key in a cookie":          {"nameless.example.com", []string{"Cookie: theme=dark; key=the-key"}, 200, ""},
		"an App that asks nothing":   {"open.example.com", nil, 200, ""},
		"a password":                 {"basic.example.com", []string{"Authorization: Basic YWxpY2U6c2VjcmV0"}, 200, ""},
		"a host of no App":           {"unknown.example.com", nil, 403, ""},
		"a host that is none":        {"bad..example.com", nil, 400, ""},
		"a pattern":                  {"*.shop.example.com", nil, 400, ""},
		"a host with a user":         {"user@open.example.com", nil, 400, ""},
		"an App without its Secret":  {"absent.example.com", nil, 503, ""},
		"an App that is wrong":       {"wrong.example.com", nil, 503, ""},
		"an App that is expired":     {"expired.example.com", nil, 403, ""},
		"a hostname of two Apps":     {"both.example.com", nil, 503, ""},
		"an App that gives away":     {"given.example.com", []string{"X-API-Key: the-key"}, 503, ""},
		"a public path of that":      {"given.example.com", []string{"X-Forwarded-Uri: /healthz"}, 503, ""},
		"what the client says it is": {"shop.example.com", []string{"X-Auth-Client: admin", "X-API-Key: the-key"}, 400, ""},
		"that on a public path":      {"shop.example.com", []string{"X-Auth-Client: admin", "X-Forwarded-Uri: /healthz"}, 400, ""},
	} {
		got := a.about(c.host, c.lines...)
		assert.Equal(t, c.status, got.status, name)
		assert.Equal(t, c.told, got.header.Get("X-Auth-Client"), name)
		assert.Equal(t, "no-store", got.header.Get("Cache-Control"), name)
		assert.Empty(t, got.body, name)
		assert.Equal(t, c.status == http.StatusServiceUnavailable, got.header.Get("Retry-After") == "5", name)
		assert.Equal(t, c.status == http.StatusUnauthorized, got.header.Get("WWW-Authenticate") != "", name)
		for header := range got.header {
			assert.Contains(t, []string{"X-Auth-Client", "Cache-Control", "Retry-After", "Www-Authenticate", "Server", "Date", "Content-Length", "Connection"},
				header, name)
		}
	}
	assert.Equal(t, []string{`Basic realm="restricted", charset="UTF-8"`, `ApiKey realm="restricted"`},
		a.about("basic.example.com").header.Values("WWW-Authenticate"))
	assert.Equal(t, int64(2), a.metric(`authz_bridge_decisions_total{app="given",reason="app_invalid"}`))
	assert.Contains(t, a.logged(), `"user_id":"shop"`)
	assert.Contains(t, a.logged(), `"authz_bridge":{"app":"shop","reason":"credentials_missing","generation":`)
	assert.NotContains(t, a.logged(), "given-away")
}

func TestAMethodOfAQuestionIsThatOfTheRequest(t *testing.T) {
	a := opened(t)
	for method, want := range map[string]int{
		"GET": 200, "HEAD": 200, "POST": 401, "OPTIONS": 401, "get": 401, "GETX": 401, "M-SEARCH": 401,
		"GE T": 400, "GET/": 400, "GET, HEAD": 400, "GET,HEAD": 400, "\"GET\"": 400, "G\xc3\x84T": 400,
	} {
		got := a.about("shop.example.com", "X-Forwarded-Uri: /healthz", "X-Forwarded-Method: "+method)
		assert.Equal(t, want, got.status, method)
	}
	for _, line := range []string{"POST /healthz HTTP/1.1", "HEAD / HTTP/1.1", "OPTIONS / HTTP/1.1"} {
		head := []string{line, "Host: verify.internal", "X-Forwarded-Host: shop.example.com", "X-Forwarded-Method: GET", "X-Forwarded-Uri: /", "X-Forwarded-For: 203.0.113.5"}
		assert.Equal(t, http.StatusUnauthorized, a.overWire(head...).status, "that of the question is of no interest")
	}
}

func TestAPathOfAQuestionIsPublicOnlyIfEverybodyTakesItForTheSame(t *testing.T) {
	a := opened(t)
	for uri, want := range map[string]int{
		"/healthz":                        200,
		"/healthz?next=/admin":            200,
		"/healthz?a,b":                    200,
		"/static/a,b":                     200,
		"/static/a%20b":                   200,
		"/healthz?a,/admin":               401,
		"/healthz?a=https://x/,/admin":    401,
		"/":                               401,
		"//healthz":                       401,
		"//open.example.com/healthz":      401,
		"/healthz/..":                     401,
		"/static/%2e%2e/admin":            401,
		"/static/..;/admin":               401,
		"/healthz#x":                      401,
		"/static/\"":                      401,
		"/static/caf\xc3\xa9":             401,
		"/static/\xff":                    401,
		"/healthz, /admin":                400,
		"/static/x,/admin":                400,
		"/static/a b":                     400,
		"/static/%zz":                     400,
		"/healthz\t":                      200, // trimmed, as of every header
		"/static/\t/x":                    400,
		"*":                               400,
		"healthz":                         400,
		"?/healthz":                       400,
		"http://open.example.com/healthz": 400,
		"http://shop.example.com/healthz": 400,
		"https:/healthz":                  400,
		"shop.example.com:443":            400,
		"\\healthz":                       400,
	} {
		assert.Equal(t, want, a.about("shop.example.com", "X-Forwarded-Uri: "+uri).status, uri)
	}
	for _, header := range []string{"X-Original-URL", "X-Original-Method", "X-Rewrite-URL", "X-HTTP-Method-Override", "X-Forwarded-Path", "X~Forwarded~Uri"} {
		assert.Equal(t, http.StatusUnauthorized, a.about("shop.example.com", "X-Forwarded-Uri: /healthz", header+": /admin").status, header)
	}
}

func TestWhatAQuestionLeavesOutIsNeverTakenFromElsewhere(t *testing.T) {
	a := opened(t)
	require.Equal(t, http.StatusOK, a.about("open.example.com", "Host: open.example.com").status)
	for _, header := range []string{"X-Forwarded-Host", "X-Forwarded-Method", "X-Forwarded-Uri", "X-Forwarded-For"} {
		value := map[string]string{
			"X-Forwarded-Host": "open.example.com", "X-Forwarded-Method": "GET", "X-Forwarded-Uri": "/", "X-Forwarded-For": "203.0.113.5",
		}[header]
		for name, lines := range map[string][]string{
			"missing":                 {header},
			"empty":                   {header + ": "},
			"white space":             {header + ": \t "},
			"repeated":                {header + ": " + value, header + ": " + value},
			"repeated with an empty":  {header + ": " + value, header + ":"},
			"repeated, in lower case": {header + ": " + value, strings.ToLower(header) + ": " + value},
			"joined":                  {header + ": " + value + ", " + value},
			"joined without a space":  {header + ": " + value + "," + value},
			"ends in a comma":         {header + ": " + value + ", "},
			"an underscore":           {header, strings.ReplaceAll(header, "-", "_") + ": " + value},
			"dots":                    {header, strings.ReplaceAll(header, "-", ".") + ": " + value},
			"another byte":            {header, strings.ReplaceAll(header, "-", "~") + ": " + value},
			"a standard header":       {header, "Forwarded: for=203.0.113.5;host=open.example.com;proto=http"},
			"what others send":        {header, "X-Original-Host: open.example.com", "X-Original-Method: GET", "X-Original-URI: /", "X-Real-IP: 203.0.113.5"},
		} {
			if header == "X-Forwarded-Uri" && name == "ends in a comma" {
				continue // of a path that is no end
			}
			got := a.about("open.example.com", append(lines, "Host: open.example.com")...)
			assert.Equal(t, http.StatusBadRequest, got.status, "%s: %s", header, name)
			assert.Empty(t, got.body)
		}
		assert.Equal(t, 1, strings.Count(a.logged(), header+": is missing or empty"), "the log names the fix, once")
		assert.Equal(t, 1, strings.Count(a.logged(), header+": is there more than once"))
		assert.Equal(t, 1, strings.Count(a.logged(), header+": has several values"))
	}
	assert.NotContains(t, a.logged(), `"level":"error"`)
}

func TestAnAddressIsThatWhichIsAskedAbout(t *testing.T) {
	a := opened(t)
	for client, want := range map[string]int{
		"10.1.2.3":         200,
		"::ffff:10.1.2.3":  200,
		"2001:db8::5":      200,
		"203.0.113.5":      403,
		"127.0.0.1":        403,
		"2001:db9::5":      403,
		"10.1.2.3:80":      400,
		"[2001:db8::5]":    400,
		"[2001:db8::5]:80": 400,
		"010.1.2.3":        400,
		"10.1":             400,
		"10.0.0.0/8":       400,
		"unknown":          400,
		"unix:":            400,
		"localhost":        400,
	} {
		assert.Equal(t, want, a.about("ten.example.com", "X-Forwarded-For: "+client).status, client)
	}
	a.opens(trusting("127.0.0.0/8 10.0.0.0/8")+"\ntrusted_proxies_strict", "")
	assert.Equal(t, http.StatusOK, a.about("ten.example.com", "X-Forwarded-For: 10.1.2.3").status, "a proxy may be a client")
	assert.Equal(t, http.StatusForbidden, a.about("ten.example.com", "X-Forwarded-For: 127.0.0.9").status)
}
