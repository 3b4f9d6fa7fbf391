package kube

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/mirror/kube/kubetest"
)

// awaitSilence returns when two probes have failed, which is what the Mirror takes
// for lost contact. Nothing is known as of after it began.
func (b *bench) awaitSilence(t *testing.T, began time.Time) mirror.Failure {
	t.Helper()
	f := b.awaitFailure(t, b.probeTitle(), 1)
	assert.Equal(t, mirror.FailureContact, f.Kind)
	assert.False(t, b.lastFresh().AsOf.After(began), "known as of after the outage began")
	return f
}

// awaitProbes returns when all is well again after an outage.
func (b *bench) awaitProbes(t *testing.T) {
	t.Helper()
	b.await(t, "the probe recovers", func() bool { return b.recoveries[b.probeTitle()] >= 1 })
	b.awaitHealth(t)
}

func TestRow2ServerKilledMidRun(t *testing.T) {
	b := newBrisk(t)
	b.startWith(t, b.cluster.Admin(), "clients")
	require.NoError(t, b.cluster.KillAPIServer())
	f := b.awaitSilence(t, time.Now())
	assert.Contains(t, f.Detail, "connection refused")
	assert.Equal(t, "one", b.held(b.key("clients")), "the last good stays")

	require.NoError(t, b.cluster.StartAPIServer())
	b.awaitProbes(t)
}

func TestRow3ConnectionOrServerThatHangs(t *testing.T) {
	for name, test := range map[string]struct {
		freeze, thaw func(*testing.T, *bench)
	}{
		"the server is stopped in its tracks": {
			func(t *testing.T, b *bench) { require.NoError(t, b.cluster.FreezeAPIServer()) },
			func(t *testing.T, b *bench) { require.NoError(t, b.cluster.ThawAPIServer()) },
		},
		"nothing passes either way": {
			func(_ *testing.T, b *bench) { b.proxied.Freeze() },
			func(_ *testing.T, b *bench) { b.proxied.Pass() },
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBrisk(t)
			b.pace.timeout = time.Second
			b.proxied = b.proxy(t)
			b.startWith(t, via(b.cluster.Admin(), b.proxied), "clients")
			test.freeze(t, b)
			began := time.Now()
			f := b.awaitSilence(t, began)
			noticed := time.Since(began)
			test.thaw(t, b)

			assert.Equal(t, "no answer in 1s; the API server or its etcd hangs", f.Detail)
			assert.Less(t, noticed, 10*time.Second)
			assert.Equal(t, "one", b.held(b.key("clients")), "the last good stays")
			b.awaitProbes(t)
		})
	}
}

func TestRow4EtcdDeadWhileTheAPIServerLives(t *testing.T) {
	for name, test := range map[string]struct{ end, begin func(*kubetest.Cluster) error }{
		"stopped": {(*kubetest.Cluster).StopEtcd, (*kubetest.Cluster).StartEtcd},
		"frozen":  {(*kubetest.Cluster).FreezeEtcd, (*kubetest.Cluster).ThawEtcd},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBrisk(t)
			b.pace.timeout = time.Second
			b.startWith(t, often("6").on(b.cluster.Admin()), "clients")
			b.put(t, "clients", "two") // a bookmark comes of what is later than the watch
			b.awaitValue(t, b.key("clients"), "two")
			require.NoError(t, test.end(b.cluster))
			dead := time.Now()
			b.awaitSilence(t, dead)
			b.awaitContact(t, time.Now()) // by a bookmark: no probe is answered
			asOf := b.lastFresh().AsOf
			require.NoError(t, test.begin(b.cluster))

			assert.False(t, asOf.After(dead), "bookmarks do not count")
			assert.Equal(t, "two", b.held(b.key("clients")), "the last good stays")
			b.awaitProbes(t)
		})
	}
}

func TestRow26HundredStartsAndStopsWhileRefusedLeaveNoGoroutine(t *testing.T) {
	require.Empty(t, goroutines(), "left by another test")
	b := newBench(t)
	gone := b.proxy(t)
	require.NoError(t, gone.Close())
	for range 100 {
		b.recorder = newRecorder()
		b.start(t, via(b.cluster.Admin(), gone), b.shopScope())
		assert.Contains(t, b.awaitFailure(t, b.probeTitle(), 0).Detail, "connection refused")
		b.stop()
	}
	assert.EventuallyWithT(t, func(c *assert.CollectT) { assert.Empty(c, goroutines()) }, 2*lastPause, 10*time.Millisecond)
}
