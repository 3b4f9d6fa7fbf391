package snapshot_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

func TestWhatDiffersSinceAnEarlierGeneration(t *testing.T) {
	none := func(apps ...string) snapshot.AppNames { return snapshot.AppNames{Count: len(apps), Names: apps} }
	a, b, c := app("a", "a.example.com"), app("b", "b.example.com"), app("c", "c.example.com")
	for name, test := range map[string]struct {
		before, after *snapshot.Apps
		want          snapshot.Difference
	}{
		"nothing from nothing":   {nil, nil, snapshot.Difference{}},
		"nothing changed":        {open(t, a, b), open(t, a, b), snapshot.Difference{}},
		"the first generation":   {nil, open(t, a, b), snapshot.Difference{Added: none("a", "b"), Opened: none("a", "b")}},
		"all have gone":          {open(t, a, b), open(t), snapshot.Difference{Removed: none("a", "b"), Closed: none("a", "b")}},
		"one at the begin":       {open(t, b, c), open(t, a, b, c), snapshot.Difference{Added: none("a"), Opened: none("a")}},
		"one at the end":         {open(t, a, b), open(t, a, b, c), snapshot.Difference{Added: none("c"), Opened: none("c")}},
		"one gone in the middle": {open(t, a, b, c), open(t, a, c), snapshot.Difference{Removed: none("b"), Closed: none("b")}},
		"another order":          {open(t, a, b, c), open(t, c, b, a), snapshot.Difference{}},
		"a hostname": {
			open(t, a, b, c), open(t, a, app("b", "bb.example.com"), c), snapshot.Difference{Changed: none("b")},
		},
		"one that is wrong from the start": {
			nil, open(t, a.with("anyOf", 1)), snapshot.Difference{Added: none("a")},
		},
		"one that becomes wrong, and moves": {
			open(t, a, b, c), open(t, c, b.with("anyOf", 1), a), snapshot.Difference{Changed: none("b"), Closed: none("b")},
		},
		"a name that two Apps have, once": {
			open(t, a, b, b, c), open(t, a, b, c), snapshot.Difference{Changed: none("b"), Removed: none("b"), Opened: none("b")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, test.after.Since(test.before, 10))
		})
	}
}

func TestARotatedSecretChangesItsApps(t *testing.T) {
	reg := registry(t, app("a", "a.example.com"), app("b", "b.example.com"))
	states := allPresent(reg)
	before := build(t, snapshot.NewObjects(start, reg, states))
	key := snapshot.Key{Namespace: "shop", Name: "b"}
	states[key] = snapshot.Present(secret(key, "2", map[string]string{"token": "other"}))
	after := build(t, snapshot.NewObjects(start, reg, states))
	assert.Equal(t, snapshot.Difference{Changed: snapshot.AppNames{Count: 1, Names: []string{"b"}}}, after.Since(before, 10))
}

func TestNoMoreNamesThanAreAskedFor(t *testing.T) {
	var many []entry
	for i := range 50 {
		many = append(many, app(fmt.Sprintf("app-%02d", i), fmt.Sprintf("%d.example.com", i)))
	}
	d := open(t, many...).Since(nil, 3)
	assert.Equal(t, snapshot.AppNames{Count: 50, Names: []string{"app-00", "app-01", "app-02"}}, d.Added)
}

// TestDifferencesAddUp holds the walk equal to what sets of names say.
func TestDifferencesAddUp(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pick := func() (*snapshot.Apps, map[string]string) {
		var entries []entry
		chosen := make(map[string]string)
		for i := range 8 {
			name := string(rune('a' + i))
			if random.IntN(3) == 0 {
				continue
			}
			host := fmt.Sprintf("%s%d.example.com", name, random.IntN(2))
			chosen[name] = host
			entries = append(entries, app(name, host))
		}
		random.Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
		return open(t, entries...), chosen
	}
	for range 300 {
		before, had := pick()
		after, has := pick()
		var added, removed, changed []string
		for name, host := range has {
			switch old, ok := had[name]; {
			case !ok:
				added = append(added, name)
			case old != host:
				changed = append(changed, name)
			}
		}
		for name := range maps.Keys(had) {
			if _, ok := has[name]; !ok {
				removed = append(removed, name)
			}
		}
		d := after.Since(before, 10)
		for _, c := range []struct {
			want []string
			got  snapshot.AppNames
		}{{added, d.Added}, {removed, d.Removed}, {changed, d.Changed}, {added, d.Opened}, {removed, d.Closed}} {
			assert.Len(t, c.want, c.got.Count)
			slices.Sort(c.want)
			slices.Sort(c.got.Names)
			assert.Equal(t, c.want, c.got.Names)
		}
	}
}

func BenchmarkSince(b *testing.B) {
	for _, n := range sizes {
		names := randomNames(n)
		o := manyObjects(b, names)
		builder := snapshot.NewAppsBuilder()
		before := buildWith(b, builder, o)
		key := snapshot.Key{Namespace: "shop", Name: names[n/2]}
		rotated := map[snapshot.Key]snapshot.SecretState{key: snapshot.Present(secret(key, "2", map[string]string{"token": "other"}))}
		changes := snapshot.Changes{Secrets: map[snapshot.Key]struct{}{key: {}}}
		after := buildWith(b, builder, withChanges(o.With(start, rotated), changes))
		b.Run(fmt.Sprintf("apps=%d/one-secret", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if d := after.Since(before, 20); d.Changed.Count != 1 {
					b.Fatal(d)
				}
			}
		})
		b.Run(fmt.Sprintf("apps=%d/all", n), func(b *testing.B) {
			for b.Loop() {
				if d := after.Since(nil, 20); d.Added.Count != n {
					b.Fatal(d)
				}
			}
		})
	}
}
