package kube

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"

	"github.com/authz-bridge/authz-bridge/mirror/kube/kubetest"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

const registryName = "registry"

// bench is a real cluster with a namespace for the Registry and one for the
// Secrets, and a Source that watches them.
type bench struct {
	*recorder
	cluster *kubetest.Cluster
	team    string // the Registry's namespace
	shop    string // the Secrets'

	proxied *kubetest.Proxy // nil unless the test sets it
	pace    pace            // the default unless the test sets it
	source  *Source
	stop    func() // returns when Run has
}

// newBench does not start the Source.
func newBench(t *testing.T) *bench {
	t.Helper()
	return newBenchOn(t, kubetest.Shared(t))
}

func newBenchOn(t *testing.T, cluster *kubetest.Cluster) *bench {
	t.Helper()
	return &bench{
		recorder: newRecorder(),
		cluster:  cluster,
		team:     cluster.Namespace(t, "team"),
		shop:     cluster.Namespace(t, "shop"),
	}
}

func (b *bench) key(name string) snapshot.Key { return snapshot.Key{Namespace: b.shop, Name: name} }

func (b *bench) registryTitle() string { return "registry " + b.team + "/" + registryName }

func (b *bench) shopTitle() string { return "secrets in namespace " + b.shop }

func (b *bench) shopScope() Scope {
	return Scope{Kind: ScopeNamespaces, Namespaces: []string{b.shop}}
}

// start runs a Source until the test ends or stop is called.
func (b *bench) start(t *testing.T, config *rest.Config, scope Scope) {
	t.Helper()
	source, err := New(Options{
		Registry: snapshot.Key{Namespace: b.team, Name: registryName},
		Config:   config,
		Scope:    scope,
	})
	require.NoError(t, err)
	if b.pace != (pace{}) {
		source.pace = b.pace
	}
	b.source, b.stop = source, run(t, source, b.recorder)
}

func run(t *testing.T, source *Source, r *recorder) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { source.Run(ctx, r); close(done) }()
	stop = func() {
		cancel()
		select {
		case <-done:
		case <-time.After(patience):
			t.Error("Run does not return")
		}
	}
	t.Cleanup(stop)
	return stop
}

// reference does what a Mirror does once it knows the Registry.
func (b *bench) reference(t *testing.T, names ...string) {
	t.Helper()
	b.await(t, "the registry is known", func() bool { return b.registryCalls > 0 })
	b.source.Reference(b.references(names...))
}

func (b *bench) references(names ...string) map[snapshot.Key]snapshot.Reference {
	refs := make(map[snapshot.Key]snapshot.Reference)
	for _, name := range names {
		refs[b.key(name)] = snapshot.Reference{All: true}
	}
	return refs
}

// put writes a Secret with a token.
func (b *bench) put(t *testing.T, name, token string) {
	t.Helper()
	b.cluster.PutSecret(t, b.shop, name, map[string]string{"token": token})
}

func (b *bench) delete(t *testing.T, name string) {
	t.Helper()
	b.cluster.DeleteSecret(t, b.shop, name)
}

func allowSecrets(verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: verbs}
}

func allowRegistry() rbacv1.PolicyRule {
	rule := allowSecrets("list", "watch")
	rule.ResourceNames = []string{registryName}
	return rule
}
