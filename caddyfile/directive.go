package caddyfile

import (
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/authz-bridge/authz-bridge/authzbridge"
)

func init() {
	httpcaddyfile.RegisterHandlerDirective("authz_bridge", parseHandler)
	httpcaddyfile.RegisterDirectiveOrder("authz_bridge", httpcaddyfile.After, "forward_auth")
	httpcaddyfile.RegisterHandlerDirective("authz_bridge_ready", parseReady)
	// A probe knows no hostname and has no credential, and takes a redirect for a
	// yes: what asks for one or answers with one may not come before.
	httpcaddyfile.RegisterDirectiveOrder("authz_bridge_ready", httpcaddyfile.Before, "redir")
	httpcaddyfile.RegisterDirective("authz_bridge_verify", parseVerify)
	// Another proxy takes 200 for a yes, whoever says so: only a probe, whose directive
	// is registered first, is answered before.
	httpcaddyfile.RegisterDirectiveOrder("authz_bridge_verify", httpcaddyfile.Before, "redir")
}

// parseHandler sets up the handler from a directive. Syntax:
//
//	authz_bridge [<matcher>] {
//	    unknown deny | pass | <status>
//	    require_credentials
//	}
func parseHandler(h httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
	h.Next() // the directive's name
	if h.NextArg() {
		return nil, h.Errf("authz_bridge: unexpected argument %q; options go into a block", h.Val())
	}
	handler := new(authzbridge.Handler)
	for nesting := h.Nesting(); h.NextBlock(nesting); {
		switch h.Val() {
		case "unknown":
			if err := oneArg(h.Dispenser, "unknown", "deny | pass | <status>", &handler.Unknown); err != nil {
				return nil, err
			}
			if _, _, err := authzbridge.ParseUnknown(handler.Unknown); err != nil {
				return nil, h.WrapErr(err)
			}
		case "require_credentials":
			if h.NextArg() {
				return nil, h.Errf("require_credentials: unexpected argument %q; it takes none, write it alone", h.Val())
			}
			handler.RequireCredentials = true
		default:
			return nil, h.Errf("authz_bridge: unknown option %q; known are unknown and require_credentials", h.Val())
		}
	}
	return handler, nil
}

// parseReady sets up the readiness handler from a directive. Syntax:
//
//	authz_bridge_ready [<matcher>]
func parseReady(h httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
	h.Next() // the directive's name
	if h.NextArg() || h.NextBlock(h.Nesting()) {
		return nil, h.Errf("authz_bridge_ready: unexpected %q; it takes no options", h.Val())
	}
	return new(authzbridge.Ready), nil
}
