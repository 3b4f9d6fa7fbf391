package authzbridge_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestNobodyButATrustedProxyMayAsk(t *testing.T) {
	for name, trusted := range map[string]string{
		"nobody is trusted":       "",
		"others are":              trusting("192.0.2.0/24"),
		"others are, strictly so": trusting("192.0.2.0/24") + "\ntrusted_proxies_strict",
	} {
		t.Run(name, func(t *testing.T) {
			a := newOracle(t).opens(trusted, "")
			eventually(t, func() bool { return a.bridge().Ready }, "never ready")
			for _, lines := range [][]string{
				nil,
				{"Host: open.example.com"},
				{"X-Forwarded-For: 192.0.2.1"},
				{"X-Forwarded-For: 192.0.2.1, 127.0.0.1"},
				{"X-Forwarded-Host", "X-Forwarded-Method", "X-Forwarded-Uri", "X-Forwarded-For", "Host: open.example.com"},
				{"X-API-Key: the-key", "X-Forwarded-Host: shop.example.com"},
			} {
				got := a.about("open.example.com", lines...)
				assert.Equal(t, http.StatusForbidden, got.status, lines)
				assert.Empty(t, got.header.Get("X-Auth-Client"))
			}
			assert.Equal(t, 1, strings.Count(a.logged(), "add its address to trusted_proxies"), "the log names the fix, once")
			assert.Equal(t, int64(6), a.metric(`authz_bridge_decisions_total{app="",reason="address_denied"}`))
			assert.Zero(t, a.metric(`authz_bridge_decisions_total{app="open",reason="allowed"}`))
		})
	}
}

func TestASpoofedForwardedHostIsIgnoredInEveryMode(t *testing.T) {
	a := newOracle(t)
	a.opens("", "")
	a.site = a.handler
	a.becomes("open.example.com", http.StatusOK)
	spoofed := func(host string) []string {
		return []string{
			"GET / HTTP/1.1", "Host: " + host, "X-Forwarded-Host: open.example.com", "X-Forwarded-Method: GET", "X-Forwarded-Uri: /healthz",
			"X-Forwarded-For: 10.1.2.3", "Forwarded: host=open.example.com", "X-Original-Host: open.example.com", "X-Host: open.example.com",
		}
	}
	for host, want := range map[string]int{"shop.example.com": 401, "unknown.example.com": 403, "ten.example.com": 403, "absent.example.com": 503} {
		assert.Equal(t, want, a.overWire(spoofed(host)...).status, "the handler, for %s", host)
	}
	a.site = a.verify
	for _, host := range []string{"shop.example.com", "open.example.com", "unknown.example.com"} {
		assert.Equal(t, http.StatusForbidden, a.overWire(spoofed(host)...).status, "what answers other proxies, for %s", host)
	}
}

// The handler asks for the App of the Host, also where the proxy before it is trusted:
// the app behind sees that Host.
func TestTheHandlerNeverTakesTheForwardedHost(t *testing.T) {
	a := newOracle(t)
	a.opens(trusting(everyone)+"\ntrusted_proxies_strict", "authz_bridge\nrespond {http.authz_bridge.app}")
	a.becomes("open.example.com", http.StatusOK)
	assert.Equal(t, http.StatusUnauthorized, a.send("shop.example.com", http.Header{"X-Forwarded-Host": {"open.example.com"}}).status)
	assert.Equal(t, "open", a.send("open.example.com", http.Header{"X-Forwarded-Host": {"shop.example.com"}}).app)
}
