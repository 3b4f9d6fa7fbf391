package authzbridge

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// Whatever a proxy sends, a question is one request, or none.
func FuzzQuestion(f *testing.F) {
	f.Add("shop.example.com", "GET", "/healthz?a=b", "203.0.113.5")
	f.Add("shop.example.com:443", "get", "/static/a,b", "2001:db8::1%eth0")
	f.Add("", "M-SEARCH", "//host/%2e%2e", "::ffff:10.1.2.3")
	f.Add("a, b", "GET,POST", "http://host/", "10.1.2.3, 127.0.0.1")
	f.Add("a", "G T", "/a, /b?c,/d", "010.1.2.3")
	f.Fuzz(func(t *testing.T, host, method, uri, client string) {
		ctx := context.WithValue(context.Background(), caddyhttp.VarsCtxKey, map[string]any{caddyhttp.TrustedProxyVarKey: true})
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://verify.internal/", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{
			forwardedHost: {host}, forwardedMethod: {method}, forwardedURI: {uri}, forwardedFor: {client}, "X-Other": {"kept"},
		}
		q, wrong := readQuestion(r)
		if (q == nil) == (wrong == nil) {
			t.Fatal("neither a question nor an objection, or both")
		}
		if wrong != nil {
			if wrong.reason.Status() != http.StatusBadRequest || len(r.Header) != 5 {
				t.Errorf("%v, %v", wrong, r.Header)
			}
			return
		}
		if len(q.header) != 1 || len(r.Header) != 5 {
			t.Errorf("headers %v of %v", q.header, r.Header)
		}
		if strings.ContainsAny(q.host+q.method+client, ",") || q.host == "" || !q.client.IsValid() {
			t.Errorf("%q %q %v of %q", q.host, q.method, q.client, client)
		}
		assertOnePath(t, q, uri)
	})
}

func assertOnePath(t *testing.T, q *question, uri string) {
	t.Helper()
	if uri[0] != '/' || strings.ContainsAny(uri, " \t\r\n\x00\x7f") {
		t.Errorf("%q is no path", uri)
	}
	if q.url == nil {
		return
	}
	if path, _, _ := strings.Cut(uri, "?"); q.url.EscapedPath() != path || q.url.Host != "" || strings.Contains(uri, ",/") {
		t.Errorf("%q is taken for %v", uri, q.url)
	}
}
