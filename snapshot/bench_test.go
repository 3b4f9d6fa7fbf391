package snapshot_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

var sizes = []int{100, 1_000, 10_000, 100_000}

// randomNames returns different labels of 8 to 20 letters.
func randomNames(n int) []string {
	random := rand.New(rand.NewPCG(uint64(n), 5))
	names, seen := make([]string, 0, n), make(map[string]bool, n)
	for len(names) < n {
		label := make([]byte, 8+random.IntN(13))
		for i := range label {
			label[i] = byte('a' + random.IntN(26))
		}
		if name := string(label); !seen[name] {
			names, seen[name] = append(names, name), true
		}
	}
	return names
}

// manyApps writes a document with an App for each name: an exact hostname, and a
// wildcard below it for every tenth.
func manyApps(b *testing.B, names []string) *snapshot.Secret {
	b.Helper()
	apps := make([]entry, len(names))
	for i, name := range names {
		hostnames := []string{name + ".example.com"}
		if i%10 == 0 {
			hostnames = append(hostnames, "*."+name+".example.com")
		}
		apps[i] = app(name, hostnames...).with("secretReady", true)
	}
	var text bytes.Buffer
	require.NoError(b, json.NewEncoder(&text).Encode(entry{"version": 1, "apps": apps}))
	return snapshot.NewSecret(snapshot.SecretMeta{Key: registryKey, Version: "1"}, map[string][]byte{"registry.json": text.Bytes()})
}

func manyObjects(b *testing.B, names []string) snapshot.Objects {
	b.Helper()
	reg, err := snapshot.ParseRegistry(manyApps(b, names))
	require.NoError(b, err)
	return snapshot.NewObjects(start, reg, allPresent(reg))
}

func BenchmarkDecideByHostname(b *testing.B) {
	kinds := []struct {
		name string
		host func(i int, name string) string
		want snapshot.Reason
	}{
		{"exact", func(_ int, name string) string { return name + ".example.com" }, snapshot.ReasonAllowed},
		{"wildcard", func(_ int, name string) string { return "www." + name + ".example.com" }, snapshot.ReasonAllowed},
		{"miss", func(_ int, name string) string { return name + ".example.org" }, snapshot.ReasonUnknownHost},
		{"mixed-case-port", func(_ int, name string) string { return strings.ToUpper(name[:1]) + name[1:] + ".Example.com:443" }, snapshot.ReasonAllowed},
	}
	for _, n := range sizes {
		names := randomNames(n)
		s := publish(build(b, manyObjects(b, names)))
		for _, kind := range kinds {
			b.Run(fmt.Sprintf("apps=%d/%s", n, kind.name), func(b *testing.B) {
				// Of strings of their own, in another order, as requests come.
				hosts := make([]string, 0, n)
				for i, name := range names {
					if kind.name != "wildcard" || i%10 == 0 {
						hosts = append(hosts, kind.host(i, name))
					}
				}
				rand.New(rand.NewPCG(6, 7)).Shuffle(len(hosts), func(i, j int) { hosts[i], hosts[j] = hosts[j], hosts[i] })
				d := decider(start)
				i := 0
				b.ReportAllocs()
				for b.Loop() {
					if got := d.Decide(s, snapshot.Request{Host: hosts[i]}); got.Reason != kind.want {
						b.Fatalf("%s: %s", hosts[i], got.Reason)
					}
					if i++; i == len(hosts) {
						i = 0
					}
				}
			})
		}
	}
}

func BenchmarkCurrentAndView(b *testing.B) {
	var current atomic.Pointer[snapshot.Snapshot]
	current.Store(publish(&snapshot.Apps{}))
	slot := snapshot.NewSlot(0)
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := snapshot.ViewAt[*snapshot.Apps](current.Load(), slot); !ok {
			b.Fatal("no view")
		}
	}
}

func BenchmarkBuildFromBytes(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("apps=%d", n), func(b *testing.B) {
			document := manyApps(b, randomNames(n))
			reg, err := snapshot.ParseRegistry(document)
			require.NoError(b, err)
			states := allPresent(reg)
			b.ReportAllocs()
			for b.Loop() {
				reg, err := snapshot.ParseRegistry(document)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := snapshot.NewAppsBuilder().Build(snapshot.NewObjects(start, reg, states)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkParseWithOneWrongEntry shows what looking for the culprit costs.
func BenchmarkParseWithOneWrongEntry(b *testing.B) {
	names := randomNames(10_000)
	text, _ := manyApps(b, names).Value("registry.json")
	text = strings.Replace(text, `"secretReady":true`, `"secretReady":1`, 1)
	document := registrySecret(map[string]string{"registry.json": text})
	for b.Loop() {
		reg, err := snapshot.ParseRegistry(document)
		if err != nil || reg.Entries()[0].Err == nil {
			b.Fatal("one wrong entry expected", err)
		}
	}
}

// BenchmarkParseLargeEntries must not grow with the square of what one App
// lists, or of what refers to one Secret.
func BenchmarkParseLargeEntries(b *testing.B) {
	names := randomNames(100_000)
	b.Run("100000 hostnames of one App", func(b *testing.B) {
		benchmarkParse(b, app("shop", names...))
	})
	b.Run("100000 data keys of one Secret", func(b *testing.B) {
		apps := make([]entry, len(names))
		for i, name := range names {
			apps[i] = app(name, name).with("secretRef", entry{"name": "shared", "key": name})
		}
		benchmarkParse(b, apps...)
	})
}

func benchmarkParse(b *testing.B, apps ...entry) {
	b.Helper()
	document := registrySecret(map[string]string{"registry.json": jsonOf(b, apps...)})
	for b.Loop() {
		if _, err := snapshot.ParseRegistry(document); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRebuildAfterOneSecret(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("apps=%d", n), func(b *testing.B) {
			names := randomNames(n)
			o := manyObjects(b, names)
			builder := snapshot.NewAppsBuilder()
			prev := buildWith(b, builder, o)
			key := snapshot.Key{Namespace: "shop", Name: names[n/2]}
			states := [2]snapshot.SecretState{snapshot.Absent(), o.Secret(key)}
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				o = o.With(start, map[snapshot.Key]snapshot.SecretState{key: states[i%2]})
				o.Changes = snapshot.Changes{Secrets: map[snapshot.Key]struct{}{key: {}}}
				view, err := builder.Build(o)
				if err != nil || view == prev {
					b.Fatal("a new view expected", err)
				}
				prev = view.(*snapshot.Apps)
				i++
			}
		})
	}
}

// BenchmarkDecideByAPIKey asks 10,000 Apps in a random order, each with a key of
// its own. The headers are those of a request that was just read, so they are in the
// processor's cache, and the Apps are not.
func BenchmarkDecideByAPIKey(b *testing.B) {
	const apps = 10_000
	names := randomNames(apps)
	entries := make([]entry, apps)
	for i, name := range names {
		entries[i] = app(name, name+".example.com").with("anyOf", []any{apiKey(inHeader, inBearer)})
	}
	reg := registry(b, entries...)
	states := make(map[snapshot.Key]snapshot.SecretState, apps)
	for key := range reg.References() {
		states[key] = snapshot.Present(secret(key, "1", map[string]string{"token": "key-of-" + key.Name}))
	}
	s := publish(build(b, snapshot.NewObjects(start, reg, states)))
	d := decider(start)
	rand.New(rand.NewPCG(6, 7)).Shuffle(apps, func(i, j int) { names[i], names[j] = names[j], names[i] })
	hosts := make([]string, apps)
	values := make([]string, apps)
	for i, name := range names {
		hosts[i], values[i] = name+".example.com", "Bearer key-of-"+name
	}
	header := headers{"Authorization": {""}, "Accept": {"*/*"}, "User-Agent": {"bench"}, "Accept-Encoding": {"gzip"}}
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		header["Authorization"][0] = values[i]
		if got := d.Decide(s, snapshot.Request{Host: hosts[i], Header: header}); got.Reason != snapshot.ReasonAllowed {
			b.Fatal(hosts[i], got.Reason)
		}
		if i++; i == apps {
			i = 0
		}
	}
}

// BenchmarkRefusal has 10,000 Apps with a cookie and a header each of their own: what
// a refused request costs must follow from the request.
func BenchmarkRefusal(b *testing.B) {
	entries := make([]entry, 10_000)
	for i, name := range randomNames(len(entries)) {
		entries[i] = app(name, name+".example.com").with("anyOf", list{apiKey(object{"cookie": name}, object{"header": "X-" + name})})
	}
	apps := open(b, entries...)
	cookie := strings.TrimSuffix(strings.Repeat("some=cookie; ", 600), "; ")
	b.ReportAllocs()
	for b.Loop() {
		h := headers{"Cookie": {cookie}, "Accept": {"*/*"}, "X-Other": {"a"}}
		apps.Guards().ScrubAll(h)
	}
}

// BenchmarkBuildOfSharedSecret has 100 Apps with one large Secret: it is read once.
func BenchmarkBuildOfSharedSecret(b *testing.B) {
	var lines strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&lines, "user-%d:{SHA}qUqP5cyxm6YcTAhz05Hph5gvu9M=\n", i)
	}
	entries := make([]entry, 100)
	for i := range entries {
		name := fmt.Sprintf("app-%d", i)
		entries[i] = app(name, name+".example.com").
			with("secretRef", entry{"namespace": "shop", "name": "shared", "key": "auth"}).
			with("anyOf", list{object{"basic": object{}}})
	}
	reg := registry(b, entries...)
	key := snapshot.Key{Namespace: "shop", Name: "shared"}
	o := snapshot.NewObjects(start, reg, map[snapshot.Key]snapshot.SecretState{
		key: snapshot.Present(secret(key, "1", map[string]string{"auth": lines.String()})),
	})
	b.ReportAllocs()
	for b.Loop() {
		if apps := build(b, o); apps.At(99).Reason != snapshot.ReasonAllowed {
			b.Fatal(apps.At(99).Detail)
		}
	}
}
