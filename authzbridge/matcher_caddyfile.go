package authzbridge

import "github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

// UnmarshalCaddyfile sets up the matcher from Caddyfile tokens. Syntax:
//
//	authz_bridge known | ready | app <name...>
//
// or, for several conditions of which all must hold:
//
//	authz_bridge {
//	    known
//	    ready
//	    app <name...>
//	}
func (m *Matcher) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	for d.Next() { // once for each time that a matcher's block names it
		if d.NextArg() {
			if err := m.unmarshalCondition(d); err != nil {
				return err
			}
		}
		for nesting := d.Nesting(); d.NextBlock(nesting); {
			if err := m.unmarshalCondition(d); err != nil {
				return err
			}
		}
	}
	if !m.Known && !m.Ready && len(m.Apps) == 0 {
		return d.Err("authz_bridge: no condition; write known, ready, or app <name...>")
	}
	return nil
}

func (m *Matcher) unmarshalCondition(d *caddyfile.Dispenser) error {
	condition, names := d.Val(), d.RemainingArgs()
	switch condition {
	case "app":
		return m.unmarshalApps(d, names)
	case "known":
		m.Known = true
	case "ready":
		m.Ready = true
	default:
		return d.Errf("authz_bridge: unknown condition %q; known are known, ready and app", condition)
	}
	if len(names) > 0 {
		return d.Errf("%s: unexpected argument %q; it takes none, write each condition on a line of a block", condition, names[0])
	}
	return nil
}

func (m *Matcher) unmarshalApps(d *caddyfile.Dispenser, names []string) error {
	switch {
	case len(names) == 0:
		return d.Err("app: no name; write `app <name...>`")
	case len(m.Apps) > 0:
		return d.Err("app: given twice; keep one, with all names")
	}
	for _, name := range names {
		if err := checkAppName(name); err != nil {
			return d.WrapErr(err)
		}
	}
	m.Apps = names
	return nil
}

var _ caddyfile.Unmarshaler = (*Matcher)(nil)
