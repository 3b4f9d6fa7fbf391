package authzbridge_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/authzbridge"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

// BenchmarkHeapPerApp weighs all that a Mirror holds for 100,000 Apps that serve: the
// document, a Secret each with an API key in it, and the views. Its figure is B/app.
func BenchmarkHeapPerApp(b *testing.B) {
	const apps = 100_000
	var grown int64
	for b.Loop() {
		before := liveHeap()
		held := holdApps(b, apps)
		grown = liveHeap() - before
		runtime.KeepAlive(held)
	}
	b.ReportMetric(float64(grown)/apps, "B/app")
}

// held is what stays in memory between two builds.
type held struct {
	objects  snapshot.Objects
	builders []snapshot.Builder
	snapshot *snapshot.Snapshot
}

func holdApps(b *testing.B, apps int) *held {
	b.Helper()
	reg, err := snapshot.ParseRegistry(largeRegistry(b, apps))
	require.NoError(b, err)
	states := make(map[snapshot.Key]snapshot.SecretState, apps)
	for key := range reg.References() {
		meta := snapshot.SecretMeta{Key: key, UID: "00000000-0000-0000-0000-" + key.Name, Version: "1", Type: "Opaque"}
		states[key] = snapshot.Present(snapshot.NewSecret(meta, map[string][]byte{"token": []byte("key-of-" + key.Name)}))
	}
	h := &held{
		objects:  snapshot.NewObjects(time.Now(), reg, states),
		builders: []snapshot.Builder{snapshot.NewAppsBuilder(), authzbridge.NewTallyBuilder()},
	}
	var views []any
	for _, builder := range h.builders {
		view, err := builder.Build(h.objects)
		require.NoError(b, err)
		views = append(views, view)
	}
	require.Equal(b, snapshot.ReasonAllowed, views[0].(*snapshot.Apps).At(apps-1).Reason)
	h.snapshot = snapshot.NewSnapshot(1, time.Now(), snapshot.Live, views)
	return h
}

func largeRegistry(b *testing.B, apps int) *snapshot.Secret {
	b.Helper()
	entries := make([]map[string]any, apps)
	for i := range entries {
		name := fmt.Sprintf("app-%d", i)
		entries[i] = map[string]any{
			"name":      name,
			"hostnames": []string{name + ".example.com"},
			"secretRef": map[string]string{"name": name, "key": "token"},
			"anyOf":     []any{map[string]any{"apiKey": map[string]any{"from": []any{map[string]string{"header": "X-API-Key"}}}}},
		}
	}
	text, err := json.Marshal(map[string]any{"version": 1, "apps": entries})
	require.NoError(b, err)
	key := snapshot.Key{Namespace: "default", Name: "registry"}
	return snapshot.NewSecret(snapshot.SecretMeta{Key: key, Version: "1"}, map[string][]byte{"registry.json": text})
}

func liveHeap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
