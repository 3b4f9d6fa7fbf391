package kube

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/client-go/rest"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

// reader returns a user of the test's own, who may read the Registry.
func (b *bench) reader(t *testing.T) (name string, config *rest.Config) {
	t.Helper()
	name = "reader-" + b.shop
	b.cluster.Grant(t, name, b.team, allowRegistry())
	return name, b.cluster.User(name)
}

func TestRegistryThatMayNotBeWatchedRecoversOnceGranted(t *testing.T) {
	b := newBench(t)
	b.cluster.PutSecret(t, b.team, registryName, map[string]string{"registry.yaml": "one"})
	name := "stranger-" + b.shop
	b.start(t, b.cluster.User(name), Scope{})
	b.awaitFailure(t, b.registryTitle(), 4)
	assert.Zero(t, b.look(func() int { return b.registryCalls }), "not knowing is not absence")

	b.cluster.Grant(t, name, b.team, allowRegistry())
	granted := time.Now()
	b.await(t, "the registry is read", func() bool { return b.registry != nil })
	assert.Less(t, time.Since(granted), 2*lastPause+2*time.Second)
	b.await(t, "it recovers", func() bool { return b.recoveries[b.registryTitle()] == 1 })
	b.stop()
	for _, f := range b.failures[b.registryTitle()] {
		assert.Equal(t, mirror.Failure{
			Kind: mirror.FailureForbidden,
			Detail: "may not watch secret " + b.team + "/registry; bind a Role in namespace " + b.team +
				" that allows list and watch on secrets with resourceNames registry",
		}, f)
	}
}

func TestNamespaceThatMayNotBeWatched(t *testing.T) {
	b := newBench(t)
	b.put(t, "clients", "one")
	name, config := b.reader(t)
	b.start(t, config, b.shopScope())
	b.reference(t, "clients")

	b.awaitStatus(t, b.key("clients"), snapshot.SecretForbidden)
	denied := "may not watch secrets in namespace " + b.shop +
		"; bind a Role in that namespace that allows get, list and watch on secrets"
	assert.Equal(t, denied, b.state(b.key("clients")).Detail)
	assert.Equal(t, mirror.Failure{Kind: mirror.FailureForbidden, Detail: denied}, b.awaitFailure(t, b.shopTitle(), 1))
	b.reference(t, "clients", "later")
	b.awaitStatus(t, b.key("later"), snapshot.SecretForbidden)

	b.cluster.Grant(t, name, b.shop, allowSecrets("get", "list", "watch"))
	b.awaitValue(t, b.key("clients"), "one")
	b.awaitStatus(t, b.key("later"), snapshot.SecretAbsent)
	b.await(t, "it recovers", func() bool { return b.recoveries[b.shopTitle()] == 1 })
	b.stop()
	assert.Empty(t, b.failures[b.registryTitle()], "the other watch is not touched")
	assert.Empty(t, b.resyncs)
}

func TestClusterThatMayNotBeWatchedNamesTheClusterRole(t *testing.T) {
	b := newBench(t)
	_, config := b.reader(t)
	b.start(t, config, Scope{})
	b.reference(t, "clients")
	f := b.awaitFailure(t, "secrets in all namespaces", 0)
	assert.Equal(t, "may not watch secrets in all namespaces; bind a ClusterRole that allows get, list and watch on secrets, or use scope namespaces", f.Detail)
}

func TestRow9OneNamespaceDeniedLeavesTheOthersAlone(t *testing.T) {
	b := newBench(t)
	name, config := b.reader(t)
	b.cluster.Grant(t, name, b.shop, allowSecrets("get", "list", "watch"))
	b.put(t, "clients", "one")
	scope := Scope{Kind: ScopeNamespaces, Namespaces: []string{b.team, b.shop}}
	b.start(t, config, scope)
	b.await(t, "the registry is known", func() bool { return b.registryCalls > 0 })
	denied := snapshot.Key{Namespace: b.team, Name: "clients"}
	b.source.Reference(map[snapshot.Key]snapshot.Reference{denied: {All: true}, b.key("clients"): {All: true}})

	b.awaitStatus(t, denied, snapshot.SecretForbidden)
	b.awaitValue(t, b.key("clients"), "one")
}

func TestRightsTakenAwayKeepTheLastGood(t *testing.T) {
	b := newBench(t)
	name, config := b.reader(t)
	revoke := b.cluster.Grant(t, name, b.shop, allowSecrets("get", "list", "watch"))
	proxy := b.proxy(t)
	b.put(t, "clients", "one")
	b.start(t, via(config, proxy), b.shopScope())
	b.reference(t, "clients")
	b.awaitValue(t, b.key("clients"), "one")

	revoke()
	proxy.Cut() // a watch that runs is not asked again
	proxy.Pass()
	b.await(t, "the watch is forbidden", func() bool {
		failures := b.failures[b.shopTitle()]
		return len(failures) > 0 && failures[len(failures)-1].Kind == mirror.FailureForbidden
	})
	assert.Equal(t, "one", b.held(b.key("clients")))
	assert.Equal(t, snapshot.SecretPresent, b.state(b.key("clients")).Status)
}

func TestCredentialThatIsNotAcceptedIsNamed(t *testing.T) {
	b := newBench(t)
	config := b.cluster.TokenUser("wr0ng-t0ken")
	b.start(t, config, Scope{})
	f := b.awaitFailure(t, b.registryTitle(), 1)
	assert.Equal(t, mirror.Failure{Kind: mirror.FailureUnauthorized, Detail: unauthorizedDetail}, f)
}
