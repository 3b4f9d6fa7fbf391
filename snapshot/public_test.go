package snapshot_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

// visit decides a request for a target, as Go's server reads it.
func visit(t *testing.T, apps *snapshot.Apps, method, target string, h http.Header) snapshot.Reason {
	t.Helper()
	r := httptest.NewRequest(method, target, nil)
	return decider(start).Decide(publish(apps), snapshot.Request{
		Host: "shop.example.com", Method: r.Method, URL: r.URL, Header: h,
	}).Reason
}

func TestOnlyAPathThatEverybodyTakesForTheSameIsPublic(t *testing.T) {
	apps := guarded(t, list{apiKey(inHeader)}, map[string]string{"alice": "a"}, "public", list{
		object{"path": "/healthz"},
		object{"path": "/static/*", "methods": list{"GET", "POST"}},
		object{"path": "/caf%C3%A9"},
	})
	for target, public := range map[string]bool{
		"/healthz":                    true,
		"/healthz?probe=1":            true,
		"/static/":                    true,
		"/static/css/site.css":        true,
		"/static/a%20b.css":           true,
		"/static/%C3%A9.css":          true,
		"/static/.hidden":             true,
		"/static/a..b":                true,
		"/caf%C3%A9":                  true,
		"/":                           false,
		"/static":                     false,
		"/staticx":                    false,
		"/healthz/":                   false,
		"/healthz/x":                  false,
		"/Healthz":                    false,
		"//healthz":                   false,
		"/healthz/../admin":           false,
		"/admin/../healthz":           false,
		"/admin/%2e%2e/healthz":       false,
		"/admin/%2E./healthz":         false,
		"/admin;/../healthz":          false,
		"/healthz;x=y":                false,
		"/healthz%3bx":                false,
		"/healthz%2f..%2fadmin":       false,
		"/static/%2e%2e/admin":        false,
		"/static/../admin":            false,
		"/static/./x":                 false,
		"/static/..":                  false,
		"/static/.../x":               false,
		"/static//x":                  false,
		"/static/..%5cadmin":          false,
		"/static/%5c..%5cadmin":       false,
		"/static/%252e%252e/admin":    false,
		"/static/%00":                 false,
		"/static/..%20/admin":         false,
		"/static/%20../admin":         false,
		"/static/..%C2%A0/admin":      false,
		"/static/%EF%BC%8E%EF%BC%8E/": false,
		"/static/%E2%80%A5/admin":     false,
		"/static/x%EF%BC%8Fy":         false,
		"/static/%0a":                 false,
		"/static/%7f":                 false,
		"/static/%c0%ae%c0%ae/admin":  false,
		"/static/x%3fy":               false,
		"/static/x%23y":               false,
		"/static/x#/healthz":          false,
		"/admin?/healthz":             false,
		"/admin?x=/../healthz":        false,
		"/admin#/healthz":             false,
		"/%68ealthz":                  false,
		"http://evil.example/healthz": true, // the host is another matter
	} {
		t.Run(target, func(t *testing.T) {
			want := snapshot.ReasonCredentialsMissing
			if public {
				want = snapshot.ReasonPublic
			}
			assert.Equal(t, want, visit(t, apps, "GET", target, nil))
		})
	}
	assert.Equal(t, snapshot.ReasonPublic, visit(t, apps, "HEAD", "/healthz", nil))
	assert.Equal(t, snapshot.ReasonCredentialsMissing, visit(t, apps, "POST", "/healthz", nil))
	assert.Equal(t, snapshot.ReasonPublic, visit(t, apps, "POST", "/static/x", nil))
	assert.Equal(t, snapshot.ReasonCredentialsMissing, visit(t, apps, "HEAD", "/static/x", nil), "not among its methods")
	assert.Equal(t, snapshot.ReasonCredentialsMissing, visit(t, apps, "OPTIONS", "*", nil))
	for _, name := range []string{
		"X-Original-Url", "X-Original-Uri", "X-Rewrite-Url", "X-Http-Method-Override", "X-Http-Method", "X-Method-Override",
		"X_Original_URL", "X_Original_Url", "X.Original.Url", "x-original-url", "X-Forwarded-Uri", "X-Envoy-Original-Path",
		"SCRIPT_NAME", "X-Script-Name", "X-Forwarded-Prefix", "PATH_INFO",
	} {
		assert.Equal(t, snapshot.ReasonCredentialsMissing, visit(t, apps, "GET", "/healthz", http.Header{name: {"/admin"}}), name)
	}
	assert.Equal(t, snapshot.ReasonCredentialsMissing, ask(apps, nil).Reason, "without a URL")
}

func TestPreflightsPassWhereTheAppSaysSo(t *testing.T) {
	preflight := http.Header{"Origin": {"https://x.example"}, "Access-Control-Request-Method": {"PUT"}}
	for choice, want := range map[any]snapshot.Reason{
		"pass": snapshot.ReasonPreflight, "deny": snapshot.ReasonCredentialsMissing, nil: snapshot.ReasonCredentialsMissing,
	} {
		more := []any{}
		if choice != nil {
			more = append(more, "preflight", choice)
		}
		apps := guarded(t, list{apiKey(inHeader)}, map[string]string{"alice": "a"}, more...)
		assert.Equal(t, want, visit(t, apps, "OPTIONS", "/x", preflight))
		assert.Equal(t, snapshot.ReasonCredentialsMissing, visit(t, apps, "GET", "/x", preflight))
		assert.Equal(t, snapshot.ReasonCredentialsMissing, visit(t, apps, "OPTIONS", "/x", http.Header{"Origin": {"https://x.example"}}))
		assert.Equal(t, snapshot.ReasonCredentialsMissing, visit(t, apps, "OPTIONS", "/x", http.Header{
			"Origin": {"https://x.example", "https://y.example"}, "Access-Control-Request-Method": {"PUT"},
		}))
		assert.Equal(t, snapshot.ReasonCredentialsMissing, visit(t, apps, "OPTIONS", "/x", http.Header{
			"Origin": {"https://x.example"}, "Access-Control-Request-Method": {"PUT"}, "X-HTTP-Method-Override": {"DELETE"},
		}))
	}
}

func TestPublicThatIsWrongNeverOpensTheApp(t *testing.T) {
	for about, c := range map[string]struct {
		field   string
		written any
		want    string
	}{
		"null":               {"public", nil, "public: is no list of paths"},
		"empty":              {"public", list{}, "public: is no list of paths"},
		"a text":             {"public", "/healthz", "public: is no list of paths"},
		"no path":            {"public", list{object{}}, "public[0].path: missing"},
		"path of null":       {"public", list{object{"path": nil}}, "public[0].path: null is no path"},
		"unknown":            {"public", list{object{"paths": "/x"}}, `public[0]: unknown field "paths"`},
		"without a slash":    {"public", list{object{"path": "x"}}, `public[0].path: "x" is no path that can be public`},
		"wildcard inside":    {"public", list{object{"path": "/a/*/b"}}, `"/a/*/b" is no path`},
		"wildcard in a name": {"public", list{object{"path": "/a*"}}, `"/a*" is no path`},
		"dots":               {"public", list{object{"path": "/a/../b"}}, "is no path"},
		"escaped dots":       {"public", list{object{"path": "/a/%2e%2e/b"}}, "is no path"},
		"two slashes":        {"public", list{object{"path": "//a"}}, "is no path"},
		"query":              {"public", list{object{"path": "/a?b"}}, "is no path"},
		"not escaped":        {"public", list{object{"path": "/é"}}, "is no path"},
		"half an escape":     {"public", list{object{"path": "/a%2"}}, "is no path"},
		"no methods":         {"public", list{object{"path": "/a", "methods": list{}}}, "public[0].methods: [] is no list"},
		"methods of null":    {"public", list{object{"path": "/a", "methods": nil}}, "methods: null is no list"},
		"small method":       {"public", list{object{"path": "/a", "methods": list{"get"}}}, `methods: "get" is no method`},
		"preflight":          {"preflight", "allow", `preflight: "allow" is no choice; write deny or pass`},
		"preflight of true":  {"preflight", true, "preflight: true is no choice"},
		"identity of null":   {"identityHeader", nil, "identityHeader: null is no name of a header"},
		"identity with _":    {"identityHeader", "X_User", `identityHeader: "X_User" is no name`},
		"identity in Host":   {"identityHeader", "host", "identityHeader: Host has another meaning"},
		"identity forwarded": {"identityHeader", "X-Forwarded-For", "identityHeader: X-Forwarded-For has another meaning"},
		"identity in Authz":  {"identityHeader", "authorization", "identityHeader: Authorization carries credentials"},
		"identity as key":    {"identityHeader", "x-api-key", "identityHeader: X-Api-Key carries credentials"},
		"inject of null":     {"inject", nil, "inject: is empty"},
		"inject of nothing":  {"inject", object{}, "inject.name a header or a cookie"},
		"inject in a header": {"inject", object{"header": "X-Key", "key": "k"}, "inject.header: X-Key would be printed"},
		"inject unknown":     {"inject", object{"header": "Authorization", "value": "k"}, `inject: unknown field "value"`},
		"inject key of null": {"inject", object{"header": "Authorization", "key": nil}, "inject.key: missing"},
		"inject without key": {"inject", object{"header": "Authorization"}, "inject.key: missing"},
		"inject of keys":     {"inject", object{"header": "Authorization", "key": "token"}, "inject.key: token is what callers prove themselves by"},
	} {
		t.Run(about, func(t *testing.T) {
			reg := registry(t, shop.with("anyOf", list{apiKey(inHeader)}).with(c.field, c.written), app("blog", "blog.example.com"))
			require.ErrorContains(t, reg.Entries()[0].Err, c.want)
			require.NoError(t, reg.Entries()[1].Err)
			apps := build(t, snapshot.NewObjects(start, reg, allPresent(reg)))
			assert.Equal(t, snapshot.ReasonAppInvalid, visit(t, apps, "GET", "/healthz", nil))
		})
	}
	for field, written := range map[string]any{
		"public": list{object{"path": "/healthz"}}, "preflight": "pass", "identityHeader": "X-User",
		"inject": object{"header": "Authorization", "key": "up"},
	} {
		reg := registry(t, shop.with(field, written))
		require.ErrorContains(t, reg.Entries()[0].Err, field+": has no meaning without anyOf")
	}
}

func FuzzCanonicalPath(f *testing.F) {
	reg, err := parseText("registry.json", `{"version":1,"apps":[{"name":"shop","hostnames":["shop.example.com"],"secretRef":{"name":"clients"},
		"anyOf":[{"apiKey":{"from":[{"header":"X-Api-Key"}]}}],"public":[{"path":"/static/*"}]}]}`)
	require.NoError(f, err)
	require.NoError(f, reg.Entries()[0].Err)
	apps := build(f, snapshot.NewObjects(start, reg, allPresent(reg)))
	for _, target := range []string{"/static/a", "/static/%2e%2e/x", "/static/..;/x", "/static/%c3%a9"} {
		f.Add(target)
	}
	f.Fuzz(func(t *testing.T, target string) {
		u, err := parseTarget(target)
		if err != nil {
			return
		}
		d := decider(start).Decide(publish(apps), snapshot.Request{Host: "shop.example.com", Method: "GET", URL: u})
		if d.Reason != snapshot.ReasonPublic {
			return
		}
		for _, reading := range readings(u.EscapedPath()) {
			assert.True(t, below(reading, "/static/"), "%q may be read as %q", target, reading)
		}
	})
}

func parseTarget(target string) (*url.URL, error) { return url.ParseRequestURI(target) }

// readings are what servers make of a path: decoded once and twice, with
// backslashes for slashes, cut at what they take for the end, and cleaned.
func readings(escaped string) []string {
	all := []string{escaped}
	for range 2 {
		if decoded, err := url.PathUnescape(all[len(all)-1]); err == nil {
			all = append(all, decoded)
		}
	}
	for _, p := range slices.Clone(all) {
		p = strings.ReplaceAll(p, `\`, "/")
		for _, end := range ";?#\x00" {
			cut, _, _ := strings.Cut(p, string(end))
			all = append(all, path.Clean(cut)+"/")
		}
		var segments []string
		for segment := range strings.SplitSeq(p, "/") {
			name, _, _ := strings.Cut(segment, ";")
			segments = append(segments, name)
		}
		all = append(all, path.Clean(strings.Join(segments, "/"))+"/")
	}
	return all
}

func below(p, parent string) bool { return strings.HasPrefix(p, parent) }
