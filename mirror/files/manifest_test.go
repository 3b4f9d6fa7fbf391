package files

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

func TestAManifestIsFollowedFromCreationToDeletion(t *testing.T) {
	f := newFixture(t, openKey)
	f.settle()
	assert.Equal(t, snapshot.SecretAbsent, f.state(openKey).Status)
	registry, told := f.registry()
	assert.True(t, told)
	assert.Nil(t, registry)

	f.write("open.yaml", manifestOf(openKey, "token", "one"))
	f.settle()
	assert.Equal(t, "one", f.value(openKey, "token"))

	f.write("open.yaml", manifestOf(openKey, "token", "two"))
	f.settle()
	assert.Equal(t, "two", f.value(openKey, "token"))

	f.remove("open.yaml")
	f.settle()
	assert.Equal(t, snapshot.SecretAbsent, f.state(openKey).Status)
}

func TestTheRegistryIsToldBeforeTheSecretsOfTheSameLook(t *testing.T) {
	f := newFixture(t, openKey)
	f.write("all.yaml", manifestOf(registryKey, "registry.yaml", "version: 1")+"---\n"+manifestOf(openKey, "token", "one"))
	f.settle()
	assert.Equal(t, []string{"registry", "secrets"}, f.calls())
}

func TestNothingIsToldWhereNothingDiffers(t *testing.T) {
	f := newFixture(t, openKey)
	f.write("open.yaml", manifestOf(openKey, "token", "one"))
	f.settle()
	f.forget()

	f.settle()
	f.write("open.yaml", "# the same in other words\n"+manifestOf(openKey, "token", "one"))
	f.settle()
	f.write("unrelated.yaml", manifestOf(otherKey, "token", "two"))
	f.settle()
	assert.Empty(t, f.calls())
}

func TestALookThatFindsNothingNewReadsNothing(t *testing.T) {
	f := newFixture(t, openKey)
	f.write("open.yaml", manifestOf(openKey, "token", "one"))
	f.settle()
	before := f.look.manifests["open.yaml"].defined[0]
	f.settle()
	assert.Same(t, before, f.look.manifests["open.yaml"].defined[0])
}

func TestOnlyWhatIsWantedIsKept(t *testing.T) {
	f := newFixture(t)
	f.write("two.yaml", manifestOf(openKey, "token", "one")+"---\n"+manifestOf(otherKey, "token", "two"))
	f.settle()
	for _, def := range f.look.manifests["two.yaml"].defined {
		assert.Nil(t, def.secret)
	}
	assert.NotContains(t, f.calls(), "secrets")

	f.want(openKey)
	f.glance()
	assert.Equal(t, "one", f.value(openKey, "token"), "read again, at once")
	assert.Nil(t, f.look.manifests["two.yaml"].defined[1].secret)

	f.want(otherKey)
	f.glance()
	assert.Equal(t, "two", f.value(otherKey, "token"))
	assert.Nil(t, f.look.manifests["two.yaml"].defined[0].secret)
	assert.NotContains(t, f.look.trees, openKey)
}

func TestTheVersionFollowsTheContent(t *testing.T) {
	version := func(f *fixture) string { return f.state(openKey).Secret.Version() }
	f := newFixture(t, openKey)
	f.write("open.yaml", manifestOf(openKey, "token", "one"))
	f.settle()
	first := version(f)
	assert.Len(t, first, 16)
	assert.Empty(t, f.state(openKey).Secret.UID())

	f.write("open.yaml", manifestOf(openKey, "token", "two"))
	f.settle()
	assert.NotEqual(t, first, version(f))

	f.write("open.yaml", manifestOf(openKey, "token", "one")+"type: kubernetes.io/basic-auth\n")
	f.settle()
	assert.NotEqual(t, first, version(f), "the type is content")

	f.remove("open.yaml")
	f.write("moved.yaml", manifestOf(openKey, "token", "one"))
	f.settle()
	assert.Equal(t, first, version(f), "the same content in another file")

	other := newFixture(t, openKey)
	other.write("open.yaml", manifestOf(openKey, "token", "one"))
	other.settle()
	assert.NotEqual(t, first, version(other), "another Source has another key")
}

func TestTheOwnersLabelIsContent(t *testing.T) {
	f := newFixture(t, openKey)
	f.write("open.yaml", manifestOf(openKey, "token", "one"))
	f.settle()
	plain := f.state(openKey).Secret
	assert.False(t, plain.MayInject())

	f.write("open.yaml", strings.Replace(manifestOf(openKey, "token", "one"), "metadata:\n", "metadata:\n  labels: {authz-bridge/inject: \"true\"}\n", 1))
	f.settle()
	labelled := f.state(openKey).Secret
	assert.True(t, labelled.MayInject())
	assert.NotEqual(t, plain.Version(), labelled.Version())
}

func TestAManifestThatDoesNotParseKeepsWhatItDefinedLast(t *testing.T) {
	f := newFixture(t, openKey)
	f.write("registry.yaml", manifestOf(registryKey, "registry.yaml", "version: 1"))
	f.write("open.yaml", manifestOf(openKey, "token", "one"))
	f.settle()
	f.forget()

	f.write("open.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: open")
	f.write("registry.yaml", "apiVersion: v1\n\tkind: Secret")
	f.settle()
	assert.Equal(t, "one", f.value(openKey, "token"))
	for _, call := range f.calls() {
		assert.True(t, strings.HasPrefix(call, "failed file "), call)
	}
	failure, _ := f.failure("file open.yaml")
	assert.Equal(t, mirror.FailureInvalid, failure.Kind)
	assert.Regexp(t, `^open\.yaml:\d+: did not find expected`, failure.Detail)

	f.settle()
	f.forget()
	f.write("open.yaml", manifestOf(openKey, "token", "two"))
	f.write("registry.yaml", manifestOf(registryKey, "registry.yaml", "version: 1"))
	f.settle()
	assert.Equal(t, "two", f.value(openKey, "token"))
	assert.ElementsMatch(t, []string{"secrets", "recovered file open.yaml", "recovered file registry.yaml"}, f.calls())
}

func TestADocumentThatIsWrongHoldsBackNoOther(t *testing.T) {
	good, bad := manifestOf(otherKey, "token", "one"), "apiVersion: v1\nkind: Secret\nmetadata: {namespace: demo, name: open}\ndata: {token: '%%%'}\n"
	f := newFixture(t, openKey, otherKey)
	f.write("two.yaml", good+"---\n"+bad)
	f.settle()
	assert.Equal(t, "one", f.value(otherKey, "token"))
	assert.Equal(t, snapshot.Forbidden(`two.yaml:9: data: key "token": is no base64; encode it, or write it under stringData`), f.state(openKey))
	assert.Contains(t, f.failing, "file two.yaml")

	f.write("two.yaml", good+"---\n"+manifestOf(openKey, "token", "two"))
	f.settle()
	assert.Equal(t, "two", f.value(openKey, "token"))
	assert.Empty(t, f.failing)

	f.write("two.yaml", manifestOf(otherKey, "token", "three")+"---\n"+bad)
	f.settle()
	assert.Equal(t, "three", f.value(otherKey, "token"))
	assert.Equal(t, "two", f.value(openKey, "token"), "the last good one")
	assert.Contains(t, f.failing, "file two.yaml")
}

func TestWhileAManifestWasNeverReadNothingCountsAsAbsent(t *testing.T) {
	f := newFixture(t, openKey, otherKey)
	f.write("broken.yaml", "}")
	f.write("open.yaml", manifestOf(openKey, "token", "one"))
	f.settle()
	_, told := f.registry()
	assert.False(t, told, "the Registry may be in there")
	assert.Equal(t, "one", f.value(openKey, "token"), "what is known is told")
	assert.Equal(t, snapshot.SecretPending, f.state(otherKey).Status)

	f.remove("open.yaml")
	f.settle()
	assert.Equal(t, snapshot.SecretAbsent, f.state(openKey).Status, "what was open closes")

	f.remove("broken.yaml")
	f.settle()
	registry, told := f.registry()
	assert.True(t, told)
	assert.Nil(t, registry)
	assert.Equal(t, snapshot.SecretAbsent, f.state(otherKey).Status)
}

func TestARegistryThatIsWrongKeepsTheLastGoodOne(t *testing.T) {
	f := newFixture(t)
	bad := "apiVersion: v1\nkind: Secret\nmetadata: {name: registry}\nstringdata: {}\n"
	f.write("registry.yaml", bad)
	f.settle()
	_, told := f.registry()
	assert.False(t, told)
	failure, _ := f.failure("registry")
	assert.Equal(t, `authz-bridge/registry: registry.yaml:1: unknown field "stringdata"; remove it, or correct its name; the last good one stays in use`, failure.Detail)

	f.write("registry.yaml", manifestOf(registryKey, "registry.yaml", "version: 1"))
	f.settle()
	_, told = f.registry()
	assert.True(t, told)
	assert.Empty(t, f.failing)

	f.forget()
	f.write("registry.yaml", bad)
	f.settle()
	assert.NotContains(t, f.calls(), "registry")
	assert.Contains(t, f.failing, "file registry.yaml")
}

func TestOtherKindsAreReportedOnceForEachContent(t *testing.T) {
	f := newFixture(t, openKey)
	namespace := "apiVersion: v1\nkind: Namespace\nmetadata: {name: demo}\n"
	f.write("all.yaml", namespace+"---\napiVersion: v1\nkind: ConfigMap\n")
	f.settle()
	require.Equal(t, 1, f.logs.Len())
	entry := f.logs.TakeAll()[0]
	assert.Equal(t, "manifest of another kind ignored; only Secrets are read", entry.Message)
	assert.Equal(t, map[string]any{"file": "all.yaml", "line": int64(5), "kind": "v1 ConfigMap", "count": int64(1)}, entry.ContextMap())

	f.write("all.yaml", namespace+"---\napiVersion: v1\nkind: ConfigMap\n")
	f.settle()
	assert.Zero(t, f.logs.Len(), "the same content in another file")

	f.write("all.yaml", namespace+"---\napiVersion: apps/v1\nkind: Deployment\n")
	f.settle()
	assert.Equal(t, 1, f.logs.Len())
	assert.Empty(t, f.failing)
}

func TestWhichNamesAreManifests(t *testing.T) {
	for name, is := range map[string]bool{
		"a.yaml": true, "a.yml": true, "a.json": true, "a.b.yaml": true,
		"a.txt": false, "a": false, ".a.yaml": false, "..data": false, "a.yaml~": false, "yaml": false, "a.YAML": false,
	} {
		assert.Equal(t, is, isManifest(name), name)
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside.yaml")
	require.NoError(t, os.WriteFile(outside, []byte(manifestOf(openKey, "token", "outside")), 0o600))
	tests := []struct {
		name   string
		make   func(f *fixture)
		detail string
	}{
		{
			"an absolute link that leaves the directory", func(f *fixture) { f.link(outside, "open.yaml") },
			"open.yaml: is a symbolic link that leaves the directory; put the file itself there",
		},
		{"a relative link that leaves the directory", func(f *fixture) {
			rel, err := filepath.Rel(f.dir, outside)
			require.NoError(f.t, err)
			f.link(rel, "open.yaml")
		}, "open.yaml: is a symbolic link that leaves the directory; put the file itself there"},
		{
			"a link to itself", func(f *fixture) { f.link("open.yaml", "open.yaml") },
			"open.yaml: is a symbolic link to itself",
		},
		{"a file that is too large", func(f *fixture) {
			f.write("open.yaml", "")
			require.NoError(f.t, os.Truncate(filepath.Join(f.dir, "open.yaml"), maxManifest+1))
		}, "open.yaml: is larger than 86 MiB; split it"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t, openKey)
			tt.make(f)
			f.settle()
			assert.Nil(t, f.state(openKey).Secret)
			failure, _ := f.failure("file open.yaml")
			assert.Equal(t, tt.detail, failure.Detail)

			f.remove("open.yaml")
			f.write("open.yaml", manifestOf(openKey, "token", "one"))
			f.settle()
			assert.Equal(t, "one", f.value(openKey, "token"))
			assert.Empty(t, f.failing)
		})
	}
}

func TestALinkThatStaysInTheDirectoryWorks(t *testing.T) {
	f := newFixture(t, openKey)
	f.write("store/real", manifestOf(openKey, "token", "one"))
	f.link("store/real", "open.yaml")
	f.settle()
	assert.Equal(t, "one", f.value(openKey, "token"))
}

func TestADirectoryNamedLikeAManifestIsNone(t *testing.T) {
	f := newFixture(t, openKey)
	require.NoError(t, os.Mkdir(filepath.Join(f.dir, "open.yaml"), 0o755))
	f.settle()
	assert.Equal(t, snapshot.SecretAbsent, f.state(openKey).Status)
	assert.Empty(t, f.failing)
}

func TestWhatIsWantedIsAsOldAsTheLastLookThatCouldReadIt(t *testing.T) {
	f := newFixture(t, openKey)
	f.write("registry.yaml", manifestOf(registryKey, "registry.yaml", "version: 1"))
	f.write("open.yaml", manifestOf(openKey, "token", "one"))
	f.settle()
	asOf := func() time.Time { return f.fresh.AsOf }
	first := asOf()
	require.False(t, first.IsZero())

	f.write("stray.yaml", "no: [manifest")
	f.settle()
	second := asOf()
	assert.True(t, second.After(first), "a stray file makes nothing old")

	f.write("open.yaml", "no: [manifest")
	f.settle()
	f.settle()
	assert.False(t, asOf().After(f.now.Add(-settleTime)), "what was revoked there nobody knows")
	third := asOf()
	f.settle()
	assert.Equal(t, third, asOf())

	f.write("open.yaml", manifestOf(openKey, "token", "two"))
	f.settle()
	assert.True(t, asOf().After(third))
}
