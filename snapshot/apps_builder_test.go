package snapshot_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

func TestAppsBuilderIsABuilder(t *testing.T) {
	var b snapshot.Builder = snapshot.NewAppsBuilder()
	assert.Equal(t, "apps", b.Name())
}

func TestBuildOfWhatDidNotChangeReturnsTheSameView(t *testing.T) {
	reg := registry(t, shop, app("blog", "blog.example.com").with("expiresAt", "2028-01-01T00:00:00Z"))
	states := allPresent(reg)
	b := snapshot.NewAppsBuilder()
	first := buildWith(t, b, snapshot.NewObjects(start, reg, states))
	again := registry(t, shop, app("blog", "blog.example.com").with("expiresAt", "2028-01-01T01:00:00+01:00"))

	for about, o := range map[string]snapshot.Objects{
		"everything anew":            snapshot.NewObjects(start, reg, states),
		"the document written anew":  withChanges(snapshot.NewObjects(start, again, states), snapshot.Changes{Registry: true}),
		"nothing, a minute later":    withChanges(snapshot.NewObjects(start.Add(time.Minute), reg, states), snapshot.Changes{}),
		"a Secret that is as it was": withChanges(snapshot.NewObjects(start, reg, states), changed(reg)),
		"a Secret that is not referenced": withChanges(snapshot.NewObjects(start, reg, states),
			snapshot.Changes{Secrets: map[snapshot.Key]struct{}{{Namespace: "a", Name: "b"}: {}}}),
	} {
		t.Run(about, func(t *testing.T) {
			require.Same(t, first, buildWith(t, b, o))
		})
	}
}

func TestAppsThatDidNotChangeAreShared(t *testing.T) {
	blog := app("blog", "blog.example.com").with("expiresAt", "2028-01-01T00:00:00Z")
	reg := registry(t, shop, blog)
	states := allPresent(reg)
	b := snapshot.NewAppsBuilder()
	o := snapshot.NewObjects(start, reg, states)
	first := buildWith(t, b, o)

	gone := map[snapshot.Key]snapshot.SecretState{{Namespace: "shop", Name: "shop"}: snapshot.Absent()}
	second := buildWith(t, b, withChanges(o.With(start, gone), changed(reg, "shop")))
	assert.NotSame(t, first, second)
	assert.NotSame(t, first.At(0), second.At(0))
	assert.Same(t, first.At(1), second.At(1))
	assert.Equal(t, "shop: allowed", answer(first, "shop.example.com"), "what was built stays as it is")
	assert.Equal(t, "shop: secret_absent", answer(second, "shop.example.com"))

	reg = registry(t, shop.with("anyOf", 1), blog, app("wiki", "wiki.example.com"))
	third := buildWith(t, b, withChanges(snapshot.NewObjects(start, reg, states), snapshot.Changes{Registry: true}))
	assert.Same(t, second.At(1), third.At(1), "over a change of the Registry as well")
	assert.Equal(t, "wiki: pending", answer(third, "wiki.example.com"))
}

func withChanges(o snapshot.Objects, c snapshot.Changes) snapshot.Objects {
	o.Changes = c
	return o
}

// changed says that Secrets in namespace shop changed; all of them without names.
func changed(reg *snapshot.Registry, names ...string) snapshot.Changes {
	c := snapshot.Changes{Secrets: make(map[snapshot.Key]struct{})}
	for _, n := range names {
		c.Secrets[snapshot.Key{Namespace: "shop", Name: n}] = struct{}{}
	}
	if len(names) == 0 {
		for key := range reg.References() {
			c.Secrets[key] = struct{}{}
		}
	}
	return c
}

// world is a random sequence of what can happen to the Objects, told as the
// Mirror tells it.
type world struct {
	t       *testing.T
	random  *rand.Rand
	now     time.Time
	apps    []entry
	version int

	objects snapshot.Objects
	states  map[snapshot.Key]snapshot.SecretState
	changes snapshot.Changes
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{
		t:       t,
		random:  rand.New(rand.NewPCG(seed, 0)),
		now:     start,
		states:  make(map[snapshot.Key]snapshot.SecretState),
		changes: snapshot.Changes{All: true},
	}
	w.objects = snapshot.NewObjects(w.now, snapshot.AbsentRegistry(registryKey), nil)
	return w
}

func (w *world) oneOf(n int) bool { return w.random.IntN(n) == 0 }

// happen makes up to three changes before the next build.
func (w *world) happen() {
	for range 1 + w.random.IntN(3) {
		switch w.random.IntN(8) {
		case 0:
			w.changeRegistry()
		case 1:
			w.pass(time.Duration(w.random.IntN(120)) * time.Minute)
		case 2:
			w.pass(-time.Duration(w.random.IntN(60)) * time.Minute) // the clock was set back
		case 3:
			w.pass(0)
		default:
			w.changeSecret()
		}
	}
}

func (w *world) pass(d time.Duration) {
	w.now = w.now.Add(d)
	w.objects = w.objects.With(w.now, nil)
}

func (w *world) changeRegistry() {
	w.version++
	switch {
	case w.oneOf(12):
		w.apps = nil
	case len(w.apps) > 0 && w.oneOf(3):
		i := w.random.IntN(len(w.apps))
		w.apps = append(w.apps[:i:i], w.apps[i+1:]...)
	case len(w.apps) > 0 && w.oneOf(2):
		w.apps = append([]entry(nil), w.apps...)
		w.apps[w.random.IntN(len(w.apps))] = w.entry()
	default:
		w.apps = append(slices.Clip(w.apps), w.entry())
	}
	reg := snapshot.AbsentRegistry(registryKey)
	if len(w.apps) > 0 || w.oneOf(2) {
		reg = registry(w.t, w.apps...)
	}
	for key := range w.states {
		if _, ok := reg.References()[key]; !ok {
			delete(w.states, key)
		}
	}
	if w.oneOf(2) {
		reg = reg.Share(w.objects.Registry)
	}
	w.objects = snapshot.NewObjects(w.now, reg, w.states)
	w.changes.Registry = true
}

func (w *world) entry() entry {
	host := func() string {
		return []string{"", "*."}[w.random.IntN(2)] + string(rune('a'+w.random.IntN(4))) + ".example.com"
	}
	e := app(fmt.Sprintf("app-%d", w.random.IntN(9)), host(), host())
	ref := entry{"name": fmt.Sprintf("secret-%d", w.random.IntN(5))}
	if !w.oneOf(3) {
		ref["key"] = []string{"a", "b"}[w.random.IntN(2)]
	}
	e["secretRef"] = ref
	if w.oneOf(3) {
		e["expiresAt"] = w.now.Add(time.Duration(w.random.IntN(240)-60) * time.Minute).Format(time.RFC3339)
	}
	if w.oneOf(8) {
		e["anyOf"] = []any{}
	}
	return e
}

func (w *world) changeSecret() {
	key := snapshot.Key{Namespace: "edge", Name: fmt.Sprintf("secret-%d", w.random.IntN(5))}
	if _, ok := w.objects.Registry.References()[key]; !ok {
		return
	}
	state := w.secretState(key)
	w.states[key] = state
	w.objects = w.objects.With(w.now, map[snapshot.Key]snapshot.SecretState{key: state})
	if w.changes.Secrets == nil {
		w.changes.Secrets = make(map[snapshot.Key]struct{})
	}
	w.changes.Secrets[key] = struct{}{}
}

func (w *world) secretState(key snapshot.Key) snapshot.SecretState {
	w.version++
	switch w.random.IntN(6) {
	case 0:
		return snapshot.Absent()
	case 1:
		return snapshot.Forbidden(fmt.Sprintf("reason %d", w.random.IntN(2)))
	}
	data := make(map[string]string)
	for _, k := range []string{"a", "b", "c"} {
		if !w.oneOf(3) {
			data[k] = []string{"", "value", "other"}[w.random.IntN(3)]
		}
	}
	return snapshot.Present(secret(key, fmt.Sprint(w.version), data))
}

func TestBuildingStepByStepEqualsBuildingFromNothing(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			w := newWorld(t, seed)
			b := snapshot.NewAppsBuilder()
			var prev *snapshot.Apps
			for range 150 {
				w.happen()
				if w.oneOf(4) {
					continue // no build: the changes add up
				}
				before := describe(prev)
				next := buildWith(t, b, withChanges(w.objects, w.changes))
				w.changes = snapshot.Changes{}

				fresh := build(t, snapshot.NewObjects(w.now, w.objects.Registry, w.states))
				require.Equal(t, describe(fresh), describe(next))
				requireConsistent(t, w.objects.Registry, next)
				require.Equal(t, before, describe(prev), "what was built stays as it is")
				requireShared(t, prev, next)
				require.Same(t, next, buildWith(t, b, withChanges(w.objects, snapshot.Changes{})))
				prev = next
			}
		})
	}
}

// requireShared asks that what is equal is the same.
func requireShared(t *testing.T, prev, next *snapshot.Apps) {
	t.Helper()
	if prev == nil || prev == next {
		return
	}
	require.NotEqual(t, describe(prev), describe(next), "an equal View must be the same one")
	for i := range min(prev.Len(), next.Len()) {
		if assert.ObjectsAreEqual(prev.At(i), next.At(i)) {
			require.Same(t, prev.At(i), next.At(i))
		}
	}
}

// description is all that can be seen of a View.
type description struct {
	Apps      []snapshot.App
	Conflicts map[string]string
	Hostnames int
	Present   bool
	Due       time.Time
	Answers   map[string]string
}

func describe(a *snapshot.Apps) description {
	if a == nil {
		return description{}
	}
	d := description{
		Conflicts: make(map[string]string),
		Hostnames: a.Hostnames(),
		Present:   a.RegistryPresent(),
		Due:       a.NextChange(),
		Answers:   make(map[string]string),
	}
	for i := range a.Len() {
		d.Apps = append(d.Apps, *a.At(i))
	}
	for _, c := range a.Conflicts() {
		d.Conflicts[c.Hostname] = fmt.Sprint(c.Apps)
	}
	for _, label := range []string{"a", "b", "c", "d"} {
		for _, host := range []string{label + ".example.com", "x." + label + ".example.com", label + ".com"} {
			d.Answers[host] = answer(a, host)
		}
	}
	return d
}

// Every Registry of the test names all its Apps after its generation, so a host
// that led to an App of another one would show.
func TestReadersNeverSeeHalfAChange(t *testing.T) {
	const generations, hosts = 200, 8
	var current atomic.Pointer[snapshot.Snapshot]
	publishGeneration := func(b *snapshot.AppsBuilder, generation int) {
		entries := make([]entry, hosts)
		for i := range entries {
			place := (i + generation) % hosts // each host moves
			entries[i] = app(fmt.Sprintf("g%d-h%d", generation, place), fmt.Sprintf("h%d.example.com", place))
		}
		reg := registry(t, entries...)
		o := withChanges(snapshot.NewObjects(start, reg, allPresent(reg)), snapshot.Changes{Registry: true})
		current.Store(snapshot.NewSnapshot(uint64(generation), start, snapshot.Live, []any{buildWith(t, b, o)}))
	}
	b := snapshot.NewAppsBuilder()
	publishGeneration(b, 1)

	var done atomic.Bool
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			d := decider(start)
			for !done.Load() {
				s := current.Load()
				for h := range hosts {
					got := d.Decide(s, snapshot.Request{Host: fmt.Sprintf("H%d.example.com:80", h)})
					if want := fmt.Sprintf("g%d-h%d", s.Generation(), h); got.AppName() != want {
						t.Errorf("got %q, want %q", got.AppName(), want)
						return
					}
				}
			}
		})
	}
	for generation := 2; generation <= generations; generation++ {
		publishGeneration(b, generation)
	}
	done.Store(true)
	readers.Wait()
}

func TestBuilderKeepsNoMapOfItsInput(t *testing.T) {
	reg := registry(t, shop)
	b := snapshot.NewAppsBuilder()
	o := snapshot.NewObjects(start, reg, nil)
	buildWith(t, b, o)

	changes := changed(reg)
	want := maps.Clone(changes.Secrets)
	apps := buildWith(t, b, withChanges(o.With(start, allPresent(reg)), changes))
	assert.Equal(t, "shop: allowed", answer(apps, "shop.example.com"))
	assert.Equal(t, want, changes.Secrets)
	clear(changes.Secrets)
	assert.Equal(t, "shop: allowed", answer(apps, "shop.example.com"))
}
