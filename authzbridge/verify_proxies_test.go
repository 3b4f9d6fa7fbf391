package authzbridge_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const examples = "../caddyfile/examples"

// example reads an example, and puts addresses that are free in place of its own.
func example(tb testing.TB, name string, replacements ...string) string {
	tb.Helper()
	content, err := os.ReadFile(filepath.Join(examples, name))
	require.NoError(tb, err)
	text := string(content)
	for i := 0; i < len(replacements); i += 2 {
		require.Contains(tb, text, replacements[i], name)
		text = strings.ReplaceAll(text, replacements[i], replacements[i+1])
	}
	return text
}

func portOf(address string) string { return address[strings.LastIndexByte(address, ':'):] }

// frontDoor is another proxy that asks the running example before it lets a request
// through to an app behind.
type frontDoor struct {
	*door
	verify string // address of the example
	behind string // address of the app behind, which answers with what it hears
}

// startVerify runs verify.caddyfile, in one Caddy with the servers of another
// Caddyfile if there is one, over Secrets in a directory.
func startVerify(t *testing.T, dir string, more func(*frontDoor) string) *frontDoor {
	t.Helper()
	t.Setenv("QUICKSTART_DIR", dir)
	f := &frontDoor{verify: freeAddress(t), behind: startUpstream(t, echo)}
	f.door = newDoor(t, "")
	config := adaptExample(t, example(t, "verify.caddyfile", ":9091", portOf(f.verify), "localhost:2019", f.admin))
	if more != nil {
		for name, server := range serversOf(adaptExample(t, more(f))) {
			serversOf(config)["asking "+name] = server
		}
	}
	whole, err := json.Marshal(config)
	require.NoError(t, err)
	require.NoError(t, caddy.Load(whole, true))
	eventually(t, func() bool { return f.bridge().Ready }, "never ready")
	return f
}

func adaptExample(t *testing.T, text string) map[string]any {
	t.Helper()
	adapted, warnings, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(text), map[string]any{"filename": "Caddyfile"})
	require.NoError(t, err)
	require.Empty(t, warnings)
	var config map[string]any
	require.NoError(t, json.Unmarshal(adapted, &config))
	return config
}

func serversOf(config map[string]any) map[string]any {
	apps, _ := config["apps"].(map[string]any)
	httpApp, _ := apps["http"].(map[string]any)
	servers, _ := httpApp["servers"].(map[string]any)
	return servers
}

// localApps are Apps of all sorts, at hostnames that the examples serve.
func localApps(t *testing.T) (dir string) {
	t.Helper()
	o := &oracle{door: &door{tb: t}, dir: t.TempDir(), ns: "authz-bridge"}
	o.secret("private", "alice", "alices-key")
	o.secret("open", "token", "placeholder")
	o.secret("given", "token", "alices-key", "upstream", "given-away")
	o.secret("basic", "auth", "alice:{SHA}"+sha1OfSecret)
	o.secret("registry", "registry.yaml", document(
		"name: private\nhostnames: [private.localhost]\nsecretRef: {name: private}"+behindAProxy,
		app("open", "open.localhost"),
		"name: near\nhostnames: [near.localhost]\nsecretRef: {name: open}\nallowCIDRs: [127.0.0.0/8]",
		"name: far\nhostnames: [far.localhost]\nsecretRef: {name: open}\nallowCIDRs: [10.0.0.0/8]",
		app("given", "given.localhost")+behindAProxy+"\ninject: {header: Authorization, scheme: Bearer, key: upstream}",
		"name: basic\nhostnames: [basic.localhost]\nsecretRef: {name: basic, key: auth}\nanyOf: [{basic: {realm: the office}}]\nidentityHeader: X-Auth-Client",
		"name: other\nhostnames: [other.localhost]\nsecretRef: {name: private}\nanyOf: [{apiKey: {from: [{header: X-API-Key}]}}]\nidentityHeader: X-Other-Client",
		app("absent", "absent.localhost"),
	))
	return o.dir
}

// asking is what a client sends to the other proxy, and what becomes of it.
type asking struct {
	name   string
	head   []string
	body   string
	status int
	told   string // of the identity to the app behind
}

func askings() []asking {
	const private, key = "Host: private.localhost", "X-API-Key: alices-key"
	const far, open = "Host: far.localhost", "Host: open.localhost"
	get := func(path string, lines ...string) []string {
		return append([]string{"GET " + path + " HTTP/1.1"}, lines...)
	}
	return []asking{
		{"a right key", get("/", private, key), "", 200, "alice"},
		{"a right key with a body", []string{"POST /orders?a=b HTTP/1.1", private, key, "Content-Length: 5"}, "hello", 200, "alice"},
		{"no key", get("/", private), "", 401, ""},
		{"a wrong key", get("/", private, "X-API-Key: wrong"), "", 401, ""},
		{"a key twice", get("/", private, key, "X-API-Key: other"), "", 401, ""},
		{"a password", get("/", "Host: basic.localhost", "Authorization: Basic YWxpY2U6c2VjcmV0"), "", 200, "alice"},
		{"no password", get("/", "Host: basic.localhost"), "", 401, ""},
		{"an App that asks for nothing", get("/", open), "", 200, ""},
		{"a public path", get("/static/a.css?v=1", private), "", 200, ""},
		{"a preflight", []string{"OPTIONS / HTTP/1.1", private, "Origin: https://a.example", "Access-Control-Request-Method: PUT"}, "", 200, ""},
		{"a host of no App", get("/", "Host: unknown.localhost"), "", 403, ""},
		{"an App without its Secret", get("/", "Host: absent.localhost"), "", 503, ""},
		{"an App that gives away", get("/", "Host: given.localhost", key), "", 503, ""},
		{"an address that is in", get("/", "Host: near.localhost"), "", 200, ""},
		{"an address that is not", get("/", far), "", 403, ""},

		{"a spoofed identity", get("/", private, key, "X-Auth-Client: admin"), "", 400, ""},
		{"in lower case, twice", get("/", private, key, "x-auth-client: admin", "x-auth-client: admin"), "", 400, ""},
		{"on a public path", get("/healthz", private, "X-Auth-Client: admin"), "", 400, ""},
		{"where nobody asks", get("/", open, "X-Auth-Client: admin"), "", 400, ""},
		{"one that the proxy does not know", get("/", private, key, "X-Other-Client: admin"), "", 400, ""},
		{"a spoofed host", get("/", private, "X-Forwarded-Host: open.localhost"), "", 401, ""},
		{"a spoofed host of no App", get("/", "Host: unknown.localhost", "X-Forwarded-Host: open.localhost"), "", 403, ""},
		{"a host in standard words", get("/", private, "Forwarded: host=open.localhost"), "", 401, ""},
		{"a spoofed path", get("/", private, "X-Forwarded-Uri: /healthz"), "", 401, ""},
		{"a spoofed method", []string{"POST /healthz HTTP/1.1", private, "X-Forwarded-Method: GET", "Content-Length: 0"}, "", 401, ""},
		{"a spoofed address", get("/", far, "X-Forwarded-For: 10.1.2.3"), "", 403, ""},
		{"a spoofed address, otherwise", get("/", far, "X-Real-IP: 10.1.2.3", "Forwarded: for=10.1.2.3"), "", 403, ""},
		{"another host in the target", get("http://private.localhost/", open), "", 401, ""},
		{"and the other way round", get("http://open.localhost/", private), "", 200, ""},
		{"a path that climbs", get("/healthz/../admin", private), "", 401, ""},
		{"that climbs to a public one", get("/admin/../healthz", private), "", 401, ""},
		{"that climbs in disguise", get("/static/%2e%2e/admin", private), "", 401, ""},
		{"with slashes", get("//healthz", private), "", 401, ""},
		{"with a host in it", get("//open.localhost/healthz", private), "", 401, ""},
		{"a public path, with a claim", get("/healthz", private, "X-Forwarded-Uri: /claimed", "X-Forwarded-Method: CLAIMED"), "", 200, ""},
		{"that is rewritten behind", get("/healthz", private, "X-Original-URL: /admin"), "", 401, ""},
		{"whose method is", get("/healthz", private, "X-HTTP-Method-Override: DELETE"), "", 401, ""},
		{"a key named in Connection", get("/", private, key, "Connection: X-Forwarded-Host, X-Forwarded-Uri, X-Forwarded-For, X-Forwarded-Method"), "", 200, "alice"},
	}
}

// assertGuards asks through another proxy for everything. bad is what that makes of 400.
func assertGuards(t *testing.T, f *frontDoor, bad int) {
	t.Helper()
	for _, c := range askings() {
		if c.status == http.StatusBadRequest {
			c.status = bad
		}
		got := f.overWireWith(c.body, c.head...)
		assert.Equal(t, c.status, got.status, c.name)
		if c.status != http.StatusOK {
			assert.NotContains(t, got.body, "HTTP/1.", "%s: reaches the app behind", c.name)
			assert.Empty(t, got.header.Get("X-Auth-Client"), c.name)
			assert.Equal(t, c.status == http.StatusServiceUnavailable, got.header.Get("Retry-After") == "5", c.name)
			continue
		}
		assert.Contains(t, got.body, "HTTP/1.", "%s: is not answered by the app behind", c.name)
		assert.Contains(t, got.body, c.body, c.name)
		var told []string
		for _, line := range headersLike(got.body, "X-Auth-Client") {
			_, value, _ := strings.Cut(line, ": ")
			told = append(told, value)
		}
		assert.Equal(t, c.told, strings.Join(told, " and "), c.name)
		assert.NotContains(t, got.body, "admin", c.name)
		assert.NotContains(t, got.body, "alices-key", c.name)
		assert.NotContains(t, strings.ToLower(got.body), "claimed", c.name)
	}
	assert.Equal(t, `ApiKey realm="restricted"`, f.overWire("GET / HTTP/1.1", "Host: private.localhost").header.Get("WWW-Authenticate"))
	assert.Equal(t, `Basic realm="the office", charset="UTF-8"`, f.overWire("GET / HTTP/1.1", "Host: basic.localhost").header.Get("WWW-Authenticate"))
}

func askingCaddy(t *testing.T, before ...string) func(*frontDoor) string {
	return func(f *frontDoor) string {
		return example(t, "verify-caddy.caddyfile", append([]string{
			":8080", portOf(f.site), "localhost:9091", f.verify, "localhost:9000", f.behind,
		}, before...)...)
	}
}

func TestCaddyAsks(t *testing.T) {
	f := startVerify(t, localApps(t), askingCaddy(t))
	assertGuards(t, f, http.StatusBadRequest)
	for name, c := range map[string]struct {
		lines  []string
		status int
	}{
		"a WebSocket": {[]string{"Upgrade: websocket", "X-API-Key: alices-key"}, 200},
		"HTTP/2":      {[]string{"Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__", "X-API-Key: alices-key"}, 400},
	} {
		head := append([]string{"GET / HTTP/1.1", "Host: private.localhost", "Connection: Upgrade, HTTP2-Settings"}, c.lines...)
		assert.Equal(t, c.status, f.overWire(head...).status, name)
	}
}

// The proxy before the one that asks is trusted there, and tells of the client; it may
// pass on what the client says of hosts.
func TestCaddyAsksBehindAnotherProxy(t *testing.T) {
	f := startVerify(t, localApps(t), askingCaddy(t, "	admin off", "	admin off\n	servers {\n\t\t"+trusting(everyone)+"\n\t\ttrusted_proxies_strict\n\t}"))
	for name, c := range map[string]struct {
		head   []string
		status int
	}{
		"a client that is in":     {[]string{"Host: far.localhost", "X-Forwarded-For: 10.1.2.3"}, 200},
		"behind two more":         {[]string{"Host: far.localhost", "X-Forwarded-For: 203.0.113.5, 10.1.2.3, 127.0.0.9"}, 200},
		"a client that is not":    {[]string{"Host: far.localhost", "X-Forwarded-For: 10.1.2.3, 203.0.113.5"}, 403},
		"a spoofed host":          {[]string{"Host: private.localhost", "X-Forwarded-Host: open.localhost"}, 401},
		"a spoofed path":          {[]string{"Host: private.localhost", "X-Forwarded-Uri: /healthz"}, 401},
		"a right key all the way": {[]string{"Host: private.localhost", "X-Forwarded-For: 203.0.113.5", "X-API-Key: alices-key"}, 200},
	} {
		assert.Equal(t, c.status, f.overWire(append([]string{"GET / HTTP/1.1"}, c.head...)...).status, name)
	}
}

// What the comment of verify.caddyfile says to try.
func TestTheQuickstartAnswersOtherProxies(t *testing.T) {
	f := startVerify(t, filepath.Join(examples, "quickstart"), nil)
	ask := func(lines ...string) answer {
		f.site = f.verify
		return f.overWire(append([]string{"GET / HTTP/1.1", "Host: localhost:9091", "X-Forwarded-Method: GET", "X-Forwarded-Uri: /", "X-Forwarded-For: 203.0.113.5"}, lines...)...)
	}
	assert.Equal(t, http.StatusOK, ask("X-Forwarded-Host: private.localhost", "X-API-Key: alices-key").status)
	assert.Equal(t, http.StatusUnauthorized, ask("X-Forwarded-Host: private.localhost").status)
	assert.Equal(t, http.StatusServiceUnavailable, ask("X-Forwarded-Host: closed.localhost").status)
	assert.Equal(t, http.StatusBadRequest, ask("Host: private.localhost").status)
}
