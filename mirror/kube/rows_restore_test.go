package kube

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

// grow has the data change n times.
func (b *bench) grow(t *testing.T, n int) {
	t.Helper()
	for i := range n {
		b.put(t, "grows", fmt.Sprint("grown-", i))
	}
}

func (b *bench) revision(t *testing.T) int {
	t.Helper()
	all, err := b.cluster.AdminClient().CoreV1().Secrets(b.team).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	revision, err := strconv.Atoi(all.ResourceVersion)
	require.NoError(t, err)
	return revision
}

// later is what a cluster has that is to be put back: a Secret changed, one made and
// one that will be gone.
func (b *bench) later(t *testing.T) {
	t.Helper()
	b.put(t, "clients", "later")
	b.put(t, "young", "one")
	b.grow(t, 30)
}

func TestRow6ClusterRestored(t *testing.T) {
	b := newBrisk(t)
	b.put(t, "revoked", "one")
	saved := t.TempDir() + "/etcd"
	require.NoError(t, b.cluster.SnapshotEtcd(saved))
	t.Run("and the watches go on where they were", func(t *testing.T) { restoredUnnoticed(t, b, saved) })
	t.Run("and grown past the old revision", func(t *testing.T) { restoredAndGrown(t, b, saved) })
}

// Something in between may keep the request for a watch until the server is back.
// Nothing would come of it: for the server the version is one to come.
func restoredUnnoticed(t *testing.T, b *bench, saved string) {
	b.recorder = newRecorder()
	b.later(t)
	restored := make(chan struct{})
	faults := &tap{politely: true, answer: func(request *http.Request) *http.Response {
		if isWatch(request) && !isBeginning(request) {
			select {
			case <-restored:
			case <-request.Context().Done():
			}
		}
		return nil
	}}
	b.startWith(t, faults.on(b.cluster.Admin()), "clients", "young", "revoked")
	b.awaitHealth(t) // client-go goes on where it was if a watch has brought something
	b.await(t, "the cluster is told", func() bool { return len(b.clusters) == 1 })

	require.NoError(t, b.cluster.RestoreEtcd(saved))
	b.delete(t, "revoked")
	close(restored)
	b.awaitValue(t, b.key("clients"), "one")
	b.awaitStatus(t, b.key("young"), snapshot.SecretAbsent)
	b.awaitStatus(t, b.key("revoked"), snapshot.SecretAbsent)
	b.awaitHealth(t)
	b.await(t, "the cluster is asked for again", func() bool { return len(b.clusters) == 2 })
	b.stop()
	assert.Equal(t, b.clusters[0], b.clusters[1])
	for _, title := range b.titles() {
		assert.Empty(t, b.failures[title], "%s takes itself for well, so that the probe has noticed", title)
	}
}

func restoredAndGrown(t *testing.T, b *bench, saved string) {
	b.recorder = newRecorder()
	b.later(t)
	path := b.proxy(t)
	var address atomic.Value
	address.Store(path.Address())
	config := b.cluster.Admin()
	config.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, address.Load().(string))
	}
	b.put(t, "revoked", "one")
	b.startWith(t, (&tap{politely: true}).on(config), "clients", "young", "revoked")
	b.awaitHealth(t)
	before := b.revision(t)

	require.NoError(t, path.Close()) // refuses
	b.awaitOutage(t)
	require.NoError(t, b.cluster.RestoreEtcd(saved))
	b.delete(t, "revoked")
	for b.revision(t) <= before {
		b.grow(t, 10)
	}
	address.Store(b.cluster.Address())
	b.awaitValue(t, b.key("clients"), "one")
	b.awaitStatus(t, b.key("young"), snapshot.SecretAbsent)
	b.awaitStatus(t, b.key("revoked"), snapshot.SecretAbsent)
	b.awaitHealth(t)
}

func secretAt(key snapshot.Key, version, token string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, ResourceVersion: version, UID: "uid"},
		Data:       map[string][]byte{"token": []byte(token)},
	}
}

func TestRow6ReadThatIsUnderWayAcrossARestoreIsDropped(t *testing.T) {
	r, key := newRecorder(), shopKey("clients")
	l := newLedger(Scope{Kind: ScopeCluster})
	l.open(r, func(snapshot.Key) {})
	a := l.areas[snapshot.Key{}]
	a.replace(nil, "1000")
	l.reference(map[snapshot.Key]snapshot.Reference{key: {All: true}})
	mark, wanted := l.wanted(key)
	require.True(t, wanted)

	l.restart()
	_, wanted = l.wanted(key)
	assert.False(t, wanted, "the watch will tell")
	l.answer(key, mark, snapshot.Present(convert(secretAt(key, "990", "of before"))), "990")
	assert.NotContains(t, r.states, key)

	a.replace([]*corev1.Secret{secretAt(key, "500", "restored")}, "500")
	assert.Equal(t, "restored", r.held(key))
	a.upsert(secretAt(key, "501", "after"))
	assert.Equal(t, "after", r.held(key))
}

func TestRow6VersionsFromBeforeARestoreHideNothing(t *testing.T) {
	r, key := newRecorder(), shopKey("clients")
	l := newLedger(Scope{Kind: ScopeCluster})
	l.open(r, nil)
	l.reference(map[snapshot.Key]snapshot.Reference{key: {All: true}})
	a := l.areas[snapshot.Key{}]
	a.replace([]*corev1.Secret{secretAt(key, "1000", "of before")}, "1000")
	l.restart()
	assert.Equal(t, "of before", r.held(key), "the last good stays until the watch has brought everything")
	a.replace(nil, "500")
	assert.Equal(t, snapshot.SecretAbsent, r.state(key).Status)
	a.upsert(secretAt(key, "501", "after"))
	assert.Equal(t, "after", r.held(key))
}
