package files

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

func TestADirectoryThatIsGoneKeepsWhatWasRead(t *testing.T) {
	f := newFixture(t, openKey)
	f.write("open.yaml", manifestOf(openKey, "token", "one"))
	f.write("demo/other/token", "two")
	f.settle()
	f.forget()

	away := f.dir + ".away"
	require.NoError(t, os.Rename(f.dir, away))
	f.settle()
	assert.Equal(t, []string{"failed directory", "failed directory"}, f.calls())
	failure, _ := f.failure("directory")
	assert.Equal(t, mirror.Failure{
		Kind:   mirror.FailureContact,
		Detail: f.dir + ": does not exist; what was read before stays in use",
	}, failure)

	f.want(openKey, otherKey)
	f.settle()
	assert.Equal(t, snapshot.SecretPending, f.state(otherKey).Status, "nobody can tell")

	f.forget()
	require.NoError(t, os.Rename(away, f.dir))
	f.settle()
	assert.Equal(t, []string{"secrets", "recovered directory"}, f.calls())
	assert.Equal(t, "two", f.value(otherKey, "token"))
}

func TestADirectoryThatIsReplacedIsNoticed(t *testing.T) {
	f := newFixture(t, openKey)
	f.write("open.yaml", manifestOf(openKey, "token", "one"))
	f.settle()
	writeFile(t, filepath.Join(f.dir+".new", "open.yaml"), manifestOf(openKey, "token", "two"))
	require.NoError(t, os.Rename(f.dir, f.dir+".old"))
	require.NoError(t, os.Rename(f.dir+".new", f.dir))
	f.settle()
	assert.Equal(t, "two", f.value(openKey, "token"))
	assert.Empty(t, f.failing)
}

func TestADirectoryWhoseVersionIsMissing(t *testing.T) {
	f := newFixture(t)
	f.link("..gone", "..data")
	f.settle()
	assert.Equal(t, f.dir+": its ..data names a directory that does not exist; mount it as kubelet does, or remove ..data; what was read before stays in use",
		f.failing["directory"].Detail)
}

func TestADirectoryThatBecomesAFile(t *testing.T) {
	f := newFixture(t, openKey)
	f.settle()
	require.NoError(t, os.Remove(f.dir))
	require.NoError(t, os.WriteFile(f.dir, nil, 0o600))
	f.settle()
	assert.Contains(t, f.failing, "directory")
}

func TestNewRefusesWhatCannotBeADirectory(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	tests := []struct {
		name    string
		options Options
		words   string
	}{
		{"no directory", Options{Registry: registryKey}, "source files: no directory; write `source files <dir>`"},
		{"one that does not exist", Options{Dir: dir + "/gone", Registry: registryKey}, `source files: directory "` + dir + `/gone": does not exist; create it, or name another`},
		{"a file", Options{Dir: file, Registry: registryKey}, `source files: directory "` + file + `": is no directory; name the directory that the files are in`},
		{"no registry", Options{Dir: dir}, "source files: registry is not the namespace and name of a Secret"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := New(tt.options)
			assert.EqualError(t, err, tt.words)
		})
	}
}

func TestADirectoryThatMayBeMissingIsReadOnceItIsThere(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "later")
	src, err := New(Options{Dir: dir, Registry: registryKey, MayBeMissing: true})
	require.NoError(t, err)
	f := &fixture{recorder: newRecorder(), t: t, dir: dir, src: src, now: time.Now()}
	f.look = newLooker(src, f.recorder)
	f.want(openKey)
	f.settle()
	assert.Contains(t, f.failing["directory"].Detail, dir)

	require.NoError(t, os.Mkdir(dir, 0o700))
	f.write("open.yaml", manifestOf(openKey, "token", "one"))
	f.settle()
	assert.Empty(t, f.failing)
	assert.Equal(t, "one", f.value(openKey, "token"))
}

func TestWhatNobodyMayRead(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	f := newFixture(t, openKey)
	f.write("open.yaml", manifestOf(openKey, "token", "one"))
	f.settle()
	f.write("open.yaml", manifestOf(openKey, "token", "two"))
	require.NoError(t, os.Chmod(filepath.Join(f.dir, "open.yaml"), 0))
	f.settle()
	assert.Equal(t, "one", f.value(openKey, "token"))
	assert.Equal(t, mirror.Failure{Kind: mirror.FailureForbidden, Detail: "open.yaml: permission denied"}, f.failing["file open.yaml"])

	require.NoError(t, os.Chmod(f.dir, 0))
	t.Cleanup(func() { _ = os.Chmod(f.dir, 0o700) })
	f.settle()
	assert.Equal(t, mirror.FailureForbidden, f.failing["directory"].Kind)
	_, err := New(Options{Dir: f.dir, Registry: registryKey})
	assert.EqualError(t, err, `source files: directory "`+f.dir+`": permission denied; let this process list and open what is in it`)
}
