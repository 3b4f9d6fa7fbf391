package kube

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/mirror/kube/kubetest"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

func (b *bench) proxy(t *testing.T) *kubetest.Proxy {
	t.Helper()
	proxy, err := kubetest.NewProxy(b.cluster.Address())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, proxy.Close()) })
	return proxy
}

func via(config *rest.Config, proxy *kubetest.Proxy) *rest.Config {
	config.Host = "https://" + proxy.Address()
	return config
}

// titles are those of both watches.
func (b *bench) titles() []string { return []string{b.registryTitle(), b.shopTitle()} }

func (b *bench) awaitOutage(t *testing.T) {
	t.Helper()
	for _, title := range b.titles() {
		assert.Equal(t, mirror.FailureContact, b.awaitFailure(t, title, 1).Kind, title)
	}
}

func (b *bench) awaitRecovery(t *testing.T) {
	t.Helper()
	for _, title := range b.titles() {
		b.await(t, title+" recovers", func() bool { return b.recoveries[title] >= 1 })
	}
}

func TestAPIServerThatIsNotThereAtTheStart(t *testing.T) {
	b := newBench(t)
	proxy := b.proxy(t)
	proxy.Cut()
	b.put(t, "clients", "one")
	b.start(t, via(b.cluster.Admin(), proxy), b.shopScope())
	b.awaitFailure(t, b.registryTitle(), 2)
	assert.Zero(t, b.look(func() int { return b.registryCalls }))

	proxy.Pass()
	b.reference(t, "clients")
	b.awaitValue(t, b.key("clients"), "one")
	b.await(t, "it recovers", func() bool { return b.recoveries[b.registryTitle()] == 1 })
	b.stop()
	assert.Empty(t, b.resyncs)
}

func TestAPIServerKilledAndStartedAgain(t *testing.T) {
	b := newBench(t)
	b.put(t, "clients", "one")
	b.put(t, "doomed", "one")
	b.start(t, b.cluster.Admin(), b.shopScope())
	b.reference(t, "clients", "doomed", "missing")
	b.awaitValue(t, b.key("clients"), "one")

	require.NoError(t, b.cluster.KillAPIServer())
	b.awaitOutage(t)
	for _, title := range b.titles() {
		assert.Contains(t, b.awaitFailure(t, title, 0).Detail, "connection refused")
	}
	assert.Equal(t, "one", b.held(b.key("clients")), "the last good stays")
	b.reference(t, "clients", "doomed", "missing", "later")
	b.awaitFailure(t, fetchTitle, 0)

	require.NoError(t, b.cluster.StartAPIServer())
	b.put(t, "clients", "two")
	b.delete(t, "doomed")
	b.put(t, "missing", "here")
	b.put(t, "later", "here")
	b.awaitValue(t, b.key("clients"), "two")
	b.awaitStatus(t, b.key("doomed"), snapshot.SecretAbsent)
	b.awaitValue(t, b.key("missing"), "here")
	b.awaitValue(t, b.key("later"), "here")
	b.awaitRecovery(t)
	b.await(t, "the reads recover", func() bool { return b.recoveries[fetchTitle] >= 1 })
}

func TestRow12RecreatedWhileTheConnectionWasCut(t *testing.T) {
	b := newBench(t)
	proxy := b.proxy(t)
	b.put(t, "clients", "one")
	b.put(t, "doomed", "one")
	b.put(t, "reborn", "one")
	b.start(t, via(b.cluster.Admin(), proxy), b.shopScope())
	b.reference(t, "clients", "doomed", "reborn")
	b.awaitValue(t, b.key("clients"), "one")
	before := b.state(b.key("reborn")).Secret

	proxy.Cut()
	b.awaitOutage(t)
	b.put(t, "clients", "two")
	b.delete(t, "doomed")
	b.delete(t, "reborn")
	b.put(t, "reborn", "one")
	proxy.Pass()

	b.awaitValue(t, b.key("clients"), "two")
	b.awaitStatus(t, b.key("doomed"), snapshot.SecretAbsent)
	b.await(t, "the recreated one is another", func() bool {
		s := b.states[b.key("reborn")].Secret
		return s != nil && s.UID() != before.UID()
	})
	b.awaitRecovery(t)
}

// A new API server knows nothing of the past, so the version that the watch held
// has expired.
func TestRow11WhatVanishedWhileTheVersionExpiredIsDroppedByTheRelist(t *testing.T) {
	b := newBench(t)
	proxy := b.proxy(t)
	b.put(t, "clients", "one")
	b.put(t, "doomed", "one")
	b.start(t, via(b.cluster.Admin(), proxy), b.shopScope())
	b.reference(t, "clients", "doomed")
	b.awaitStatus(t, b.key("doomed"), snapshot.SecretPresent)

	proxy.Cut()
	b.awaitOutage(t)
	b.delete(t, "doomed")
	b.put(t, "clients", "two")
	require.NoError(t, b.cluster.KillAPIServer())
	require.NoError(t, b.cluster.StartAPIServer())
	proxy.Pass()

	b.awaitStatus(t, b.key("doomed"), snapshot.SecretAbsent)
	b.awaitValue(t, b.key("clients"), "two")
	b.awaitRecovery(t)
	b.await(t, "the relist is counted", func() bool { return b.resyncs[b.shopTitle()] >= 1 })
}

func TestWatchThatIsToldToWaitDoesAndReportsEachAttempt(t *testing.T) {
	t.Parallel() // it waits, and leaves the cluster alone
	b := newBench(t)
	faults := &refusing{answers: []func(http.ResponseWriter){busy, busy}}
	config := faults.serve(t, b.cluster.Admin(), "/api/v1/namespaces/"+b.team+"/secrets")
	b.start(t, config, b.shopScope())
	b.await(t, "the registry is known", func() bool { return b.registryCalls > 0 })
	b.await(t, "it recovers", func() bool { return b.recoveries[b.registryTitle()] == 1 })
	b.stop()

	require.Len(t, faults.asked, 3)
	for i := range 2 {
		assert.GreaterOrEqual(t, faults.asked[i+1].Sub(faults.asked[i]), 2*time.Second)
	}
	busy := mirror.Failure{Kind: mirror.FailureContact, Detail: "the server answered 429 TooManyRequests"}
	assert.Equal(t, []mirror.Failure{busy, busy}, b.failures[b.registryTitle()])
}

func TestConnectionFrozenAndThawed(t *testing.T) {
	// client-go asks a silent connection after 30 s and waits for 15 s more.
	t.Setenv("HTTP2_READ_IDLE_TIMEOUT_SECONDS", "2")
	t.Setenv("HTTP2_PING_TIMEOUT_SECONDS", "1")
	b := newBench(t)
	name, config := b.reader(t) // whose connection is made with these times
	b.cluster.Grant(t, name, b.shop, allowSecrets("get", "list", "watch"))
	proxy := b.proxy(t)
	b.put(t, "clients", "one")
	b.put(t, "doomed", "one")
	b.start(t, via(config, proxy), b.shopScope())
	b.reference(t, "clients", "doomed")
	b.awaitValue(t, b.key("clients"), "one")

	proxy.Freeze()
	for _, title := range b.titles() {
		assert.Equal(t, mirror.FailureContact, b.awaitFailure(t, title, 0).Kind)
	}
	b.put(t, "clients", "two")
	b.delete(t, "doomed")
	assert.Equal(t, "one", b.held(b.key("clients")))
	proxy.Pass()

	b.awaitValue(t, b.key("clients"), "two")
	b.awaitStatus(t, b.key("doomed"), snapshot.SecretAbsent)
	b.awaitRecovery(t)
}

func TestClusterRestoredToAnOlderState(t *testing.T) {
	t.Parallel() // on a cluster of its own
	cluster, err := kubetest.Start(kubetest.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cluster.Stop()) })
	b := newBenchOn(t, cluster)
	_, least := b.least(t, "clients", "young", "revoked", "later")
	b.put(t, "clients", "old")
	b.put(t, "revoked", "one")
	saved := t.TempDir() + "/etcd"
	require.NoError(t, cluster.SnapshotEtcd(saved))
	for i := range 50 {
		b.put(t, "clients", fmt.Sprint("new-", i))
	}
	b.put(t, "young", "one")
	b.start(t, cluster.Admin(), b.shopScope())
	b.reference(t, "clients", "young")
	b.awaitValue(t, b.key("young"), "one")
	named := startByName(t, b, least)

	require.NoError(t, cluster.RestoreEtcd(saved))
	b.delete(t, "revoked")
	b.awaitValue(t, b.key("clients"), "old")
	b.awaitStatus(t, b.key("young"), snapshot.SecretAbsent)
	named.follows(t)
	b.put(t, "clients", "restored")
	b.awaitValue(t, b.key("clients"), "restored")
	named.awaitValue(t, b.key("clients"), "restored")
}

// Servers before Kubernetes 1.32 answer a list, and then a watch.
func TestServerWithoutWatchLists(t *testing.T) {
	t.Parallel() // on a cluster of its own
	cluster, err := kubetest.Start(kubetest.Options{APIServerArgs: []string{"--feature-gates=WatchList=false"}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cluster.Stop()) })
	b := newBenchOn(t, cluster)
	b.put(t, "unreferenced", "one")
	for name, scope := range scopesAndNamed(b) {
		t.Log(name)
		b.recorder = newRecorder()
		b.put(t, "clients", "one")
		b.start(t, cluster.Admin(), scope)
		b.reference(t, "clients", "missing")
		b.awaitValue(t, b.key("clients"), "one")
		b.awaitStatus(t, b.key("missing"), snapshot.SecretAbsent)
		b.put(t, "clients", "two")
		b.awaitValue(t, b.key("clients"), "two")
		b.stop()
		assert.NotContains(t, b.states, b.key("unreferenced"))
		assert.Empty(t, b.failures)
		assert.Empty(t, b.resyncs)
	}
}

func TestClientThatCannotBeMadeIsTriedAgain(t *testing.T) {
	b := newBench(t)
	config := b.cluster.Admin()
	ca := t.TempDir() + "/ca.crt"
	data := config.CAData
	config.CAData, config.CAFile = nil, ca
	b.start(t, config, Scope{})
	f := b.awaitFailure(t, b.registryTitle(), 0)
	assert.Contains(t, f.Detail, ca)

	require.NoError(t, writeFile(ca, data))
	b.await(t, "the registry is known", func() bool { return b.registryCalls > 0 })
	b.await(t, "it recovers", func() bool { return b.recoveries[b.registryTitle()] == 1 })
}

func TestTimeoutOfTheConfigurationDoesNotEndWatches(t *testing.T) {
	b := newBench(t)
	config := b.cluster.Admin()
	config.Timeout = time.Millisecond
	b.start(t, config, b.shopScope())
	b.put(t, "clients", "one")
	b.reference(t, "clients")
	b.awaitValue(t, b.key("clients"), "one")
	b.stop()
	assert.Empty(t, b.failures)
}

func TestEtcdThatIsDeadAtTheStartAndComesBack(t *testing.T) {
	t.Parallel() // on a cluster of its own
	cluster, err := kubetest.Start(kubetest.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cluster.Stop()) })
	b := newBenchOn(t, cluster)
	b.put(t, "clients", "one")
	require.NoError(t, cluster.StopEtcd())
	b.start(t, cluster.Admin(), b.shopScope())
	assert.Equal(t, mirror.FailureContact, b.awaitFailure(t, b.registryTitle(), 0).Kind)
	assert.Zero(t, b.look(func() int { return b.registryCalls }), "not knowing is not absence")

	require.NoError(t, cluster.StartEtcd())
	b.reference(t, "clients")
	b.awaitValue(t, b.key("clients"), "one")
	b.await(t, "it recovers", func() bool { return b.recoveries[b.registryTitle()] == 1 })
}

func TestEtcdThatDiesAndComesBackWhileWatched(t *testing.T) {
	t.Parallel() // on a cluster of its own
	cluster, err := kubetest.Start(kubetest.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cluster.Stop()) })
	b := newBenchOn(t, cluster)
	b.startSynced(t, cluster.Admin(), b.shopScope())
	require.NoError(t, cluster.StopEtcd())
	b.reference(t, "first", "later")
	b.awaitFailure(t, fetchTitle, 0)
	assert.Equal(t, "one", b.held(b.key("first")))

	require.NoError(t, cluster.StartEtcd())
	b.put(t, "first", "two")
	b.awaitValue(t, b.key("first"), "two")
	b.awaitStatus(t, b.key("later"), snapshot.SecretAbsent)
}
