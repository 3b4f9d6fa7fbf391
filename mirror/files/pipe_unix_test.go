//go:build unix

package files

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

// within10s fails where an open waits for somebody to write into a pipe.
func within10s(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		require.FailNow(t, "an open waits for ever")
	}
}

func (f *fixture) pipe(name string) {
	f.t.Helper()
	f.mkdir(filepath.Dir(name))
	require.NoError(f.t, syscall.Mkfifo(filepath.Join(f.dir, name), 0o600))
}

func TestAPipeInPlaceOfAVersionHoldsNothingUp(t *testing.T) {
	f := newFixture(t, openKey, otherKey)
	f.write("demo/other/token", "two")
	f.pipe("demo/open/pipe")
	f.link("pipe", "demo/open/..data")
	within10s(t, f.settle)
	assert.Equal(t, snapshot.Forbidden("directory demo/open: its ..data names what is no directory; mount it as kubelet does, or remove ..data"), f.state(openKey))
	assert.Equal(t, "two", f.value(otherKey, "token"))
}

func TestAPipeInPlaceOfADirectoryHoldsNothingUp(t *testing.T) {
	for _, name := range []string{"demo", "demo/open"} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, openKey)
			f.pipe(name)
			within10s(t, f.settle)
			assert.Equal(t, snapshot.Absent(), f.state(openKey))
		})
	}
}

func TestAPipeThatComesLateHoldsNothingUp(t *testing.T) {
	f := newFixture(t)
	f.pipe("demo/open")
	root, err := os.OpenRoot(f.dir)
	require.NoError(t, err)
	defer root.Close()
	d := directory{root: root, path: "demo/open"}
	within10s(t, func() {
		_, err := d.within()
		assert.ErrorIs(t, err, syscall.ENOTDIR)
		_, err = d.read("demo/open", 1)
		assert.ErrorIs(t, err, syscall.ENOTDIR)
	})
}

func TestAPipeInPlaceOfTheWholeDirectoryHoldsNothingUp(t *testing.T) {
	f := newFixture(t)
	f.settle()
	require.NoError(t, os.Remove(f.dir))
	require.NoError(t, syscall.Mkfifo(f.dir, 0o600))
	within10s(t, func() {
		f.settle()
		assert.ErrorIs(t, tryToList(f.dir), syscall.ENOTDIR)
	})
	assert.Contains(t, f.failing[watchDirectory].Detail, "not a directory")
}
