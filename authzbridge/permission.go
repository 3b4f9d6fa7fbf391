package authzbridge

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddytls"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

func init() {
	caddy.RegisterModule(new(Permission))
}

// Permission lets on-demand TLS obtain, load and renew certificates for the hostnames
// that the Registry lists, and for no other: never for one that two Apps claim, nor for
// one of an App whose entry is wrong or that has expired. A certificate that is in
// memory serves until it is due for renewal.
//
// A denial wraps caddytls.ErrPermissionDenied, which Caddy logs at debug. While there is
// no snapshot (a handshake waits for the first, for 2 s at most), or it is stale, nobody
// can tell: that is another error, which Caddy logs as one.
type Permission struct {
	// Allow certificates for the names that a hostname with a wildcard stands for.
	// Whoever knows such a hostname can have any number of them issued, and exhaust the
	// rate limits of a public CA. Default: false.
	Wildcards bool `json:"wildcards,omitempty"`

	// Allow certificates only while this replica has the App's Secret, usable. Default:
	// false, since a client that is told 503 is better off than one that is told nothing.
	RequireReady bool `json:"require_ready,omitempty"`

	bridge *bridge
}

// CaddyModule returns the Caddy module information.
func (*Permission) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "tls.permission.authz_bridge",
		New: func() caddy.Module { return new(Permission) },
	}
}

// Provision finds the app.
func (p *Permission) Provision(ctx caddy.Context) error {
	var err error
	p.bridge, err = configuredBridge(ctx)
	return err
}

// UnmarshalCaddyfile sets up the module from Caddyfile tokens. Syntax:
//
//	permission authz_bridge {
//	    wildcards
//	    require_ready
//	}
func (p *Permission) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // the module's name
	if d.NextArg() {
		return d.Errf("permission authz_bridge: unexpected argument %q; options go into a block", d.Val())
	}
	for nesting := d.Nesting(); d.NextBlock(nesting); {
		option := d.Val()
		switch option {
		case "wildcards":
			p.Wildcards = true
		case "require_ready":
			p.RequireReady = true
		default:
			return d.Errf("permission authz_bridge: unknown option %q; known are wildcards and require_ready", option)
		}
		if d.NextArg() {
			return d.Errf("%s: unexpected argument %q; it takes none, write it alone", option, d.Val())
		}
	}
	return nil
}

// CertificateAllowed implements caddytls.OnDemandPermission.
func (p *Permission) CertificateAllowed(ctx context.Context, name string) error {
	s := p.bridge.mirror.Current()
	if s == nil {
		s = p.bridge.await(ctx)
	}
	found := p.bridge.look(s, name)
	reason := p.bridge.decider.ReasonNow(found.Standing)
	if reason == snapshot.ReasonUnsynced || reason == snapshot.ReasonStale {
		return fmt.Errorf("nobody can tell whether %q may have a certificate: %s", name, reason)
	}
	if !found.populated {
		// It looks just like one whose writer was cut short, and a refusal would cost
		// hostnames the certificates that they have.
		return fmt.Errorf("nobody can tell whether %q may have a certificate: the Registry has no Apps", name)
	}
	if err := p.check(name, found.App, reason); err != nil {
		return fmt.Errorf("%w: %q: %w", caddytls.ErrPermissionDenied, name, err)
	}
	if p.RequireReady && reason == snapshot.ReasonPending {
		return fmt.Errorf("nobody can tell whether %q may have a certificate: app %s: %s", name, found.App.Name, reason)
	}
	return nil
}

// check tells why a name may not have a certificate.
func (p *Permission) check(name string, app *snapshot.App, reason snapshot.Reason) error {
	// A certificate is for the name as it is: spellings of one hostname have no end.
	if normal, err := snapshot.NormalizeHostname(name); err != nil || normal != name {
		return errors.New("is no hostname in its normal form")
	}
	if app == nil {
		return errors.New(reason.String())
	}
	if reason == snapshot.ReasonAppInvalid || reason == snapshot.ReasonAppExpired {
		return fmt.Errorf("app %s: %s", app.Name, reason)
	}
	if !p.Wildcards && !slices.Contains(app.Hostnames, name) {
		return fmt.Errorf("app %s: has only a wildcard for it; list the name, or permit wildcards", app.Name)
	}
	if p.RequireReady && reason != snapshot.ReasonAllowed && reason != snapshot.ReasonPending {
		return fmt.Errorf("app %s: %s", app.Name, reason)
	}
	return nil
}

// Interface guards.
var (
	_ caddy.Provisioner           = (*Permission)(nil)
	_ caddyfile.Unmarshaler       = (*Permission)(nil)
	_ caddytls.OnDemandPermission = (*Permission)(nil)
)
