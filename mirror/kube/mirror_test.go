package kube

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

// served is a Mirror over a real cluster, and what it has published.
type served struct {
	mirror    *mirror.Mirror
	slot      snapshot.Slot
	published chan *snapshot.Snapshot
}

func serve(t *testing.T, b *bench) *served {
	t.Helper()
	key := snapshot.Key{Namespace: b.team, Name: registryName}
	source, err := New(Options{Registry: key, Config: b.cluster.Admin(), Scope: b.shopScope()})
	require.NoError(t, err)
	return serveFrom(t, key, source)
}

func serveFrom(t *testing.T, key snapshot.Key, source *Source) *served {
	t.Helper()
	m, err := mirror.New(mirror.Options{Registry: key, Source: source})
	require.NoError(t, err)
	slot, err := m.Register(snapshot.NewAppsBuilder())
	require.NoError(t, err)
	s := &served{mirror: m, slot: slot, published: make(chan *snapshot.Snapshot, 1000)}
	m.OnPublish(func(next *snapshot.Snapshot) { s.published <- next })
	require.NoError(t, m.Start())
	t.Cleanup(m.Stop)
	return s
}

// await returns when a Snapshot answers for the host as it should.
func (s *served) await(t *testing.T, host string, reason snapshot.Reason) {
	t.Helper()
	timeout := time.After(patience)
	for {
		if apps, ok := snapshot.ViewAt[*snapshot.Apps](s.mirror.Current(), s.slot); ok {
			if _, got := apps.Lookup(host); got == reason {
				return
			}
		}
		select {
		case <-s.published:
		case <-timeout:
			require.Fail(t, "waited in vain", "%s: %s", host, reason)
		}
	}
}

func TestMirrorFollowsTheCluster(t *testing.T) {
	b := newBench(t)
	s := serve(t, b)
	s.await(t, "shop.example.com", snapshot.ReasonUnknownHost)

	document := `{"version":1,"apps":[{"name":"shop","hostnames":["shop.example.com"],"secretRef":{"namespace":"` + b.shop + `","name":"clients"}}]}`
	b.cluster.PutSecret(t, b.team, registryName, map[string]string{"registry.json": document})
	s.await(t, "shop.example.com", snapshot.ReasonSecretAbsent)
	b.put(t, "clients", "one")
	s.await(t, "shop.example.com", snapshot.ReasonAllowed)
	b.delete(t, "clients")
	s.await(t, "shop.example.com", snapshot.ReasonSecretAbsent)
	b.cluster.DeleteSecret(t, b.team, registryName)
	s.await(t, "shop.example.com", snapshot.ReasonUnknownHost)
}
