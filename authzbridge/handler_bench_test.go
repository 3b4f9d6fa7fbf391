package authzbridge_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/stretchr/testify/require"
)

// nowhere is a response that nobody reads.
type nowhere struct{ header http.Header }

func (n *nowhere) Header() http.Header         { return n.header }
func (n *nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (n *nowhere) WriteHeader(int)             {}

// BenchmarkSite serves requests by a site of a running Caddy, without a network.
func BenchmarkSite(b *testing.B) {
	for _, site := range []struct{ name, content string }{
		{"bare", ""},
		{"handler", "authz_bridge"},
		{"matcher-handler", "@known authz_bridge known\nauthz_bridge @known"},
	} {
		b.Run(site.name, func(b *testing.B) {
			server := serverOf(b, site.content)
			r, err := http.NewRequest(http.MethodGet, "http://shop.example.com/", nil)
			require.NoError(b, err)
			r.RemoteAddr = "192.0.2.1:80"
			w := &nowhere{make(http.Header)}
			b.ReportAllocs()
			for b.Loop() {
				clear(w.header)
				server.ServeHTTP(w, r)
			}
		})
	}
}

// serverOf starts a Caddy with one App that is open, and returns the server of a site.
func serverOf(tb testing.TB, content string) *caddyhttp.Server {
	tb.Helper()
	k := &desk{&vault{tb: tb}, tb.TempDir()}
	k.secret("shop", "token", "placeholder")
	k.secret("registry", "registry.yaml", document(app("shop", "shop.example.com")))
	d := newAnnex(tb, filesOption(k.manifests), content+"\nrespond shop")
	d.sites = strings.Replace(d.sites, "log\n", "", 1)
	d.load()
	eventually(tb, func() bool { return d.bridge().Apps.Serving == 1 }, "never synced")
	loaded, err := caddy.ActiveContext().App("http")
	require.NoError(tb, err)
	for _, server := range loaded.(*caddyhttp.App).Servers {
		if slices.Contains(server.Listen, d.aside) {
			return server
		}
	}
	require.FailNow(tb, "no such server")
	return nil
}
