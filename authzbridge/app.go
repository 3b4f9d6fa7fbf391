package authzbridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"
	"go.uber.org/zap"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

func init() {
	caddy.RegisterModule(new(App))
}

// App keeps an immutable snapshot of a Registry, the Secret of a Kubernetes
// cluster that lists Apps, and of every Secret that the Apps refer to. The
// handler `authz_bridge` authorizes requests from that snapshot.
//
// A configuration reload that leaves this app's configuration as it is keeps
// the running watches, the snapshot and the counters. One that changes it starts
// from nothing.
//
// It emits the events `authz_bridge_published`, `authz_bridge_degraded`,
// `authz_bridge_recovered` and `authz_bridge_stale`.
type App struct {
	// The Secret that lists the Apps, as `namespace/name`. Required.
	// Placeholders are resolved once, when the configuration is loaded.
	Registry string `json:"registry,omitempty"`

	// Where the Registry and the Secrets come from. Default:
	// `{"type": "kubernetes"}`, the cluster that the process runs in.
	SourceRaw json.RawMessage `json:"source,omitempty" caddy:"namespace=authz_bridge.sources inline_key=type"`

	// Where what was read last is kept over a restart. Default: nowhere.
	Cache *Cache `json:"cache,omitempty"`

	// How long to wait for the source before the cache is served; `0s` serves it at
	// once. Default: `15s`.
	StartupTimeout *caddy.Duration `json:"startup_timeout,omitempty"`

	// How old what is served may become while the source cannot be reached, or what it
	// says cannot be used. From then on every request is answered 503. Default: `24h`,
	// at least `5m`.
	MaxAge caddy.Duration `json:"max_age,omitempty"`

	logger  *zap.Logger
	bridge  *bridge
	release func()
	stage   *stage
}

const (
	defaultStartupTimeout = 15 * time.Second
	defaultMaxAge         = 24 * time.Hour
	leastMaxAge           = 5 * time.Minute
)

// CaddyModule returns the Caddy module information.
func (*App) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "authz_bridge",
		New: func() caddy.Module { return new(App) },
	}
}

// Provision checks the configuration and takes the Mirror that an earlier, equal
// configuration left running, or makes one. It needs no network.
func (a *App) Provision(ctx caddy.Context) error {
	a.logger = ctx.Logger()
	registry, err := a.registry()
	if err != nil {
		return err
	}
	// Loading the module takes its JSON away.
	raw, err := canonical(a.SourceRaw)
	if err != nil {
		return fmt.Errorf("source: %w", err)
	}
	source, err := a.loadSource(ctx)
	if err != nil {
		return err
	}
	plan, err := a.plan(registry, source)
	if err != nil {
		return err
	}
	key, err := plan.poolKey(raw)
	if err != nil {
		return err
	}
	a.bridge, a.release, err = acquireBridge(key, plan, a.logger)
	if err != nil {
		return err
	}
	if a.stage, err = newStage(ctx, a.bridge); err != nil {
		return err
	}
	return a.bridge.metrics.register(ctx.GetMetricsRegistry())
}

// plan checks the options that are left.
func (a *App) plan(registry snapshot.Key, source Source) (plan, error) {
	p := plan{registry: registry, source: source, cache: a.Cache, startupTimeout: defaultStartupTimeout, maxAge: defaultMaxAge}
	if a.StartupTimeout != nil {
		p.startupTimeout = time.Duration(*a.StartupTimeout)
	}
	if a.MaxAge != 0 {
		p.maxAge = time.Duration(a.MaxAge)
	}
	switch {
	case p.startupTimeout < 0:
		return plan{}, fmt.Errorf("startup_timeout: %v is negative; use 0s to serve the cache at once", p.startupTimeout)
	case p.maxAge < leastMaxAge:
		return plan{}, fmt.Errorf("max_age: %v is too short; use %v at least, since what is served may be some minutes old in good health, after a connection was cut for example", p.maxAge, leastMaxAge)
	case a.Cache == nil:
		return p, source.Check()
	}
	return p, a.Cache.provision()
}

func (a *App) registry() (snapshot.Key, error) {
	text, err := resolve("registry", a.Registry)
	if err != nil {
		return snapshot.Key{}, err
	}
	return ParseRegistryName(text)
}

// ParseRegistryName reads the `namespace/name` of the Registry's Secret. Its
// error names the option and the fix.
func ParseRegistryName(text string) (snapshot.Key, error) {
	if text == "" {
		return snapshot.Key{}, errors.New("registry: missing; write `registry <namespace>/<name>`")
	}
	namespace, name, found := strings.Cut(text, "/")
	if !found {
		return snapshot.Key{}, fmt.Errorf("registry: %q has no namespace; write `registry <namespace>/%s`", text, text)
	}
	if !snapshot.ValidLabel(namespace) {
		return snapshot.Key{}, fmt.Errorf("registry: %q is no name of a namespace; write `registry <namespace>/<name>`", namespace)
	}
	if !snapshot.ValidSubdomain(name) {
		return snapshot.Key{}, fmt.Errorf("registry: %q is no name of a Secret; write `registry <namespace>/<name>`", name)
	}
	return snapshot.Key{Namespace: namespace, Name: name}, nil
}

func (a *App) loadSource(ctx caddy.Context) (Source, error) {
	if len(a.SourceRaw) == 0 {
		source := new(Kubernetes)
		if err := source.Provision(ctx); err != nil {
			return nil, err
		}
		return source, nil
	}
	loaded, err := ctx.LoadModule(a, "SourceRaw")
	if err != nil {
		return nil, fmt.Errorf("source: %w", err)
	}
	source, ok := loaded.(Source)
	if !ok {
		return nil, fmt.Errorf("source: module %T is no source of authz_bridge", loaded)
	}
	return source, nil
}

// Start runs the Mirror if it does not run yet. It does not wait for the first
// snapshot: requests do, see Handler.
func (a *App) Start() error {
	return a.bridge.start(a.logger)
}

// Stop ends the events of this configuration. The next one may go on with the
// Mirror; Cleanup gives it up.
func (a *App) Stop() error {
	a.bridge.announcer.drop(a.stage)
	return nil
}

// Cleanup stops the Mirror unless another configuration uses it.
func (a *App) Cleanup() error {
	if a.release != nil {
		a.bridge.announcer.drop(a.stage)
		a.bridge.drop(a.logger)
		a.release()
	}
	return nil
}

// resolve replaces the placeholders of an option, such as {env.NAMESPACE}.
func resolve(option, text string) (string, error) {
	resolved, err := caddy.NewReplacer().ReplaceOrErr(text, true, true)
	if err != nil {
		return "", fmt.Errorf("%s: %w", option, err)
	}
	return resolved, nil
}

// Interface guards.
var (
	_ caddy.App          = (*App)(nil)
	_ caddy.Provisioner  = (*App)(nil)
	_ caddy.CleanerUpper = (*App)(nil)
)
