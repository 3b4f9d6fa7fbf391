package authzbridge_test

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// named starts an app behind that answers with its name, and with the Host and the
// identity that it is told.
func named(t *testing.T, name string) string {
	t.Helper()
	return startUpstream(t, func(r *http.Request, _ string) string {
		return strings.Join([]string{name, r.Host, r.Header.Get("X-Auth-Client")}, " ")
	})
}

// at lists upstreams of an App.
func at(addresses ...string) string {
	return "\nupstreams: ['" + strings.Join(addresses, "', '") + "']"
}

const dynamic = "reverse_proxy {\ndynamic authz_bridge\n}"

// street is a desk with Apps that list where they are.
type street struct {
	*desk
	shop, blog string // addresses
}

func newStreet(t *testing.T) *street {
	t.Helper()
	s := &street{desk: newDesk(t), shop: named(t, "shop"), blog: named(t, "blog")}
	for _, name := range []string{"shop", "blog", "nowhere", "wrong"} {
		s.secret(name, "token", "the-key")
	}
	s.register(app("shop", "shop.example.com")+byKey+"\nidentityHeader: X-Auth-Client\npublic: [{path: /public}]\npreflight: pass"+at(s.shop),
		app("blog", "blog.example.com")+at(s.blog))
	return s
}

func (s *street) register(entries ...string) {
	s.tb.Helper()
	s.secret("registry", "registry.yaml", document(append(entries,
		app("nowhere", "nowhere.example.com"), app("wrong", "wrong.example.com")+at("wrong"))...))
}

func (s *street) open(t *testing.T, content string) *annex {
	t.Helper()
	d := openAnnex(t, filesOption(s.manifests), content)
	eventually(t, func() bool { return d.bridge().Apps.Total >= 4 && d.bridge().Apps.Serving == d.bridge().Apps.Total }, "never synced")
	return d
}

func withKey() http.Header { return http.Header{"X-Api-Key": {"the-key"}} }

func TestARequestGoesToTheUpstreamsOfItsApp(t *testing.T) {
	s := newStreet(t)
	d := s.open(t, "authz_bridge\n"+dynamic)
	assert.Equal(t, "shop shop.example.com shop", d.send("shop.example.com", withKey()).body)
	assert.Equal(t, "blog blog.example.com ", d.ask("blog.example.com").body)
	assert.Equal(t, http.StatusUnauthorized, d.status("shop.example.com"))
	assert.Equal(t, http.StatusForbidden, d.status("other.example.com"))
	for _, host := range []string{"nowhere.example.com", "wrong.example.com"} {
		assert.Equal(t, http.StatusServiceUnavailable, d.status(host), host)
		assert.Positive(t, d.metric(`authz_bridge_decisions_total{app="`+strings.TrimSuffix(host, ".example.com")+`",reason="allowed"}`), host)
	}
	public := d.overWire("GET /public HTTP/1.1", "Host: shop.example.com")
	assert.Equal(t, "shop shop.example.com ", public.body)
	preflight := d.overWire("OPTIONS / HTTP/1.1", "Host: shop.example.com", "Origin: https://example.com", "Access-Control-Request-Method: PUT")
	assert.Equal(t, "shop shop.example.com ", preflight.body)

	st := d.bridge()
	assert.Equal(t, 4, st.Apps.Serving, "a wrong upstream closes no App")
	require.Len(t, st.Apps.Warnings, 1)
	assert.Equal(t, "wrong", st.Apps.Warnings[0].App)
	assert.Equal(t, `upstreams[0]: "wrong" has no port; write host:port, with a port from 1 to 65535`, st.Apps.Warnings[0].Warning)

	s.register(app("shop", "shop.example.com")+at(s.blog), app("blog", "blog.example.com")+at(s.shop))
	eventually(t, func() bool { return d.ask("blog.example.com").body == "shop blog.example.com " }, "the move is never seen")
	assert.Equal(t, "blog shop.example.com ", d.ask("shop.example.com").body)
}

func TestUpstreamsThatAreDownAreLeftForTheNext(t *testing.T) {
	s := newStreet(t)
	down := freeAddress(t)
	s.register(app("shop", "shop.example.com") + at(down, s.shop, s.blog))
	d := openAnnex(t, filesOption(s.manifests), `authz_bridge
reverse_proxy {
	dynamic authz_bridge
	lb_policy first
	lb_retries 2
	fail_duration 10s
	header_up Host {upstream_hostport}
}`)
	d.becomes("shop.example.com", http.StatusOK)
	for range 3 {
		assert.Equal(t, "shop "+s.shop+" ", d.ask("shop.example.com").body, "in the order of the Registry")
	}
}

// Whoever forgets the directive, or lets a request past it, opens nothing; the static
// upstream beside is not used either.
func TestNoUpstreamsWithoutTheHandlersAllow(t *testing.T) {
	s := newStreet(t)
	forbidden := startUpstream(t, func(*http.Request, string) string {
		assert.Fail(t, "the static upstream is asked")
		return ""
	})
	proxy := "reverse_proxy " + forbidden + " {\ndynamic authz_bridge\n}"
	for about, c := range map[string]struct {
		content string
		want    int // of an App that is open; an error route that fails leaves the first error
	}{
		"no handler":                    {proxy, 503},
		"a matcher alone":               {"route {\n@ready authz_bridge ready\nreverse_proxy @ready " + forbidden + " {\ndynamic authz_bridge\n}\n}", 503},
		"the handler comes after":       {"route {\n" + proxy + "\nauthz_bridge\n}", 503},
		"the handler is elsewhere":      {"authz_bridge /elsewhere\n" + proxy, 503},
		"the host of no App is passed":  {"route {\nrequest_header Host other.example.com\nauthz_bridge {\nunknown pass\n}\n" + proxy + "\n}", 503},
		"another handler refuses after": {"route {\nauthz_bridge\nrequest_header Host other.example.com\nauthz_bridge\n" + proxy + "\n}\nhandle_errors {\n" + proxy + "\n}", 403},
		"another handler passes after":  {"route {\nauthz_bridge\nrequest_header Host other.example.com\nauthz_bridge {\nunknown pass\n}\n" + proxy + "\n}", 503},
		"an error route of a refusal":   {"authz_bridge {\nrequire_credentials\n}\nhandle_errors {\n" + proxy + "\n}", 503},
		"an error route of a failure":   {"route {\nauthz_bridge\nerror 502\n}\nhandle_errors {\n" + proxy + "\n}", 502},
	} {
		t.Run(about, func(t *testing.T) {
			d := s.open(t, c.content)
			got := d.ask("blog.example.com")
			assert.Equal(t, c.want, got.status)
			assert.Empty(t, got.body)
		})
	}
}

func TestAForgottenHandlerIsWarnedOfOnce(t *testing.T) {
	s := newStreet(t)
	d := s.open(t, dynamic)
	for range 3 {
		assert.Equal(t, http.StatusServiceUnavailable, d.status("blog.example.com"))
	}
	log, err := os.ReadFile(d.log)
	require.NoError(t, err)
	assert.Equal(t, 1, strings.Count(string(log), "write the directive authz_bridge in its site"))
}

// What the handler has let through is for its App, whatever is done to the request
// then; an error route has to ask the handler itself.
func TestTheAllowIsForTheAppThatItWasGivenFor(t *testing.T) {
	s := newStreet(t)
	for about, content := range map[string]string{
		"the Host is changed":        "route {\nauthz_bridge\nrequest_header Host shop.example.com\n" + dynamic + "\n}",
		"a matcher asks of another":  "route {\nauthz_bridge\nrequest_header Host shop.example.com\n@shop authz_bridge known\nheader @shop X-Known yes\n" + dynamic + "\n}",
		"the error route asks anew":  "route {\nauthz_bridge\nerror 502\n}\nhandle_errors {\nroute {\nauthz_bridge\n" + dynamic + "\n}\n}",
		"the handler comes twice":    "route {\nauthz_bridge\nauthz_bridge\n" + dynamic + "\n}",
		"the first of two fails":     "route {\n@first header X-First yes\nauthz_bridge\nhandle @first {\nerror 500\n}\n" + dynamic + "\n}",
		"it is a subroute's handler": "route {\nroute {\nauthz_bridge\n}\n" + dynamic + "\n}",
	} {
		t.Run(about, func(t *testing.T) {
			d := s.open(t, content)
			got := d.ask("blog.example.com")
			assert.Equal(t, "blog", got.app, "%d %s", got.status, got.body)
		})
	}
}

func TestASecondHandlerForAnotherHostDecidesAnew(t *testing.T) {
	s := newStreet(t)
	d := s.open(t, "route {\nauthz_bridge\nrequest_header Host {http.request.header.X-Then}\nauthz_bridge\n"+dynamic+"\n}")
	then := func(host string, h http.Header) answer {
		h.Set("X-Then", host)
		return d.send("blog.example.com", h)
	}
	assert.Equal(t, "blog", then("blog.example.com", http.Header{}).app)
	assert.Equal(t, http.StatusUnauthorized, then("shop.example.com", http.Header{}).status)
	assert.Equal(t, "shop", then("shop.example.com", withKey()).app)
	assert.Equal(t, http.StatusForbidden, then("other.example.com", withKey()).status)
	assert.Equal(t, http.StatusServiceUnavailable, then("nowhere.example.com", withKey()).status)
}

// Whoever adds other sources says so; they answer whatever the handler has said.
func TestDynamicMultiAddsOthers(t *testing.T) {
	s := newStreet(t)
	host, port, _ := strings.Cut(s.blog, ":")
	d := s.open(t, fmt.Sprintf("authz_bridge\nreverse_proxy {\nlb_policy first\ndynamic multi {\nauthz_bridge\na %s %s\n}\n}", host, port))
	assert.Equal(t, "shop", d.send("shop.example.com", withKey()).app)
	assert.Equal(t, "blog", d.ask("nowhere.example.com").app)
}
