package kubetest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBinaryIsBuiltAnewWhenItsModuleChanges(t *testing.T) {
	module := map[string]string{"go.mod": "module m", "go.sum": "", "main.go": "package main"}
	before := hashOf(t, module)
	for name, content := range map[string]string{
		"go.mod": "module n", "go.sum": "a sum", "main.go": "package  main", "new.go": "package main",
	} {
		changed := map[string]string{name: content}
		for other, same := range module {
			if other != name {
				changed[other] = same
			}
		}
		assert.NotEqual(t, before, hashOf(t, changed), name)
	}
	module["README"] = "no part of the binary"
	assert.Equal(t, before, hashOf(t, module))
}

func TestBinaryIsFoundFromAnyDirectory(t *testing.T) {
	want, err := findClusterModule()
	require.NoError(t, err)
	t.Chdir(t.TempDir())

	found, err := findClusterModule()

	require.NoError(t, err)
	assert.Equal(t, want, found)
	assert.FileExists(t, filepath.Join(found.dir, "go.mod"))
}

func TestModuleIsFoundThroughTheGoCommandToo(t *testing.T) {
	found, err := clusterDirOfGoList()

	require.NoError(t, err)
	assert.Equal(t, clusterDirOfThisFile(), found)
}

func TestBuildFailureShowsWhatTheCompilerSays(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"go.mod":  "module m\n\ngo 1.26\n\n// k8s.io/kubernetes v1.2.3\n",
		"main.go": "package main\n\nfunc main() { nonsense }\n",
	})
	binary := filepath.Join(t.TempDir(), "cluster")

	err := build(clusterModule{dir: dir}, binary)

	require.ErrorContains(t, err, "undefined: nonsense")
	assert.NoFileExists(t, binary)
}

func TestVersionComesFromGoMod(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"go.mod": "require k8s.io/kubernetes v1.98.76\n"})

	flags, err := clusterModule{dir: dir}.linkerFlags()

	require.NoError(t, err)
	for _, want := range []string{".gitVersion=v1.98.76", ".gitMajor=1", ".gitMinor=98"} {
		assert.Contains(t, flags, "-X k8s.io/component-base/version"+want)
	}
}

func TestVersionThatIsAbsentIsAnError(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"go.mod": "module m\n"})

	_, err := clusterModule{dir: dir}.linkerFlags()

	assert.ErrorContains(t, err, "no release of k8s.io/kubernetes is required")
}

func hashOf(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	writeFiles(t, dir, files)
	hash, err := hashModule(dir)
	require.NoError(t, err)
	return hash
}

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
}
