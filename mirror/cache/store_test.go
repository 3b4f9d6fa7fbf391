package cache_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/mirror/cache"
)

func TestADirectoryIsCreatedAndItsParentIsNot(t *testing.T) {
	parent := t.TempDir()
	c := newCache(t, options(filepath.Join(parent, "cache")))
	require.NoError(t, c.Store(shop()))
	assert.ElementsMatch(t, []string{"objects.sealed", cache.LockName}, files(t, filepath.Join(parent, "cache")))

	missing := filepath.Join(parent, "missing")
	err := newCache(t, options(filepath.Join(missing, "cache"))).Store(shop())
	requireRefused(t, err, missing+" does not exist; create that")
	assert.NoDirExists(t, missing)
}

func TestWhatAKilledProcessLeftIsRemoved(t *testing.T) {
	c := storedCache(t)
	stale := filepath.Join(filepath.Dir(c.Path()), cache.TempName)
	require.NoError(t, os.WriteFile(stale, []byte("half of a fi"), 0o600))
	got, err := c.Load()
	require.NoError(t, err)
	requireSame(t, shop(), got)
	require.NoError(t, c.Store(town(1)))
	assert.NoFileExists(t, stale)

	require.NoError(t, os.WriteFile(stale, []byte("half of a fi"), 0o600))
	require.NoError(t, c.Drop())
	assert.NoFileExists(t, stale)
}

func TestWhatCannotBeReplacedIsSaid(t *testing.T) {
	c := emptyCache(t)
	dir := filepath.Dir(c.Path())
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, os.MkdirAll(filepath.Join(c.Path(), "within"), 0o700))
	requireRefused(t, c.Store(shop()), c.Path(), "cannot be replaced")
	assert.ElementsMatch(t, []string{"objects.sealed", cache.LockName}, files(t, dir))
	_, err := c.Load()
	requireRefused(t, err, c.Path(), "is no regular file; remove it")
}

func TestDropRemovesTheFile(t *testing.T) {
	c := storedCache(t)
	require.NoError(t, c.Drop())
	assert.NoFileExists(t, c.Path())
	require.NoError(t, c.Drop(), "there is none any more")
	require.NoError(t, c.Store(shop()), "and there may be another")

	never := emptyCache(t)
	require.NoError(t, never.Drop())
	assert.NoDirExists(t, filepath.Dir(never.Path()), "nothing is created to be dropped")
}

func TestManyStoresAtOnceLeaveOneWholeFile(t *testing.T) {
	writer := emptyCache(t)
	require.NoError(t, writer.Store(town(0)))
	reader := newCache(t, options(filepath.Dir(writer.Path())))
	const most = 24
	towns := make([]mirror.Contents, most)
	for i := range towns {
		towns[i] = town(i)
		towns[i].Registry = nil
	}
	var all sync.WaitGroup
	for i := range most {
		all.Go(func() {
			assert.NoError(t, writer.Store(towns[i]))
			got, err := reader.Load()
			if assert.NoError(t, err) {
				requireSameSecrets(t, towns[len(got.Secrets)], got)
			}
		})
	}
	all.Wait()
	assert.ElementsMatch(t, []string{"objects.sealed", cache.LockName}, files(t, filepath.Dir(writer.Path())))
}

// requireSameSecrets may be called by any goroutine.
func requireSameSecrets(t *testing.T, want, got mirror.Contents) {
	t.Helper()
	for key, state := range want.Secrets {
		assert.True(t, state.Equal(got.Secrets[key]), "%s is another one", key)
	}
}
