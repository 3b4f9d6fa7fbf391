//go:build unix

package cache_test

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/mirror/cache"
)

// nobody is a user that the tests never run as.
const nobody = 65534

func TestOnlyWeCanReachWhatWeWrite(t *testing.T) {
	// A process may be started with this.
	defer syscall.Umask(syscall.Umask(0))
	c := emptyCache(t)
	require.NoError(t, c.Store(shop()))
	dir := filepath.Dir(c.Path())
	for path, want := range map[string]os.FileMode{
		dir: 0o700, c.Path(): 0o600, filepath.Join(dir, cache.LockName): 0o600,
	} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		assert.Equal(t, want, info.Mode().Perm(), path)
	}
}

func TestRow22TheModesOfFileAndDirectory(t *testing.T) {
	for _, test := range []struct {
		dir, file os.FileMode
		open      string // which of them is open to others
	}{
		{0o700, 0o600, ""},
		{0o700, 0o400, ""},
		{0o770, 0o660, ""},
		{os.ModeSetgid | 0o770, 0o640, ""},
		{0o700, 0o604, "file"},
		{0o700, 0o602, "file"},
		{0o700, 0o601, "file"},
		{0o701, 0o600, "directory"},
		{0o705, 0o600, "directory"},
		{0o702, 0o600, "directory"},
		{os.ModeSticky | 0o777, 0o600, "directory"},
		{0o777, 0o666, "directory"},
	} {
		t.Run(fmt.Sprintf("directory %v, file %v", test.dir, test.file), func(t *testing.T) {
			c := storedCache(t)
			dir := filepath.Dir(c.Path())
			require.NoError(t, os.Chmod(c.Path(), test.file))
			require.NoError(t, os.Chmod(dir, test.dir))
			_, err := c.Load()
			path := map[string]string{"file": c.Path(), "directory": dir}[test.open]
			if path == "" {
				require.NoError(t, err)
				require.NoError(t, c.Store(shop()))
				return
			}
			requireRefused(t, err, "is open to every user", "chmod o-rwx "+path)
			if test.open == "directory" {
				requireRefused(t, c.Store(shop()), "chmod o-rwx "+path)
				requireRefused(t, c.Drop(), "chmod o-rwx "+path)
				return
			}
			require.NoError(t, c.Store(shop()), "a new file takes its place")
			_, err = c.Load()
			require.NoError(t, err)
		})
	}
}

func TestADirectoryThatIsOpenedUpLaterIsNotWrittenTo(t *testing.T) {
	c := storedCache(t)
	require.NoError(t, c.Store(shop()))
	before := readFile(t, c.Path())
	require.NoError(t, os.Chmod(filepath.Dir(c.Path()), 0o755))
	requireRefused(t, c.Store(town(1)), "is open to every user (mode 0755)")
	assert.Equal(t, before, readFile(t, c.Path()))
}

func TestRow22ALinkToTheFileIsRefused(t *testing.T) {
	c := storedCache(t)
	elsewhere := filepath.Join(filepath.Dir(c.Path()), "elsewhere")
	require.NoError(t, os.Rename(c.Path(), elsewhere))
	require.NoError(t, os.Symlink("elsewhere", c.Path()))
	before := readFile(t, elsewhere)
	_, err := c.Load()
	requireRefused(t, err, c.Path(), "is a symbolic link; remove it")

	require.NoError(t, c.Store(town(1)))
	assert.Equal(t, before, readFile(t, elsewhere), "nothing is written through the link")
	got, err := c.Load()
	require.NoError(t, err)
	assert.Len(t, got.Secrets, 1)
}

func TestALinkToTheDirectoryIsRefused(t *testing.T) {
	stored := storedCache(t)
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(filepath.Dir(stored.Path()), link))
	dangling := filepath.Join(t.TempDir(), "dangling")
	require.NoError(t, os.Symlink(filepath.Join(t.TempDir(), "nowhere"), dangling))
	for name, dir := range map[string]string{"whole": link, "with a slash": link + "/", "dangling": dangling} {
		t.Run(name, func(t *testing.T) {
			c := newCache(t, options(dir))
			_, err := c.Load()
			requireRefused(t, err, "is a symbolic link; name the directory itself")
			requireRefused(t, c.Store(shop()), "is a symbolic link")
			requireRefused(t, c.Drop(), "is a symbolic link")
		})
	}
}

func TestALinkInTheWayOfWhatIsWrittenIsNotFollowed(t *testing.T) {
	c := storedCache(t)
	dir := filepath.Dir(c.Path())
	victim := filepath.Join(dir, "victim")
	require.NoError(t, os.WriteFile(victim, []byte("as it was"), 0o600))
	require.NoError(t, os.Symlink("victim", filepath.Join(dir, cache.TempName)))
	require.NoError(t, c.Store(shop()))
	assert.Equal(t, "as it was", string(readFile(t, victim)))
	require.NoError(t, c.Close())

	require.NoError(t, os.Remove(filepath.Join(dir, cache.LockName)))
	require.NoError(t, os.Symlink("victim", filepath.Join(dir, cache.LockName)))
	requireRefused(t, newCache(t, options(dir)).Store(shop()), "the lock file is no regular file")
	assert.Equal(t, "as it was", string(readFile(t, victim)))
}

func TestAPipeInTheFilesPlaceDoesNotBlock(t *testing.T) {
	c := storedCache(t)
	require.NoError(t, os.Remove(c.Path()))
	require.NoError(t, syscall.Mkfifo(c.Path(), 0o600))
	_, err := c.Load()
	requireRefused(t, err, c.Path(), "is no regular file")

	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	c = newCache(t, options(pipe))
	_, err = c.Load()
	requireRefused(t, err, pipe, "is no directory")
	requireRefused(t, c.Store(shop()), "is no directory")
}

func TestRow22WhatAnotherUserOwnsIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files to another user")
	}
	words := fmt.Sprintf("belongs to user %d, and this process runs as user 0; run chown 0 ", nobody)
	t.Run("file", func(t *testing.T) {
		c := storedCache(t)
		require.NoError(t, os.Chown(c.Path(), nobody, 0))
		_, err := c.Load()
		requireRefused(t, err, words+c.Path())
	})
	t.Run("directory", func(t *testing.T) {
		c := storedCache(t)
		require.NoError(t, os.Chown(filepath.Dir(c.Path()), nobody, 0))
		_, err := c.Load()
		requireRefused(t, err, words+filepath.Dir(c.Path()))
		requireRefused(t, c.Store(shop()), words)
	})
	t.Run("group", func(t *testing.T) {
		c := storedCache(t)
		require.NoError(t, os.Chown(c.Path(), 0, nobody))
		_, err := c.Load()
		require.NoError(t, err, "only the owner counts")
	})
}
