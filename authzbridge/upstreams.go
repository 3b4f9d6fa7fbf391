package authzbridge

import (
	"net/http"
	"sync"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/reverseproxy"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

func init() {
	caddy.RegisterModule(new(Upstreams))
}

// Upstreams gives `reverse_proxy` the `upstreams` that the Registry lists for the App
// of a request, from the snapshot that the handler `authz_bridge` has let it through
// by. They are host:port; the scheme is the transport's.
//
// There are none for a request that the handler did not let through, that it has let
// through for the host of no App (`unknown pass`), or that has gone to an error route
// since, and for an App without `upstreams` or with wrong ones: `reverse_proxy` answers
// 503 then, and uses no static upstream either. Only `dynamic multi` adds those of its
// other sources, whatever the handler has said. A Host that was changed after the handler
// changes nothing.
type Upstreams struct {
	logger    *zap.Logger
	undecided *sync.Once // for the log
}

// CaddyModule returns the Caddy module information.
func (*Upstreams) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.reverse_proxy.upstreams.authz_bridge",
		New: func() caddy.Module { return new(Upstreams) },
	}
}

// Provision asks for the app: without it nothing would ever be let through.
func (u *Upstreams) Provision(ctx caddy.Context) error {
	u.logger, u.undecided = ctx.Logger(), new(sync.Once)
	_, err := configuredBridge(ctx)
	return err
}

// UnmarshalCaddyfile sets up the module from Caddyfile tokens. Syntax:
//
//	dynamic authz_bridge
func (*Upstreams) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // the module's name
	if d.NextArg() || d.NextBlock(d.Nesting()) {
		return d.Errf("dynamic authz_bridge: unexpected %q; it takes no options", d.Val())
	}
	return nil
}

// GetUpstreams implements reverseproxy.UpstreamSource. It never returns an error, since
// reverse_proxy would go on with its static upstreams.
func (u *Upstreams) GetUpstreams(r *http.Request) ([]*reverseproxy.Upstream, error) {
	v, _ := caddyhttp.GetVar(r.Context(), verdictKey).(*verdict)
	addresses := v.addresses()
	if len(addresses) == 0 {
		u.explain(v)
	}
	all := make([]*reverseproxy.Upstream, len(addresses))
	for i, address := range addresses {
		all[i] = &reverseproxy.Upstream{Dial: address} // reverse_proxy writes into it
	}
	return all, nil
}

// addresses are where a request may go now. A verdict is nil where nobody asked.
func (v *verdict) addresses() []string {
	if v == nil || v.granted == nil {
		return nil
	}
	return v.granted.Addresses
}

// explain tells the operator why there are none: of a handler that was forgotten once.
func (u *Upstreams) explain(v *verdict) {
	if v == nil || !v.shown {
		u.undecided.Do(func() {
			u.logger.Warn("a request that no authz_bridge handler has decided has no upstreams; " +
				"write the directive authz_bridge in its site, before reverse_proxy")
		})
		return
	}
	if c := u.logger.Check(zapcore.DebugLevel, "no upstreams"); c != nil {
		c.Write(zap.Object("decision", v))
	}
}

// Interface guards.
var (
	_ caddy.Provisioner           = (*Upstreams)(nil)
	_ caddyfile.Unmarshaler       = (*Upstreams)(nil)
	_ reverseproxy.UpstreamSource = (*Upstreams)(nil)
)
