package snapshot_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

func TestRegistryTellsWhichSecretItWasReadFrom(t *testing.T) {
	reg := registry(t, shop)
	assert.Equal(t, registryKey, reg.Key())
	assert.Equal(t, "uid-registry", reg.UID())
	assert.Equal(t, "7", reg.Version())
	assert.True(t, reg.Present())
}

func TestAppNameThatAppearsTwiceMakesEveryOneInvalid(t *testing.T) {
	reg := registry(t,
		app("shop", "a.example.com"),
		app("blog", "blog.example.com"),
		app("shop", "b.example.com"),
		app("shop", "c.example.com").with("quota", 1),
	)
	apps := build(t, snapshot.NewObjects(start, reg, allPresent(reg)))
	for _, host := range []string{"a.example.com", "b.example.com", "c.example.com"} {
		assert.Equal(t, "shop: app_invalid", answer(apps, host))
	}
	assert.Equal(t, "blog: allowed", answer(apps, "blog.example.com"))

	const twice = "name: more than one App has this name; rename all but one"
	assert.EqualError(t, reg.Entries()[0].Err, twice)
	assert.EqualError(t, reg.Entries()[2].Err, twice)
	assert.ErrorContains(t, reg.Entries()[3].Err, `unknown field "quota"`, "the first reason stays")
	assert.Len(t, reg.References(), 1, "nothing that they refer to is read")
}

func TestNamesThatDifferInCaseAreNotTheSame(t *testing.T) {
	reg := registry(t, app("shop", "a.example.com"), app("Shop", "b.example.com"), app("", "c.example.com"), app("", "d.example.com"))
	require.NoError(t, reg.Entries()[0].Err)
	names := make([]string, 0, 4)
	for _, e := range reg.Entries() {
		names = append(names, e.Name)
	}
	assert.Equal(t, []string{"shop", "apps[1]", "apps[2]", "apps[3]"}, names)
}

func TestReferencesAreTheDataKeysOfEachSecret(t *testing.T) {
	ref := func(name, key string) entry {
		if key == "" {
			return entry{"name": name}
		}
		return entry{"name": name, "key": key}
	}
	var apps []entry
	for i, r := range []entry{
		ref("one", "token"), ref("one", "auth"), ref("one", "token"),
		ref("all", "token"), ref("all", ""), ref("all", "auth"),
		ref("wrong", ""),
	} {
		apps = append(apps, app(fmt.Sprintf("app-%d", i), fmt.Sprintf("app-%d.example.com", i)).with("secretRef", r))
	}
	apps[6]["anyOf"] = 1

	assert.Equal(t, map[snapshot.Key]snapshot.Reference{
		{Namespace: "edge", Name: "one"}: {Keys: []string{"auth", "token"}},
		{Namespace: "edge", Name: "all"}: {All: true},
	}, registry(t, apps...).References())
}

// FuzzParseRegistry tries each data key with the text as it is, and packed.
func FuzzParseRegistry(f *testing.F) {
	forms := []struct {
		dataKey string
		packed  bool
	}{
		{"registry.json", false},
		{"registry.yaml", false},
		{"registry.json.gz", true},
		{"registry.yaml.gz", true},
		{"registry.json.gz", false},
		{"registry.yaml.gz", false},
	}
	for form := range forms {
		for _, text := range []string{
			"", jsonDocument, yamlDocument, gzipped(f, jsonDocument),
			`{"version": 2, "apps": {}}`,
			`{"version": 1, "apps": [{"name": "a", "hostnames": ["*.a", "b", "b"], "secretRef": {"name": "a"}, "anyOf": 1}, null]}`,
			`{"version": 1, "apps": [{"name": "a", "hostnames": ["c"], "hostnames": ["d"], "secretReady": 1}]}`,
			"version: 1\napps:\n- &a {name: a, hostnames: [a.b], secretRef: {name: a}}\n- *a\n",
			"version: 1\n---\nversion: 1\n",
			"a: &a [b, b]\nc: [*a, *a]\n<<: *a\n",
		} {
			f.Add(byte(form), text)
		}
	}

	f.Fuzz(func(t *testing.T, form byte, text string) {
		kind := forms[int(form)%len(forms)]
		if kind.packed {
			text = gzipped(t, text)
		}
		reg, err := parseText(kind.dataKey, text)
		if err != nil {
			requireMalformed(t, reg, err)
			return
		}
		for _, states := range []map[snapshot.Key]snapshot.SecretState{nil, allPresent(reg)} {
			apps := build(t, snapshot.NewObjects(start, reg, states))
			requireConsistent(t, reg, apps)
		}
	})
}

// requireConsistent checks what holds for every Registry that can be read.
func requireConsistent(t *testing.T, reg *snapshot.Registry, apps *snapshot.Apps) {
	t.Helper()
	require.Equal(t, len(reg.Entries()), apps.Len())
	claimed := make(map[string]int)
	for _, e := range reg.Entries() {
		for _, h := range e.Hostnames {
			claimed[h]++
		}
	}
	require.Equal(t, len(claimed), apps.Hostnames())
	valid := make(map[string]bool)
	for i, e := range reg.Entries() {
		require.Equal(t, e.Err == nil, e.SecretRef != snapshot.SecretRef{})
		require.Equal(t, e.Err != nil, apps.At(i).Reason == snapshot.ReasonAppInvalid)
		if e.Err == nil {
			require.NotContains(t, valid, e.Name, "a name is valid once")
			valid[e.Name] = true
			require.True(t, snapshot.ValidLabel(e.Name))
			require.NotEmpty(t, e.Hostnames)
			require.Contains(t, reg.References(), e.SecretRef.Secret)
			require.NotEqual(t, reg.Key(), e.SecretRef.Secret)
		} else {
			requireReadable(t, e.Err)
		}
		for _, h := range e.Hostnames {
			requireServed(t, apps, i, h, claimed[h] > 1)
		}
	}
}

func requireServed(t *testing.T, apps *snapshot.Apps, position int, pattern string, contested bool) {
	t.Helper()
	if pattern[0] == '*' {
		_, reason := apps.Lookup(pattern)
		require.Equal(t, snapshot.ReasonInvalidHost, reason)
		return // an exact hostname of another App may be in front of it
	}
	name, err := snapshot.NormalizeHostname(pattern)
	require.NoError(t, err)
	require.Equal(t, pattern, name)
	found, reason := apps.Lookup(pattern)
	if contested {
		require.Nil(t, found)
		require.Equal(t, snapshot.ReasonHostConflict, reason)
		return
	}
	require.Same(t, apps.At(position), found)
	require.Equal(t, found.Reason, reason)
}

func TestEntriesThatStayTheSameAreSharedWithTheDocumentBefore(t *testing.T) {
	blog := app("blog", "blog.example.com").with("expiresAt", "2028-01-01T00:00:00Z").with("allowCIDRs", list{"10.0.0.0/8"})
	wrong := app("wrong", "wrong.example.com").with("quota", 1)
	first := registry(t, shop, blog, wrong)
	alike := registry(t, shop, blog, wrong).Share(first)
	for i := range first.Entries() {
		assert.Same(t, first.Entries()[i], alike.Entries()[i])
	}
	for what, other := range map[string]entry{
		"hostnames":  app("blog", "b.example.com").with("expiresAt", "2028-01-01T00:00:00Z").with("allowCIDRs", list{"10.0.0.0/8"}),
		"expiresAt":  blog.with("expiresAt", "2029-01-01T00:00:00Z"),
		"allowCIDRs": blog.with("allowCIDRs", list{"10.0.0.0/9"}),
		"secretRef":  blog.with("secretRef", object{"name": "other"}),
		"anyOf":      blog.with("anyOf", list{apiKey(inHeader)}),
		"upstreams":  blog.with("upstreams", list{"a:80"}),
		"an error":   blog.with("quota", 1),
	} {
		parsed := registry(t, shop, other)
		second := parsed.Share(first)
		assert.Same(t, first.Entries()[0], second.Entries()[0], what)
		assert.Same(t, parsed.Entries()[1], second.Entries()[1], what)
		assert.Len(t, second.Entries(), 2)
		assert.Equal(t, parsed.References(), second.References())
	}
	assert.Same(t, first, first.Share(nil))
}

func TestAppsThatChangeShareThePolicyOfTheDocumentBefore(t *testing.T) {
	alike := func(name, host string) entry { return app(name, host).with("anyOf", list{apiKey(inHeader)}) }
	first := registry(t, alike("a", "a.example.com"), alike("b", "b.example.com"))
	second := registry(t, alike("a", "other.example.com"), alike("b", "b.example.com"), alike("c", "c.example.com")).Share(first)
	policy := first.Entries()[0].Policy
	for _, e := range second.Entries() {
		assert.Same(t, policy, e.Policy, e.Name)
	}
	assert.Equal(t, []string{"other.example.com"}, second.Entries()[0].Hostnames)

	third := registry(t, app("a", "a.example.com").with("anyOf", list{apiKey(inBearer)})).Share(second)
	assert.NotSame(t, policy, third.Entries()[0].Policy)
	assert.Equal(t, registry(t, app("a", "a.example.com").with("anyOf", list{apiKey(inBearer)})).Entries(), third.Entries())
}
