package files

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

var (
	registryKey = snapshot.Key{Namespace: "authz-bridge", Name: "registry"}
	openKey     = snapshot.Key{Namespace: "demo", Name: "open"}
	otherKey    = snapshot.Key{Namespace: "demo", Name: "other"}
)

// fixture is a directory and a looker on it whose looks the test makes, at times
// that the test sets.
type fixture struct {
	*recorder
	t    *testing.T
	dir  string
	src  *Source
	look *looker
	logs *observer.ObservedLogs
	now  time.Time
}

func newFixture(t *testing.T, wanted ...snapshot.Key) *fixture {
	t.Helper()
	core, logs := observer.New(zap.DebugLevel)
	f := &fixture{recorder: newRecorder(), t: t, dir: t.TempDir(), logs: logs, now: time.Now()}
	var err error
	f.src, err = New(Options{Dir: f.dir, Registry: registryKey, Logger: zap.New(core)})
	require.NoError(t, err)
	f.look = newLooker(f.src, f.recorder)
	f.want(wanted...)
	return f
}

func (f *fixture) want(keys ...snapshot.Key) { f.src.Reference(references(keys...)) }

func references(keys ...snapshot.Key) map[snapshot.Key]snapshot.Reference {
	refs := make(map[snapshot.Key]snapshot.Reference)
	for _, k := range keys {
		refs[k] = snapshot.Reference{All: true}
	}
	return refs
}

// glance looks once, just long enough after the last time for a file that has
// been left alone to have settled.
func (f *fixture) glance() (again bool) {
	f.now = f.now.Add(settleTime)
	return f.look.look(f.now)
}

// settle looks until everything that was left alone counts.
func (f *fixture) settle() {
	f.t.Helper()
	for range 2 {
		f.glance()
	}
}

// write puts a file into place in one step, as a careful program does.
func (f *fixture) write(name, content string) {
	f.t.Helper()
	writeFile(f.t, filepath.Join(f.dir, name), content)
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	temp := filepath.Join(filepath.Dir(path), ".new")
	require.NoError(t, os.WriteFile(temp, []byte(content), 0o600))
	require.NoError(t, os.Rename(temp, path))
}

func (f *fixture) remove(name string) {
	f.t.Helper()
	require.NoError(f.t, os.RemoveAll(filepath.Join(f.dir, name)))
}

func (f *fixture) link(target, name string) {
	f.t.Helper()
	path := filepath.Join(f.dir, name)
	require.NoError(f.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(f.t, os.Symlink(target, path))
}

// manifestOf returns a manifest with one value.
func manifestOf(key snapshot.Key, dataKey, value string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata:\n  namespace: %s\n  name: %s\nstringData:\n  %s: %q\n",
		key.Namespace, key.Name, dataKey, value)
}

// volume is a directory as kubelet mounts a Secret, written step by step as its
// atomic writer does (pkg/volume/util/atomic_writer.go).
type volume struct {
	t       *testing.T
	dir     string
	version int
	files   map[string]string
}

func newVolume(t *testing.T, dir string) *volume {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o755))
	return &volume{t: t, dir: dir}
}

func (v *volume) write(files map[string]string) {
	v.t.Helper()
	v.version++
	name := fmt.Sprintf("..2026_09_01_%06d", v.version)
	for path, content := range files {
		writeVersioned(v.t, filepath.Join(v.dir, name, path), content)
	}
	old, _ := os.Readlink(filepath.Join(v.dir, "..data"))
	require.NoError(v.t, os.Symlink(name, filepath.Join(v.dir, "..data_tmp")))
	require.NoError(v.t, os.Rename(filepath.Join(v.dir, "..data_tmp"), filepath.Join(v.dir, "..data")))
	v.linkAll(files)
	if old != "" {
		require.NoError(v.t, os.RemoveAll(filepath.Join(v.dir, old)))
	}
	v.files = files
}

// linkAll makes the links that people see, and removes those of files that are
// gone.
func (v *volume) linkAll(files map[string]string) {
	v.t.Helper()
	for path := range files {
		first := firstPart(path)
		err := os.Symlink(filepath.Join("..data", first), filepath.Join(v.dir, first))
		if !os.IsExist(err) {
			require.NoError(v.t, err)
		}
	}
	for path := range v.files {
		if _, ok := files[path]; !ok {
			require.NoError(v.t, os.RemoveAll(filepath.Join(v.dir, firstPart(path))))
		}
	}
}

func firstPart(path string) string {
	for dir := filepath.Dir(path); dir != "."; dir = filepath.Dir(dir) {
		path = dir
	}
	return path
}

func writeVersioned(t *testing.T, path, content string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
}
