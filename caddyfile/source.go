package caddyfile

import (
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/authz-bridge/authz-bridge/authzbridge"
)

// parseSource returns the source module and its name.
func parseSource(d *caddyfile.Dispenser) (any, string, error) {
	if !d.NextArg() {
		return nil, "", d.Err("source: which? write `source kubernetes` or `source files <dir>`")
	}
	switch name := d.Val(); name {
	case "kubernetes":
		source, err := parseKubernetes(d)
		return source, name, err
	case "files":
		source := new(authzbridge.Files)
		return source, name, oneArg(d, "source files", "<dir>", &source.Dir)
	default:
		return nil, "", d.Errf("source: %q is unknown; write `source kubernetes` or `source files <dir>`", name)
	}
}

func parseKubernetes(d *caddyfile.Dispenser) (*authzbridge.Kubernetes, error) {
	if d.NextArg() {
		return nil, d.Errf("source kubernetes: unexpected argument %q; options go into a block", d.Val())
	}
	source := new(authzbridge.Kubernetes)
	for nesting := d.Nesting(); d.NextBlock(nesting); {
		if err := parseKubernetesOption(d, source); err != nil {
			return nil, err
		}
	}
	return source, nil
}

func parseKubernetesOption(d *caddyfile.Dispenser, source *authzbridge.Kubernetes) error {
	switch d.Val() {
	case "kubeconfig":
		return oneArg(d, "kubeconfig", "<path>", &source.Kubeconfig)
	case "context":
		return oneArg(d, "context", "<name>", &source.Context)
	case "label_selector":
		return oneArg(d, "label_selector", "<selector>", &source.LabelSelector)
	case "scope":
		if source.Scope != nil {
			return d.Err("scope: given twice; keep one")
		}
		scope, err := parseScope(d)
		source.Scope = scope
		return err
	}
	return d.Errf("source kubernetes: unknown option %q; known are kubeconfig, context, scope and label_selector", d.Val())
}

func parseScope(d *caddyfile.Dispenser) (*authzbridge.Scope, error) {
	args := d.RemainingArgs()
	if len(args) == 0 {
		return nil, d.Err("scope: which? write `scope cluster`, `scope namespaces <namespace...>` or `scope referenced`")
	}
	scope := &authzbridge.Scope{Kind: args[0], Namespaces: args[1:]}
	switch scope.Kind {
	case "cluster", "referenced":
		if len(args) > 1 {
			return nil, d.Errf("scope: %s takes no namespaces; write `scope namespaces <namespace...>` for some", scope.Kind)
		}
	case "namespaces":
		if len(args) == 1 {
			return nil, d.Err("scope: no namespaces; write `scope namespaces <namespace...>`")
		}
	default:
		return nil, d.Errf("scope: %q is unknown; write `scope cluster`, `scope namespaces <namespace...>` or `scope referenced`", scope.Kind)
	}
	return scope, nil
}
