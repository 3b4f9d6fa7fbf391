package authzbridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/caddyserver/caddy/v2"
	"go.uber.org/zap"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/mirror/kube"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

func init() {
	caddy.RegisterModule(new(Kubernetes))
}

// Kubernetes watches the Secrets of a cluster. It needs the verbs get, list and
// watch for Secrets, in the whole cluster or in the namespaces of its scope. For the
// scope `referenced` it needs list and watch alone, for the Registry and the Secrets
// that this refers to, by their names.
type Kubernetes struct {
	// The path of a kubeconfig file. Default: the service account of the Pod.
	// Placeholders are resolved once.
	Kubeconfig string `json:"kubeconfig,omitempty"`

	// The context of the kubeconfig to use. Default: its current context.
	// Placeholders are resolved once.
	Context string `json:"context,omitempty"`

	// Where Secrets are watched. Default: the whole cluster.
	Scope *Scope `json:"scope,omitempty"`

	// A label selector for the Secrets that Apps refer to, such as
	// `authz-bridge/app=true`. Others count as absent. The Registry needs no
	// label. Default: none.
	LabelSelector string `json:"label_selector,omitempty"`

	kubeconfig, context string
	content             []byte // of the kubeconfig
}

// Scope says where Secrets are watched.
type Scope struct {
	// `cluster`, `namespaces` or `referenced`: a watch for each Secret that an App
	// refers to, by its name, so that no other is ever read. That takes 60 to 90 KiB
	// a Secret here, and nearly as much of the API server: more than 200 are warned of,
	// and Apps whose Secrets are beyond 1,000 do not serve. Default: `cluster`.
	Kind string `json:"kind,omitempty"`

	// The namespaces, for the kind `namespaces` alone: at least one.
	Namespaces []string `json:"namespaces,omitempty"`
}

// CaddyModule returns the Caddy module information.
func (*Kubernetes) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "authz_bridge.sources.kubernetes",
		New: func() caddy.Module { return new(Kubernetes) },
	}
}

// Provision checks the options. It reads the kubeconfig, and needs no cluster.
func (k *Kubernetes) Provision(caddy.Context) error {
	var err error
	if k.kubeconfig, err = resolve("kubeconfig", k.Kubeconfig); err != nil {
		return err
	}
	if k.context, err = resolve("context", k.Context); err != nil {
		return err
	}
	if k.kubeconfig == "" && k.context != "" {
		return errors.New("context: only a kubeconfig has contexts; write `kubeconfig <path>` as well")
	}
	if _, err := k.scope(); err != nil {
		return err
	}
	return k.readKubeconfig()
}

func (k *Kubernetes) readKubeconfig() error {
	if k.kubeconfig == "" {
		return nil
	}
	if _, err := kube.LoadConfig(k.kubeconfig, k.context); err != nil {
		return err
	}
	content, err := os.ReadFile(k.kubeconfig)
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	k.content = content
	return nil
}

// Fingerprint implements Source: another content of the kubeconfig is another
// connection.
func (k *Kubernetes) Fingerprint() ([]byte, error) {
	return json.Marshal([]any{k.kubeconfig, k.context, k.content})
}

// Check implements Source: only the network could tell.
func (k *Kubernetes) Check() error { return nil }

// Origin implements Source.
func (k *Kubernetes) Origin() (Origin, error) {
	config, err := kube.LoadConfig(k.kubeconfig, k.context)
	if err != nil {
		return Origin{}, err
	}
	server, ca, err := kube.Origin(config)
	return Origin{Server: server, CA: ca}, err
}

// NewSource implements Source. Without a kubeconfig the process must run in a
// Pod.
func (k *Kubernetes) NewSource(registry snapshot.Key, logger *zap.Logger) (mirror.Source, error) {
	config, err := kube.LoadConfig(k.kubeconfig, k.context)
	if err != nil {
		return nil, err
	}
	scope, err := k.scope()
	if err != nil {
		return nil, err
	}
	return kube.New(kube.Options{Registry: registry, Config: config, Scope: scope, Logger: logger})
}

func (k *Kubernetes) scope() (kube.Scope, error) {
	scope := kube.Scope{LabelSelector: k.LabelSelector}
	if k.Scope != nil {
		scope.Kind = kube.ScopeKind(k.Scope.Kind)
		scope.Namespaces = k.Scope.Namespaces
	}
	return scope, scope.Validate()
}

// Interface guards.
var (
	_ Source            = (*Kubernetes)(nil)
	_ caddy.Provisioner = (*Kubernetes)(nil)
)
