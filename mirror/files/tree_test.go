package files

import (
	"maps"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

func TestAPlainTreeIsFollowedFromCreationToDeletion(t *testing.T) {
	f := newFixture(t, openKey)
	f.write("demo/open/token", "one")
	f.settle()
	assert.Equal(t, "one", f.value(openKey, "token"))
	assert.Equal(t, "Opaque", f.state(openKey).Secret.Type())
	version := f.state(openKey).Secret.Version()

	f.write("demo/open/second", "two")
	f.settle()
	assert.Equal(t, "two", f.value(openKey, "second"))

	f.remove("demo/open/second")
	f.settle()
	assert.Equal(t, version, f.state(openKey).Secret.Version())

	f.remove("demo")
	f.settle()
	assert.Equal(t, snapshot.SecretAbsent, f.state(openKey).Status)
}

func TestTheRegistryMayBeATree(t *testing.T) {
	f := newFixture(t)
	f.write("authz-bridge/registry/registry.yaml", "version: 1")
	f.settle()
	registry, told := f.registry()
	require.True(t, told)
	document, _ := registry.Value("registry.yaml")
	assert.Equal(t, "version: 1", document)

	f.remove("authz-bridge/registry")
	f.settle()
	registry, _ = f.registry()
	assert.Nil(t, registry)
}

func TestADirectoryWithoutFilesIsASecretWithoutData(t *testing.T) {
	f := newFixture(t, openKey)
	require.NoError(t, os.MkdirAll(filepath.Join(f.dir, "demo/open/sub"), 0o755))
	f.settle()
	require.NotNil(t, f.state(openKey).Secret)
	assert.Zero(t, f.state(openKey).Secret.Len())
}

// kubeletPlaces are the places that a volume can be mounted at.
var kubeletPlaces = []struct{ name, mount, prefix string }{
	{"a Secret mounted as one", "demo/open", ""},
	{"a projected volume of a namespace", "demo", "open/"},
	{"a projected volume of everything", "", "demo/open/"},
}

func TestAVolumeAsKubeletMountsIt(t *testing.T) {
	for _, tt := range kubeletPlaces {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t, openKey)
			v := newVolume(t, filepath.Join(f.dir, tt.mount))
			v.write(map[string]string{tt.prefix + "token": "one", tt.prefix + "old": "x"})
			f.glance()
			assert.Equal(t, "one", f.value(openKey, "token"), "a version is whole: no need to wait")
			assert.Equal(t, []string{"old", "token"}, f.state(openKey).Secret.Keys())

			v.write(map[string]string{tt.prefix + "token": "two", tt.prefix + "new": "y"})
			f.glance()
			assert.Equal(t, "two", f.value(openKey, "token"))
			assert.Equal(t, []string{"new", "token"}, f.state(openKey).Secret.Keys())
			assert.Empty(t, f.failing)
		})
	}
}

func TestManifestsInAVolume(t *testing.T) {
	f := newFixture(t, openKey)
	v := newVolume(t, f.dir)
	v.write(map[string]string{"registry.yaml": manifestOf(registryKey, "a", "b"), "open.yaml": manifestOf(openKey, "token", "one")})
	f.glance()
	assert.Equal(t, "one", f.value(openKey, "token"))

	v.write(map[string]string{"registry.yaml": manifestOf(registryKey, "a", "b"), "open.yaml": manifestOf(openKey, "token", "two")})
	f.glance()
	assert.Equal(t, "two", f.value(openKey, "token"))
	assert.Len(t, f.registries, 1)
}

func TestTheKeysComeFromTheVersionAndNotFromTheLinks(t *testing.T) {
	f := newFixture(t, openKey)
	v := newVolume(t, filepath.Join(f.dir, "demo/open"))
	v.write(map[string]string{"token": "one", "old": "x"})
	// As after the swap and before kubelet has made the links new.
	f.write("demo/open/..next/token", "two")
	f.write("demo/open/..next/new", "y")
	f.link("..next", "demo/open/..data_tmp")
	require.NoError(t, os.Rename(filepath.Join(f.dir, "demo/open/..data_tmp"), filepath.Join(f.dir, "demo/open/..data")))
	f.glance()
	assert.Equal(t, []string{"new", "token"}, f.state(openKey).Secret.Keys())
}

func TestAReadThatASwapInterruptsIsNotUsed(t *testing.T) {
	f := newFixture(t, openKey)
	v := newVolume(t, filepath.Join(f.dir, "demo/open"))
	v.write(map[string]string{"a": "one", "b": "one"})
	root, err := os.OpenRoot(f.dir)
	require.NoError(t, err)
	defer root.Close()
	d, err := openDirectory(root, "demo/open", nil)
	require.NoError(t, err)
	content, err := listTree(d)
	require.NoError(t, err)

	v.write(map[string]string{"a": "two", "b": "two"})
	_, err = content.read()
	assert.True(t, swapped(err), "%v", err)
	_, err = listTree(d)
	assert.ErrorIs(t, err, errMoved)
	assert.True(t, d.moved())
}

func TestAVersionThatIsBeingRemovedIsNotUsed(t *testing.T) {
	f := newFixture(t)
	f.write("demo/open/..one/a", "one")
	f.write("demo/open/..one/b", "one")
	f.write("demo/open/..two/a", "two")
	f.link("..one", "demo/open/..data")
	root, err := os.OpenRoot(f.dir)
	require.NoError(t, err)
	defer root.Close()
	d, err := openDirectory(root, "demo/open", nil)
	require.NoError(t, err)

	f.link("..two", "demo/open/..data_tmp")
	require.NoError(t, os.Rename(filepath.Join(f.dir, "demo/open/..data_tmp"), filepath.Join(f.dir, "demo/open/..data")))
	f.remove("demo/open/..one/b")
	content, err := listTree(d)
	require.NoError(t, err)
	assert.Len(t, content.keys, 1, "half of it is gone")
	_, err = content.read()
	assert.ErrorIs(t, err, errMoved)
}

func TestALinkThatLeadsIntoTheNextVersionIsNotFollowed(t *testing.T) {
	f := newFixture(t)
	v := newVolume(t, filepath.Join(f.dir, "demo"))
	v.write(map[string]string{"other/token": "one"})
	root, err := os.OpenRoot(f.dir)
	require.NoError(t, err)
	defer root.Close()
	d, err := openDirectory(root, "demo", nil)
	require.NoError(t, err)
	assert.Equal(t, lookup{}, d.child("open"))

	v.write(map[string]string{"open/token": "two"})
	assert.Equal(t, lookup{err: errMoved}, d.child("open"))
}

func TestNamesThatAreNoKeysAreIgnoredAloud(t *testing.T) {
	f := newFixture(t, openKey)
	for _, name := range []string{"token", "bad name", "token~", ".hidden", "..twodots"} {
		f.write("demo/open/"+name, "one")
	}
	f.settle()
	assert.Equal(t, []string{".hidden", "token"}, f.state(openKey).Secret.Keys())
	require.Equal(t, 1, f.logs.Len())
	entry := f.logs.TakeAll()[0]
	assert.Equal(t, "files ignored; their names are no keys of a Secret", entry.Message)
	assert.Equal(t, []any{"bad name", "token~"}, entry.ContextMap()["files"])
	f.settle()
	assert.Zero(t, f.logs.Len())
}

func TestATreeThatCannotBeReadIsRefusedAlone(t *testing.T) {
	outside := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "token"), []byte("outside"), 0o600))
	tests := []struct {
		name   string
		make   func(f *fixture)
		detail string
	}{
		{
			"a key that links out of the directory", func(f *fixture) { f.link(filepath.Join(outside, "token"), "demo/open/token") },
			`key "token": is a symbolic link that leaves the directory; put the file itself there`,
		},
		{
			"a Secret that links out of the directory", func(f *fixture) { f.link(outside, "demo/open") },
			"directory demo/open: is a symbolic link; put the directory itself there",
		},
		{
			"a version that is elsewhere", func(f *fixture) { f.link("../../store", "demo/open/..data") },
			"directory demo/open: its ..data does not name a directory beside it; mount it as kubelet does, or remove ..data",
		},
		{
			"a version that is the directory above", func(f *fixture) { f.link("..", "demo/open/..data") },
			"directory demo/open: its ..data does not name a directory beside it; mount it as kubelet does, or remove ..data",
		},
		{
			"a version that is missing", func(f *fixture) { f.link("..gone", "demo/open/..data") },
			"directory demo/open: its ..data names a directory that does not exist; mount it as kubelet does, or remove ..data",
		},
		{"a key that is too large", func(f *fixture) {
			f.write("demo/open/token", "")
			require.NoError(f.t, os.Truncate(filepath.Join(f.dir, "demo/open/token"), maxTree+1))
		}, "directory demo/open: its keys are larger than 1 MiB together; remove what is no credential, or split the Secret"},
		{"a key that is a pipe", func(f *fixture) {
			f.write("demo/open/other", "x")
			require.NoError(f.t, syscall.Mkfifo(filepath.Join(f.dir, "demo/open/token"), 0o600))
		}, `key "token": is no regular file`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t, openKey, otherKey)
			f.write("demo/other/token", "two")
			tt.make(f)
			f.settle()
			assert.Equal(t, snapshot.Forbidden(tt.detail), f.state(openKey))
			assert.Equal(t, "two", f.value(otherKey, "token"))
			assert.Empty(t, f.failing)

			f.remove("demo/open")
			f.write("demo/open/token", "one")
			f.settle()
			assert.Equal(t, "one", f.value(openKey, "token"))
		})
	}
}

func TestARegistryTreeThatCannotBeReadKeepsTheLastGoodOne(t *testing.T) {
	f := newFixture(t)
	f.write("authz-bridge/registry/registry.yaml", "version: 1")
	f.settle()
	f.forget()
	f.remove("authz-bridge/registry/registry.yaml")
	f.link("/elsewhere", "authz-bridge/registry/registry.yaml")
	f.settle()
	assert.NotContains(t, f.calls(), "registry")
	failure, _ := f.failure("registry")
	assert.Equal(t, mirror.Failure{
		Kind: mirror.FailureInvalid,
		Detail: `authz-bridge/registry: key "registry.yaml": is a symbolic link that leaves the directory; ` +
			`put the file itself there; the last good one stays in use`,
	}, failure)

	f.remove("authz-bridge/registry/registry.yaml")
	f.write("authz-bridge/registry/registry.yaml", "version: 1")
	f.settle()
	assert.NotContains(t, f.calls(), "registry", "the content is the same")
	assert.Empty(t, f.failing)
}

func TestWhatIsNotWantedIsNeverLookedAt(t *testing.T) {
	f := newFixture(t, openKey)
	f.write("demo/open/token", "one")
	f.link("/elsewhere", "demo/other")
	f.link("/elsewhere", "third")
	f.write("Not_A_Namespace/x/y", "z")
	f.settle()
	assert.ElementsMatch(t, []snapshot.Key{openKey, registryKey}, keysOf(f.look.trees))
	assert.Zero(t, f.logs.Len())
}

func keysOf(trees map[snapshot.Key]*tree) []snapshot.Key {
	var all []snapshot.Key
	for key := range maps.Keys(trees) {
		all = append(all, key)
	}
	return all
}
