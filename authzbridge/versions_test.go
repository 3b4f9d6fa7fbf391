package authzbridge_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/authzbridge"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

// kept is a Registry and the states of its Secrets.
type kept struct {
	meta   snapshot.SecretMeta
	names  []string // of Apps and Secrets
	states map[snapshot.Key]snapshot.SecretState

	upstreams []string // of each App
}

func newKept(names ...string) *kept {
	k := &kept{meta: snapshot.SecretMeta{Key: keyIn("edge", "registry"), UID: "r", Version: "1"}, names: names, states: make(map[snapshot.Key]snapshot.SecretState)}
	for _, name := range names {
		k.put(name, "uid-"+name, "7", "token")
	}
	return k
}

func (k *kept) put(name, uid, version, value string) {
	key := keyIn("shop", name)
	k.states[key] = snapshot.Present(snapshot.NewSecret(snapshot.SecretMeta{Key: key, UID: uid, Version: version}, map[string][]byte{"token": []byte(value)}))
}

func (k *kept) objects(tb testing.TB) snapshot.Objects {
	tb.Helper()
	type ref struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
	}
	type entry struct {
		Name      string   `json:"name"`
		Hostnames []string `json:"hostnames"`
		SecretRef ref      `json:"secretRef"`
		Upstreams []string `json:"upstreams,omitempty"`
	}
	var entries []entry
	for _, name := range k.names {
		entries = append(entries, entry{name, []string{name + ".example.com"}, ref{"shop", name}, k.upstreams})
	}
	text, err := json.Marshal(map[string]any{"version": 1, "apps": entries})
	require.NoError(tb, err)
	registry, err := snapshot.ParseRegistry(snapshot.NewSecret(k.meta, map[string][]byte{"registry.json": text}))
	require.NoError(tb, err)
	return snapshot.NewObjects(time.Now(), registry, k.states)
}

func appsOf(tb testing.TB, o snapshot.Objects) *snapshot.Apps {
	tb.Helper()
	view, err := snapshot.NewAppsBuilder().Build(o)
	require.NoError(tb, err)
	apps, ok := view.(*snapshot.Apps)
	require.True(tb, ok)
	return apps
}

func (k *kept) hash(tb testing.TB) string {
	tb.Helper()
	o := k.objects(tb)
	hash, _ := authzbridge.SummaryOf(appsOf(tb, o), nil, o)
	return hash
}

func TestTheHashTellsEveryVersionApartAndNothingElse(t *testing.T) {
	same := newKept("a", "b", "c").hash(t)
	assert.Equal(t, same, newKept("a", "b", "c").hash(t))
	reordered := newKept("a", "b", "c")
	slices.Reverse(reordered.names)
	assert.Equal(t, same, reordered.hash(t), "it goes by the names")
	other := newKept("a", "b", "c")
	other.put("b", "uid-b", "7", "another value")
	assert.Equal(t, same, other.hash(t), "no byte of a Secret is in it")

	seen := map[string]string{same: "nothing"}
	for name, change := range map[string]func(*kept){
		"another version":                 func(k *kept) { k.put("b", "uid-b", "8", "token") },
		"another UID":                     func(k *kept) { k.put("b", "uid-x", "7", "token") },
		"a UID with a version's digits":   func(k *kept) { k.put("b", "uid-b7", "", "token") },
		"a Secret that is gone":           func(k *kept) { k.states[keyIn("shop", "b")] = snapshot.Absent() },
		"one that may not be read":        func(k *kept) { k.states[keyIn("shop", "b")] = snapshot.Forbidden("x") },
		"one that was not read":           func(k *kept) { delete(k.states, keyIn("shop", "b")) },
		"one less":                        func(k *kept) { k.names = k.names[:2] },
		"another version of the Registry": func(k *kept) { k.meta.Version = "2" },
		"another UID of the Registry":     func(k *kept) { k.meta.UID = "s" },
		"another Registry":                func(k *kept) { k.meta.Key.Name = "other" },
	} {
		k := newKept("a", "b", "c")
		change(k)
		hash := k.hash(t)
		assert.Empty(t, seen[hash], "%s looks like %s", name, seen[hash])
		seen[hash] = name
	}
}

func TestTheHashIsOfWhatIsServedAndNotOfWhatIsKnown(t *testing.T) {
	k := newKept("a", "b")
	before := k.objects(t)
	apps := appsOf(t, before)
	served, _ := authzbridge.SummaryOf(apps, nil, before)
	k.put("a", "uid-a", "8", "rotated")
	after, _ := authzbridge.SummaryOf(apps, nil, k.objects(t))
	assert.Equal(t, served, after, "the Builder of the Apps has failed since")
	rotated, _ := authzbridge.SummaryOf(appsOf(t, k.objects(t)), nil, k.objects(t))
	assert.NotEqual(t, served, rotated)

	k.states[keyIn("shop", "b")] = snapshot.Absent()
	_, secrets := authzbridge.SummaryOf(appsOf(t, k.objects(t)), nil, k.objects(t))
	assert.Equal(t, authzbridge.SecretsStatus{Total: 2, Present: 1, Absent: 1}, secrets)
}

func TestTheHashIsOfTheRegistryThatTheViewsAreMadeOf(t *testing.T) {
	k := newKept("a", "b")
	old := k.objects(t)
	oldApps, oldUpstreams := appsOf(t, old), placesOf(t, old)
	before, _ := authzbridge.SummaryOf(oldApps, oldUpstreams, old)

	t.Log("a document that says the same is served whole by its old Views")
	k.meta.Version = "2"
	touched, _ := authzbridge.SummaryOf(oldApps, oldUpstreams, k.objects(t))
	assert.NotEqual(t, before, touched)
	fresh, _ := authzbridge.SummaryOf(appsOf(t, k.objects(t)), placesOf(t, k.objects(t)), k.objects(t))
	assert.Equal(t, fresh, touched)

	t.Log("the Builder of the Apps has failed since")
	k.meta.Version, k.upstreams = "3", []string{"a:80"}
	next := k.objects(t)
	good, _ := authzbridge.SummaryOf(appsOf(t, next), placesOf(t, next), next)
	failing, _ := authzbridge.SummaryOf(oldApps, placesOf(t, next), next)
	assert.NotEqual(t, good, failing, "the hash of a replica that serves another policy")

	t.Log("that of the upstreams has")
	lost, _ := authzbridge.SummaryOf(appsOf(t, next), oldUpstreams, next)
	assert.NotContains(t, []string{good, failing}, lost)

	t.Log("both have")
	both, _ := authzbridge.SummaryOf(oldApps, oldUpstreams, next)
	assert.Equal(t, before, both, "what is served is what was served before")
}

func placesOf(tb testing.TB, o snapshot.Objects) *snapshot.Upstreams {
	tb.Helper()
	view, err := snapshot.NewUpstreamsBuilder().Build(o)
	require.NoError(tb, err)
	require.IsType(tb, (*snapshot.Upstreams)(nil), view)
	return view.(*snapshot.Upstreams)
}

// BenchmarkSummary is what somebody pays who asks for the hash of 100,000 Apps.
func BenchmarkSummary(b *testing.B) {
	names := make([]string, 100_000)
	for i := range names {
		names[i] = fmt.Sprintf("app-%d", i)
	}
	o := newKept(names...).objects(b)
	apps := appsOf(b, o)
	for b.Loop() {
		authzbridge.SummaryOf(apps, nil, o)
	}
}
