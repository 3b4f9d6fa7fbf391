//go:build unix

package cache_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/mirror/cache"
)

// More that a child does.
const (
	childLimited    = "writes more than it may"
	childUnpermit   = "writes where it may not"
	childUncreating = "creates where it may not"
)

func init() {
	children[childLimited] = writeMoreThanLimit
	children[childUnpermit] = writeUnpermitted
	children[childUncreating] = createUnpermitted
}

// The limit of the system on the size of files ends a write in its midst, as a
// full disk does.
func TestAWriteThatEndsInItsMidstLeavesTheOldFile(t *testing.T) {
	runChild(t, childCommand(childLimited, filepath.Join(t.TempDir(), "cache")))
}

func writeMoreThanLimit(dir string) error {
	signal.Ignore(syscall.SIGXFSZ)
	limit := syscall.Rlimit{Cur: 64 << 10, Max: 64 << 10}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	return storeInVain(dir, noisyContents(1<<20), syscall.EFBIG, "file too large")
}

func TestADirectoryThatCannotBeWrittenLeavesTheOldFile(t *testing.T) {
	dir := directoryOfAnother(t, 0o500)
	runChild(t, childCommand(childUnpermit, dir))
}

func TestADirectoryThatCannotBeCreatedIsSaid(t *testing.T) {
	dir := directoryOfAnother(t, 0o500)
	runChild(t, childCommand(childUncreating, dir))
}

// directoryOfAnother returns a directory that belongs to the user that
// becomeOrdinary makes of a child.
func directoryOfAnother(t *testing.T, mode os.FileMode) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "cache")
	require.NoError(t, os.Mkdir(dir, 0o700))
	if os.Geteuid() == 0 {
		require.NoError(t, os.Chown(dir, nobody, nobody))
	}
	require.NoError(t, os.Chmod(dir, mode))
	t.Cleanup(func() { require.NoError(t, os.Chmod(dir, 0o700), "so that it can be removed") })
	return dir
}

// becomeOrdinary goes to where dir is, and gives up what root may do.
func becomeOrdinary(dir string) (string, error) {
	if err := os.Chdir(filepath.Dir(dir)); err != nil {
		return "", err
	}
	if os.Geteuid() != 0 {
		return filepath.Base(dir), nil
	}
	if err := os.Chown(".", nobody, nobody); err != nil {
		return "", err
	}
	return filepath.Base(dir), errors.Join(syscall.Setgid(nobody), syscall.Setuid(nobody))
}

func writeUnpermitted(dir string) error {
	dir, err := becomeOrdinary(dir)
	if err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return err
	}
	c, err := childCache(dir)
	if err != nil {
		return err
	}
	if err := c.Store(shop()); err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o500); err != nil {
		return err
	}
	want := fmt.Sprintf("cannot be written: permission denied; let user %d, as which this process runs, do that", os.Geteuid())
	return storeInVainWith(c, town(1), syscall.EACCES, want)
}

func createUnpermitted(dir string) error {
	dir, err := becomeOrdinary(dir)
	if err != nil {
		return err
	}
	c, err := childCache(filepath.Join(dir, "within"))
	if err != nil {
		return err
	}
	err = c.Store(shop())
	return expect(err, syscall.EACCES, "directory "+dir+"/within cannot be created: permission denied; let user")
}

func noisyContents(size int) mirror.Contents {
	contents := shop()
	contents.Registry = secret(registryKey, noise(size))
	return contents
}

// storeInVain stores something that fits, and then something that does not.
func storeInVain(dir string, tooMuch mirror.Contents, number syscall.Errno, words string) error {
	c, err := childCache(dir)
	if err != nil {
		return err
	}
	if err := c.Store(shop()); err != nil {
		return fmt.Errorf("first: %w", err)
	}
	return storeInVainWith(c, tooMuch, number, words)
}

// storeInVainWith checks the error, that the old file is untouched, and that
// nothing else is left.
func storeInVainWith(c *cache.Cache, tooMuch mirror.Contents, number syscall.Errno, words string) error {
	before, err := os.ReadFile(c.Path())
	if err != nil {
		return err
	}
	if err := expect(c.Store(tooMuch), number, words); err != nil {
		return err
	}
	after, err := os.ReadFile(c.Path())
	if err != nil || !bytes.Equal(before, after) {
		return fmt.Errorf("the old file is not as it was (%w)", err)
	}
	entries, err := os.ReadDir(filepath.Dir(c.Path()))
	if err != nil || len(entries) != 2 {
		return fmt.Errorf("%d files and not 2 are left: %v (%w)", len(entries), entries, err)
	}
	got, err := c.Load()
	if err != nil || got.Cluster != shop().Cluster {
		return fmt.Errorf("the old file is not loaded (%w)", err)
	}
	return nil
}

func expect(err error, number syscall.Errno, words string) error {
	if !errors.Is(err, number) || !bytes.Contains([]byte(err.Error()), []byte(words)) {
		return fmt.Errorf("the error is not %q but: %w", words, err)
	}
	return nil
}
