package caddyfile

import (
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"

	"github.com/authz-bridge/authz-bridge/authzbridge"
)

func init() {
	httpcaddyfile.RegisterGlobalOption("authz_bridge", parseOption)
}

// parseOption sets up the app from a global option. Syntax:
//
//	authz_bridge {
//	    registry <namespace>/<name>
//	    source kubernetes {
//	        kubeconfig     <path>
//	        context        <name>
//	        scope          cluster | namespaces <namespace...> | referenced
//	        label_selector <selector>
//	    }
//	    source files <dir>
//	    cache <dir> {
//	        key              {env.<NAME>}
//	        key_file         <path>
//	        persist_interval <duration>
//	    }
//	    startup_timeout <duration>
//	    max_age         <duration>
//	}
//
// There is one source at most; the default is `source kubernetes`, in the cluster
// that the process runs in.
func parseOption(d *caddyfile.Dispenser, existing any) (any, error) {
	d.Next() // the option's name
	if existing != nil {
		return nil, d.Err("authz_bridge is configured already; write one global block")
	}
	if d.NextArg() {
		return nil, d.Errf("unexpected argument %q; write `authz_bridge { registry <namespace>/<name> }`", d.Val())
	}
	app := new(authzbridge.App)
	for nesting := d.Nesting(); d.NextBlock(nesting); {
		if err := parseAppOption(d, app); err != nil {
			return nil, err
		}
	}
	if app.Registry == "" {
		return nil, d.Err("registry: missing; write `registry <namespace>/<name>`")
	}
	return httpcaddyfile.App{Name: "authz_bridge", Value: caddyconfig.JSON(app, nil)}, nil
}

func parseAppOption(d *caddyfile.Dispenser, app *authzbridge.App) error {
	switch d.Val() {
	case "registry":
		return parseRegistry(d, app)
	case "source":
		if app.SourceRaw != nil {
			return d.Err("source: given twice; keep one")
		}
		source, name, err := parseSource(d)
		if err != nil {
			return err
		}
		app.SourceRaw = caddyconfig.JSONModuleObject(source, "type", name, nil)
		return nil
	case "cache":
		return parseCache(d, app)
	case "startup_timeout":
		return parseStartupTimeout(d, app)
	case "max_age":
		return positive(d, "max_age", &app.MaxAge)
	}
	return d.Errf("unknown option %q; known are registry, source, cache, startup_timeout and max_age", d.Val())
}

func parseRegistry(d *caddyfile.Dispenser, app *authzbridge.App) error {
	if app.Registry != "" {
		return d.Err("registry: given twice; keep one")
	}
	if err := oneArg(d, "registry", "<namespace>/<name>", &app.Registry); err != nil {
		return err
	}
	if hasPlaceholder(app.Registry) {
		return nil // known when it is resolved
	}
	if _, err := authzbridge.ParseRegistryName(app.Registry); err != nil {
		return d.WrapErr(err)
	}
	return nil
}
