package files

import (
	"fmt"
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

// truncate makes a file that is as large as it takes, and takes no space.
func (f *fixture) truncate(name string, size int64) {
	f.t.Helper()
	f.write(name, "")
	require.NoError(f.t, os.Truncate(filepath.Join(f.dir, name), size))
}

func (f *fixture) mkdir(name string) {
	f.t.Helper()
	require.NoError(f.t, os.MkdirAll(filepath.Join(f.dir, name), 0o755))
}

func TestATreeThatMeansHarmIsRefusedAlone(t *testing.T) {
	const (
		large    = "directory demo/open: its keys are larger than 1 MiB together; remove what is no credential, or split the Secret"
		dataFile = "directory demo/open: its ..data names what is no directory; mount it as kubelet does, or remove ..data"
		linked   = "directory demo/open: is a symbolic link; put the directory itself there"
		leaves   = `key "token": is a symbolic link that leaves the directory; put the file itself there`
	)
	tests := []struct {
		name   string
		make   func(f *fixture)
		detail string
	}{
		{"a version that is a file", func(f *fixture) {
			f.write("demo/open/file", "x")
			f.link("file", "demo/open/..data")
		}, dataFile},
		{"a version that is a link to another Secret", func(f *fixture) {
			f.link("../other", "demo/open/x")
			f.link("x", "demo/open/..data")
		}, dataFile},
		{"keys that are too large together", func(f *fixture) {
			f.truncate("demo/open/a", maxTree)
			f.write("demo/open/b", "x")
		}, large},
		{"keys whose sizes overflow together", func(f *fixture) {
			for i := range 4 {
				f.truncate(fmt.Sprintf("demo/open/k%d", i), 1<<43)
			}
		}, large},
		{"too many files", func(f *fixture) {
			f.mkdir("demo/open")
			for i := range maxEntries + 1 {
				require.NoError(f.t, os.Symlink("x", filepath.Join(f.dir, "demo/open", fmt.Sprint(i))))
			}
		}, "directory demo/open: holds more than 4096 files; remove those that belong elsewhere"},
		{"a key that is a link to another Secret's", func(f *fixture) { f.link("../other/token", "demo/open/token") }, leaves},
		{"a key that is a link to another namespace's", func(f *fixture) {
			f.write("shop/third/token", "two")
			f.link("../../shop/third/token", "demo/open/token")
		}, leaves},
		{"a key that is a link through a link", func(f *fixture) {
			f.link("../other", "demo/open/x")
			f.link("x/token", "demo/open/token")
		}, leaves},
		{"a key in a version that is a link to another Secret's", func(f *fixture) {
			f.link("../../other/token", "demo/open/..one/token")
			f.link("..one", "demo/open/..data")
		}, leaves},
		{"a key that is a link into a file", func(f *fixture) {
			f.write("demo/open/a", "x")
			f.link("a/b", "demo/open/token")
		}, `key "token": not a directory`},
		{"a Secret that is a link to another", func(f *fixture) { f.link("other", "demo/open") }, linked},
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

func TestANamespaceThatIsALinkToAnotherIsRefused(t *testing.T) {
	f := newFixture(t, openKey)
	f.write("shop/open/token", "two")
	f.link("shop", "demo")
	f.settle()
	assert.Equal(t, snapshot.Forbidden("directory demo: is a symbolic link; put the directory itself there"), f.state(openKey))
}

func TestAPathIsNotFollowedThroughALinkThatComesLate(t *testing.T) {
	for _, replaced := range []string{"demo", "demo/open"} {
		t.Run(replaced, func(t *testing.T) {
			f := newFixture(t)
			f.write("demo/open/token", "one")
			root, err := os.OpenRoot(f.dir)
			require.NoError(t, err)
			defer root.Close()
			d, err := openDirectory(root, "demo/open", nil)
			require.NoError(t, err)

			require.NoError(t, os.Rename(filepath.Join(f.dir, replaced), filepath.Join(f.dir, "elsewhere")))
			target, err := filepath.Rel(filepath.Dir(replaced), "elsewhere")
			require.NoError(t, err)
			f.link(target, replaced)
			_, err = d.within()
			assert.ErrorIs(t, err, errDirectoryLink)
		})
	}
}

func TestTheRegistryTreeMayBeLargerThanOthers(t *testing.T) {
	f := newFixture(t)
	f.truncate("authz-bridge/registry/a", maxTree+1)
	f.settle()
	_, told := f.registry()
	assert.True(t, told)

	f.truncate("authz-bridge/registry/b", snapshot.MaxDocument-maxTree)
	f.settle()
	assert.Contains(t, f.failing[watchRegistry].Detail, "its keys are larger than 64 MiB together")
}

func TestAManifestThatWouldExpandIsRefused(t *testing.T) {
	bomb := header + "stringData:\n  a: &a " + strings.Repeat("x", 1000) + "\n  b: *a\n"
	_, _, err := decodeAll("a.yaml", "# first\n---\n"+bomb)
	assert.EqualError(t, err, "a.yaml:8: aliases are not read; write the value out")
}

func TestADocumentIsAsLargeAsASecretOrTheRegistry(t *testing.T) {
	large := strings.Repeat("#", maxSecret)
	for file, text := range map[string]string{
		"a.yaml": header + large,
		"a.json": `{"apiVersion":"v1","kind":"Secret","metadata":{"namespace":"demo","name":"open"},"data":{"a":"` + strings.Repeat("A", maxSecret) + `"}}`,
	} {
		defined, _, err := decodeAll(file, text)
		require.NoError(t, err)
		assert.Equal(t, file+":1: is larger than 2 MiB; remove what is no credential, or split the Secret", defined[0].refusal)
		assert.Nil(t, defined[0].secret)
	}
	defined, _, err := decodeAll("a.yaml", manifestOf(registryKey, "a", "b")+large)
	require.NoError(t, err)
	assert.Empty(t, defined[0].refusal)
}

func TestNoMessageIsAsLongAsTheFileLikes(t *testing.T) {
	long := strings.Repeat("f", 1<<20)
	defined, _, err := decodeAll("a.yaml", header+long[:1000]+": 1\n")
	require.NoError(t, err)
	assert.Equal(t, `a.yaml:1: unknown field "`+long[:61]+`..."; remove it, or correct its name`, defined[0].refusal)

	_, others, err := decodeAll("a.json", `{"apiVersion":"`+long+`","kind":"`+long+`"}`)
	require.NoError(t, err)
	assert.Len(t, others.kind, 2*maxShown+1)

	f := newFixture(t, openKey)
	f.write("kinds.yaml", strings.Repeat("---\nkind: K\napiVersion: A\n", 1000))
	f.write("same.yaml", strings.Repeat("---\n"+header, 1000))
	f.settle()
	kinds := f.logs.FilterMessage("manifest of another kind ignored; only Secrets are read").All()
	require.Len(t, kinds, 1)
	assert.Equal(t, map[string]any{"file": "kinds.yaml", "line": int64(2), "kind": "A K", "count": int64(1000)}, kinds[0].ContextMap())
	assert.Contains(t, f.state(openKey).Detail, " and 980 more places; remove all but one")
	assert.Less(t, len(f.state(openKey).Detail), 1000)
}

func TestManyOddNamesAreOneShortLine(t *testing.T) {
	f := newFixture(t, openKey)
	for i := range 100 {
		f.write(fmt.Sprintf("demo/open/odd~%d", i), "x")
	}
	f.settle()
	entry := f.logs.FilterMessage("files ignored; their names are no keys of a Secret").All()[0].ContextMap()
	assert.Len(t, entry["files"], maxNames)
	assert.Equal(t, int64(100), entry["count"])
}

func TestATopLevelWithTooManyEntriesKeepsWhatWasRead(t *testing.T) {
	f := newFixture(t)
	root, err := os.OpenRoot(f.dir)
	require.NoError(t, err)
	defer root.Close()
	f.write("a.yaml", "")
	f.write("b.yaml", "")
	top, err := openDirectory(root, ".", nil)
	require.NoError(t, err)
	entries, err := top.list(2)
	require.NoError(t, err)
	assert.Len(t, entries, 2)
	_, err = top.list(1)
	assert.EqualError(t, err, "holds more than 1 files; remove those that belong elsewhere")
}

func TestAPanicIsAFailureOfOneFile(t *testing.T) {
	d := decoder{registry: registryKey, seal: newSeal(), wanted: func(snapshot.Key) bool { panic("not-a-secret") }}
	m := &manifest{name: "a.yaml"}
	m.take([]byte("\n"+header), d)
	assert.Equal(t, &mirror.Failure{Kind: mirror.FailureInvalid, Detail: "a.yaml:2: cannot be decoded (string)"}, m.failure())
	assert.False(t, m.good)
}

func TestAPanicIsAFailureOfOneTree(t *testing.T) {
	tr := &tree{key: openKey}
	seen := tr.look(lookup{found: true}, time.Now()) // without a root there is nothing to look in
	assert.Equal(t, same, seen)
	require.NotNil(t, tr.failure)
	assert.Equal(t, mirror.FailureInvalid, tr.failure.Kind)
	assert.Regexp(t, `^directory demo/open: cannot be decoded \(runtime\.\w+\); what was read before stays in use$`, tr.failure.Detail)
}

func TestNoMoreThanAHundredFailuresAreToldAtOnce(t *testing.T) {
	current := make(map[string]mirror.Failure)
	for i := range 150 {
		current[fmt.Sprintf("file %03d", i)] = mirror.Failure{Kind: mirror.FailureInvalid, Detail: "x"}
	}
	var f failures
	r := newRecorder()
	now := time.Now()
	f.tell(r, now, current)
	assert.Len(t, r.failing, maxFailures+1)
	assert.Equal(t, mirror.Failure{
		Kind:   mirror.FailureInvalid,
		Detail: "50 more failures are left out; correct those that are told",
	}, r.failing[watchOthers])

	current["a"] = mirror.Failure{Kind: mirror.FailureInvalid, Detail: "x"}
	f.tell(r, now, current)
	assert.NotContains(t, r.failing, "a", "what was told stays told")
	assert.NotContains(t, r.calls(), "recovered file 099")

	current[watchRegistry] = mirror.Failure{Kind: mirror.FailureInvalid, Detail: "x"}
	current["secret z"] = mirror.Failure{Kind: mirror.FailureContact, Detail: "x"}
	f.tell(r, now, current)
	assert.Contains(t, r.failing, watchRegistry)
	assert.Contains(t, r.failing, "secret z")

	f.tell(r, now, nil)
	assert.Empty(t, r.failing)
}
