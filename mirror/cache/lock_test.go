package cache_test

import (
	"bufio"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/mirror/cache"
)

func TestOneOfTwoCachesWrites(t *testing.T) {
	first := storedCache(t)
	second := newCache(t, options(filepath.Dir(first.Path())))
	require.NoError(t, first.Store(shop()))
	before := readFile(t, first.Path())

	err := second.Store(town(1))
	require.ErrorIs(t, err, mirror.ErrCacheLocked)
	require.ErrorContains(t, err, second.Path())
	require.ErrorIs(t, second.Drop(), mirror.ErrCacheLocked)
	assert.Equal(t, before, readFile(t, first.Path()))
	got, err := second.Load()
	require.NoError(t, err, "reading takes no lock")
	requireSame(t, shop(), got)

	require.NoError(t, first.Close())
	require.NoError(t, second.Store(town(1)), "the lock is given up by a Close")
}

func TestALoadTakesNoLock(t *testing.T) {
	reader := storedCache(t)
	_, err := reader.Load()
	require.NoError(t, err)
	require.NoError(t, newCache(t, options(filepath.Dir(reader.Path()))).Store(shop()))
}

func TestALockThatWasRemovedIsTakenAnew(t *testing.T) {
	first := storedCache(t)
	dir := filepath.Dir(first.Path())
	require.NoError(t, first.Store(shop()))
	require.NoError(t, os.Remove(filepath.Join(dir, cache.LockName)))

	second := newCache(t, options(dir))
	require.NoError(t, second.Store(shop()), "nothing keeps it out")
	require.ErrorIs(t, first.Store(shop()), mirror.ErrCacheLocked, "the first notices that it lost the lock")
}

func TestADirectoryThatWasReplacedIsUsedAnew(t *testing.T) {
	c := storedCache(t)
	require.NoError(t, c.Store(shop()))
	require.NoError(t, os.RemoveAll(filepath.Dir(c.Path())))
	require.NoError(t, c.Drop(), "nothing is left to drop")
	require.NoError(t, c.Store(town(1)))
	got, err := newCache(t, options(filepath.Dir(c.Path()))).Load()
	require.NoError(t, err)
	assert.Len(t, got.Secrets, 1)
}

func TestRow23AnotherProcessHasTheLockUntilItEnds(t *testing.T) {
	c := storedCache(t)
	before := readFile(t, c.Path())
	other := startChild(t, childHolds, filepath.Dir(c.Path()))
	requireLine(t, other.lines, "locked")
	before2 := readFile(t, c.Path())
	require.NotEqual(t, before, before2, "the other stored")

	require.ErrorIs(t, c.Store(town(1)), mirror.ErrCacheLocked)
	assert.Equal(t, before2, readFile(t, c.Path()))

	require.NoError(t, other.cmd.Process.Kill())
	_ = other.cmd.Wait() // it was killed
	require.NoError(t, c.Store(town(1)))
}

func requireLine(t *testing.T, lines *bufio.Scanner, want string) {
	t.Helper()
	require.True(t, lines.Scan(), "the child said nothing: %v", lines.Err())
	require.Equal(t, want, lines.Text())
}
