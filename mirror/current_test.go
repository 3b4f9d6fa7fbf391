package mirror_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

// served is a Mirror with a Snapshot in service.
func served(tb testing.TB) (*mirror.Mirror, snapshot.Slot) {
	tb.Helper()
	source := newScripted()
	m, err := mirror.New(mirror.Options{Registry: registryKey, Source: source})
	require.NoError(tb, err)
	slot, err := m.Register(snapshot.NewAppsBuilder())
	require.NoError(tb, err)
	require.NoError(tb, m.Start())
	tb.Cleanup(m.Stop)
	<-source.running
	source.sink.Registry(registry("1", `{"name":"shop","hostnames":["shop.example.com"]}`))
	require.NotNil(tb, m.Await(tb.Context(), 20*time.Second))
	return m, slot
}

func TestReadingTheSnapshotInServiceDoesNotAllocate(t *testing.T) {
	m, slot := served(t)
	decider := snapshot.Decider{Apps: slot, Now: time.Now}
	for name, read := range map[string]func() bool{
		"a View": func() bool {
			apps, ok := snapshot.ViewAt[*snapshot.Apps](m.Current(), slot)
			return ok && apps.Len() == 1
		},
		"a View through Await": func() bool {
			apps, ok := snapshot.ViewAt[*snapshot.Apps](m.Await(t.Context(), hold), slot)
			return ok && apps.Len() == 1
		},
		"a Decision": func() bool {
			d := decider.Decide(m.Current(), snapshot.Request{Host: "shop.example.com"})
			return d.Reason == snapshot.ReasonAppInvalid
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.True(t, read())
			assert.Zero(t, testing.AllocsPerRun(1000, func() { read() }))
		})
	}
}

// BenchmarkCurrentAndView reads a thousand times in each iteration, since
// counting iterations costs more than a read. The bound is 2 ns/read.
func BenchmarkCurrentAndView(b *testing.B) {
	const reads = 1000
	m, slot := served(b)
	b.ReportAllocs()
	apps := 0
	for b.Loop() {
		for range reads {
			if view, ok := snapshot.ViewAt[*snapshot.Apps](m.Current(), slot); ok {
				apps += view.Len()
			}
		}
	}
	require.Equal(b, reads*b.N, apps)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(apps), "ns/read")
}
