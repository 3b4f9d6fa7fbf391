package caddyfile

import (
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"

	"github.com/authz-bridge/authz-bridge/authzbridge"
)

// parseVerify sets up the handler that answers other proxies from a directive.
// Syntax:
//
//	authz_bridge_verify {
//	    require_credentials
//	}
//
// There is no matcher: Caddy answers 200 to a request that it does not match, and the
// proxy that asks takes that for a yes.
func parseVerify(h httpcaddyfile.Helper) ([]httpcaddyfile.ConfigValue, error) {
	h.Next() // the directive's name
	if h.NextArg() {
		return nil, h.Errf("authz_bridge_verify: unexpected %q; it takes no matcher, for Caddy answers 200 to what does not match: "+
			"write it alone in a site of its own, as in `http://:9091 { authz_bridge_verify }`", h.Val())
	}
	handler := new(authzbridge.Verify)
	for nesting := h.Nesting(); h.NextBlock(nesting); {
		if h.Val() != "require_credentials" {
			return nil, h.Errf("authz_bridge_verify: unknown option %q; known is require_credentials", h.Val())
		}
		if h.NextArg() {
			return nil, h.Errf("require_credentials: unexpected argument %q; it takes none, write it alone", h.Val())
		}
		handler.RequireCredentials = true
	}
	return h.NewRoute(nil, handler), nil
}
