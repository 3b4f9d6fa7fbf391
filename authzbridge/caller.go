package authzbridge

import (
	"net/http"
	"net/netip"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

// caller is a request as the Decider sees who sends it.
type caller http.Request

// Addr implements snapshot.Caller with Caddy's client IP, which honours the
// server's trusted_proxies. Behind a trusted proxy Caddy takes the left-most
// address of X-Forwarded-For unless trusted_proxies_strict is set. That is the
// client's own word, so nobody vouches for it.
func (c *caller) Addr() (netip.Addr, bool) {
	r := (*http.Request)(c)
	if takesTheClientsWord(r) {
		return netip.Addr{}, false
	}
	text, _ := caddyhttp.GetVar(r.Context(), caddyhttp.ClientIPVarKey).(string)
	addr, err := netip.ParseAddr(text)
	return addr, err == nil
}

// Gone implements snapshot.Caller.
func (c *caller) Gone() <-chan struct{} { return (*http.Request)(c).Context().Done() }

// takesTheClientsWord reports whether the client IP is what the client says. A
// trusted proxy that names no client counts for itself.
func takesTheClientsWord(r *http.Request) bool {
	trusted, _ := caddyhttp.GetVar(r.Context(), caddyhttp.TrustedProxyVarKey).(bool)
	server, ok := r.Context().Value(caddyhttp.ServerCtxKey).(*caddyhttp.Server)
	if !trusted || !ok || server.TrustedProxiesStrict > 0 {
		return false
	}
	for _, header := range server.ClientIPHeaders {
		if len(r.Header.Values(header)) > 0 {
			return true
		}
	}
	return false
}

var _ snapshot.Caller = (*caller)(nil)
