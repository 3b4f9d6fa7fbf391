package authzbridge_test

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/mirror"
)

// conditions are matchers, each asked at a path of its own.
var conditions = []string{
	"authz_bridge known",
	"not authz_bridge known",
	"authz_bridge ready",
	"not authz_bridge ready",
	"authz_bridge app shop invalid",
	"not authz_bridge app shop invalid",
}

// questions starts a door that answers yes or no at /0, /1 and so on.
func questions(t *testing.T, option string, conditions []string) *annex {
	t.Helper()
	var site strings.Builder
	for i, condition := range conditions {
		fmt.Fprintf(&site, "handle /%d {\n@it {\n%s\n}\nrespond @it yes\nrespond no\n}\n", i, condition)
	}
	return openAnnex(t, option, site.String())
}

// asked returns what is said of a host by each condition.
func (d *door) asked(host string, conditions int) string {
	d.tb.Helper()
	said := make([]string, conditions)
	for i := range said {
		got := d.overWire(fmt.Sprintf("GET /%d HTTP/1.1", i), "Host: "+host)
		said[i] = got.body
		if got.status != http.StatusOK {
			said[i] = fmt.Sprint(got.status)
		}
	}
	return strings.Join(said, " ")
}

func TestMatchersTellHowAHostStands(t *testing.T) {
	k := newDesk(t)
	for _, name := range []string{"shop", "blog", "invalid", "expired", "one", "two"} {
		k.secret(name, "token", "placeholder")
	}
	k.secret("registry", "registry.yaml", document(
		app("shop", "shop.example.com", "*.shop.example.com")+byKey,
		app("blog", "blog.example.com"),
		app("walled", "walled.example.com")+"\nallowCIDRs: [192.0.2.1]",
		app("invalid", "invalid.example.com")+"\nquota: 1",
		app("expired", "expired.example.com")+"\nexpiresAt: 2001-01-01T00:00:00Z",
		app("absent", "absent.example.com"),
		app("one", "both.example.com"), app("two", "both.example.com"),
	))
	k.secret("walled", "token", "placeholder")
	d := questions(t, filesOption(k.manifests), conditions)
	eventually(t, func() bool { return d.bridge().Apps.Serving > 0 }, "never synced")

	for host, want := range map[string]string{
		"shop.example.com":       "yes no yes no yes no",
		"SHOP.example.com.:8443": "yes no yes no yes no",
		"a.shop.example.com":     "yes no yes no yes no",
		"a.b.shop.example.com":   "no yes no yes no yes",
		"blog.example.com":       "yes no yes no no yes",
		"walled.example.com":     "yes no yes no no yes",
		"invalid.example.com":    "yes no no yes yes no",
		"expired.example.com":    "yes no no yes no yes",
		"absent.example.com":     "yes no no yes no yes",
		"both.example.com":       "yes no no yes 503 503",
		"other.example.com":      "no yes no yes no yes",
		"shop.example.com..":     "400 400 400 400 400 400",
		"*.shop.example.com":     "400 400 400 400 400 400",
		"":                       "400 400 400 400 400 400",
	} {
		assert.Equal(t, want, d.asked(host, len(conditions)), host)
	}
}

func TestAMatcherAsksForAllOfItsConditions(t *testing.T) {
	k := newDesk(t)
	k.secret("shop", "token", "placeholder")
	k.secret("registry", "registry.yaml", document(app("shop", "shop.example.com"), app("blog", "blog.example.com")))
	all := []string{
		"authz_bridge {\nknown\nready\napp shop blog\n}",
		"authz_bridge ready\nauthz_bridge app blog shop",
		"authz_bridge known\nnot authz_bridge ready",
		"authz_bridge app blog\nmethod GET",
		"not {\nauthz_bridge ready\nauthz_bridge app blog\n}",
	}
	d := questions(t, filesOption(k.manifests), all)
	eventually(t, func() bool { return d.bridge().Apps.Serving > 0 }, "never synced")
	assert.Equal(t, "yes yes no no yes", d.asked("shop.example.com", len(all)))
	assert.Equal(t, "no no yes yes yes", d.asked("blog.example.com", len(all)))
}

// What nobody can tell is never a match, inside of not either.
func TestAMatcherThatCannotTellEndsTheRequest(t *testing.T) {
	const unavailable = "503 503 503 503 503 503"
	k := newDesk(t)
	k.secret("registry", "registry.yaml", "no document")
	d := questions(t, filesOption(k.manifests), conditions)
	for _, path := range []string{"/0", "/1"} { // each request waits for the first snapshot
		assert.Equal(t, http.StatusServiceUnavailable, d.overWire("GET "+path+" HTTP/1.1", "Host: shop.example.com").status, "unsynced")
	}
	k.secret("registry", "registry.yaml", "version: 1\n")
	eventually(t, func() bool { return d.bridge().Generation > 0 }, "never synced")
	assert.Equal(t, unavailable, d.asked("shop.example.com", len(conditions)), "no Apps: as if the Registry was cut short")
	k.secret("shop", "token", "placeholder")
	k.secret("registry", "registry.yaml", document(app("shop", "shop.example.com")))
	eventually(t, func() bool { return d.asked("shop.example.com", 1) == "yes" }, "the App is never known")
	require.NoError(t, os.Remove(k.manifests+"/registry.yaml"))
	eventually(t, func() bool { return d.asked("shop.example.com", len(conditions)) == unavailable }, "the Registry that has gone is an answer")
}

func TestAMatcherOfAStaleMirrorEndsTheRequest(t *testing.T) {
	k := newDesk(t)
	k.secret("shop", "token", "placeholder")
	k.secret("registry", "registry.yaml", document(app("shop", "shop.example.com")))
	d := questions(t, k.option()+"\nmax_age 5m", conditions)
	eventually(t, func() bool { return d.asked("shop.example.com", 1) == "yes" }, "the App is never known")
	d.writes(1)
	require.NoError(t, caddy.Stop())

	k.write("registry", "kind: Secret\nmetadata: [half")
	k.rewrite(func(c *mirror.Contents) { c.Validated = time.Now().Add(5*time.Second - 5*time.Minute) })
	d.load()
	eventually(t, func() bool { return d.bridge().State == "from_cache" }, "the cache is never served")
	assert.Equal(t, "yes no yes no yes no", d.asked("shop.example.com", len(conditions)))
	eventually(t, func() bool { return d.bridge().Stale }, "never stale")
	assert.Equal(t, "503 503 503 503 503 503", d.asked("shop.example.com", len(conditions)))
}

// A request that a matcher ends is told of like one that the handler refuses, and its
// credentials reach no error route. One that it lets through was not decided.
func TestWhatAMatcherEndsIsToldAndScrubbed(t *testing.T) {
	k := newDesk(t)
	k.secret("one", "token", "placeholder")
	k.secret("two", "token", "placeholder")
	k.secret("registry", "registry.yaml", document(app("one", "both.example.com", "one.example.com")+byKey, app("two", "both.example.com")))
	upstream := startUpstream(t, headersInJSON)
	d := openAnnex(t, filesOption(k.manifests), fmt.Sprintf(`@one authz_bridge app one
reverse_proxy @one %[1]s {
	header_up X-Seen "{http.authz_bridge.reason}"
}
handle_errors {
	reverse_proxy %[1]s {
		header_up X-Seen "{http.authz_bridge.reason}"
		header_up X-Status {err.status_code}
	}
}`, upstream))
	d.becomes("one.example.com", http.StatusOK)

	ended := d.send("both.example.com", http.Header{"X-Api-Key": {"the-key"}, "X_api_key": {"the-key"}, "Cookie": {"theme=dark"}})
	require.Equal(t, http.StatusServiceUnavailable, ended.status)
	h := ended.behind(t)
	assert.Equal(t, "host_conflict", h.Get("X-Seen"))
	assert.Empty(t, h["X-Api-Key"])
	assert.NotContains(t, ended.body, "the-key")
	assert.Equal(t, "theme=dark", h.Get("Cookie"))
	assert.Equal(t, int64(1), d.metric(`authz_bridge_decisions_total{app="",reason="host_conflict"}`))

	through := d.send("one.example.com", http.Header{"X-Api-Key": {"the-key"}})
	require.Equal(t, http.StatusOK, through.status)
	assert.Equal(t, "{http.authz_bridge.reason}", through.behind(t).Get("X-Seen"), "nobody decided")
	assert.Equal(t, "the-key", through.behind(t).Get("X-Api-Key"), "nobody looked at it")
	assert.Zero(t, d.metric(`authz_bridge_decisions_total{app="one",reason="unsynced"}`))
	assert.Zero(t, d.metric(`authz_bridge_decisions_total{app="",reason="unsynced"}`))
}

func TestAMatcherNeedsAConditionAndTheGlobalOption(t *testing.T) {
	const config = `{"admin": {"disabled": true}, ` + quiet + `, "apps": {%s "http": {"servers": {"s":
		{"listen": ["127.0.0.1:0"], "routes": [{"match": [{"authz_bridge": %s}], "handle": [{"handler": "static_response"}]}]}}}}}`
	for match, want := range map[string]string{
		`{}`:                 "no condition; write known, ready, or app <name...>",
		`{"apps": ["Shop"]}`: `app: "Shop" is no name of an App`,
	} {
		err := caddy.Load(fmt.Appendf(nil, config, `"authz_bridge": {"registry": "a/b"},`, match), true)
		assert.ErrorContains(t, err, want)
	}
	err := caddy.Load(fmt.Appendf(nil, config, "", `{"known": true}`), true)
	assert.ErrorContains(t, err, "add the global option `authz_bridge")
}

// The handler takes no matcher's word: what it is told of one App opens no other.
func TestMatcherAndHandlerAreOfOneSnapshot(t *testing.T) {
	k := newDesk(t)
	k.secret("shared", "token", "placeholder")
	write := func(n int) {
		k.secret("registry", "registry.yaml", document(fmt.Sprintf(
			"name: v%d\nhostnames: [shop.example.com]\nsecretRef: {name: shared}", n)))
	}
	write(0)
	d := openAnnex(t, filesOption(k.manifests), `@even authz_bridge app v0
handle @even {
	route {
		test_pause
		authz_bridge
		respond "{http.authz_bridge.app}"
	}
}
respond "not matched"`)
	d.becomes("shop.example.com", http.StatusOK)

	pause := beginPause(t)
	answers := make(chan string, 1)
	go func() {
		got, err := d.try("shop.example.com")
		if err != nil {
			got.body = err.Error()
		}
		answers <- got.body
	}()
	pause.reached(t)
	generation := d.bridge().Generation
	write(1)
	eventually(t, func() bool { return d.bridge().Generation > generation }, "the change is never served")
	pause.end()
	assert.Equal(t, "v0", <-answers, "the handler is of the generation that was matched")
	eventually(t, func() bool { return d.ask("shop.example.com").body == "not matched" }, "the next request is of the next generation")
}
