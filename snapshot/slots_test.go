package snapshot_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

// TestAChangeCopiesOnlyWhatIsAroundIt has enough Apps for several chunks, and
// changes those at their edges.
func TestAChangeCopiesOnlyWhatIsAroundIt(t *testing.T) {
	const n = 2000
	name := func(i int) string { return fmt.Sprintf("app-%d", i) }
	entries := make([]entry, n)
	for i := range entries {
		entries[i] = app(name(i), name(i)+".example.com")
	}
	reg := registry(t, entries...)
	b := snapshot.NewAppsBuilder()
	o := snapshot.NewObjects(start, reg, allPresent(reg))
	first := buildWith(t, b, o)
	gone := make(map[snapshot.Key]snapshot.SecretState)
	changes := snapshot.Changes{Secrets: make(map[snapshot.Key]struct{})}
	edges := []int{0, 511, 512, 1023, n - 1}
	for _, i := range edges {
		key := snapshot.Key{Namespace: "shop", Name: name(i)}
		gone[key], changes.Secrets[key] = snapshot.Absent(), struct{}{}
	}
	later := o.With(start, gone)
	second := buildWith(t, b, withChanges(later, changes))
	for i := range n {
		want := "allowed"
		for _, edge := range edges {
			if i == edge {
				want = "secret_absent"
			}
		}
		require.Equal(t, name(i)+": "+want, answer(second, name(i)+".example.com"))
		require.Equal(t, name(i)+": allowed", answer(first, name(i)+".example.com"), "what was built stays as it is")
		require.Equal(t, want == "allowed", first.At(i) == second.At(i))
		key := snapshot.Key{Namespace: "shop", Name: name(i)}
		require.Equal(t, snapshot.SecretPresent, o.Secret(key).Status)
	}
	assert.Equal(t, snapshot.SecretAbsent, later.Secret(snapshot.Key{Namespace: "shop", Name: name(512)}).Status)
	all := 0
	for range later.Secrets() {
		all++
	}
	assert.Equal(t, n, all)
}

func TestAnAppWithNothingToAskIsOpenUnlessCredentialsAreRequired(t *testing.T) {
	apps := publish(open(t, app("blog", "blog.example.com")))
	for required, want := range map[bool]snapshot.Reason{false: snapshot.ReasonAllowed, true: snapshot.ReasonAppInvalid} {
		d := decider(start).Decide(apps, snapshot.Request{Host: "blog.example.com", RequireCredentials: required})
		assert.Equal(t, want, d.Reason)
		assert.Equal(t, "blog", d.AppName())
	}
}
