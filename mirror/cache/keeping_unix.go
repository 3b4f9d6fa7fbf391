//go:build unix

package cache

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// othersMay is every permission of those who are neither owner nor group. The
// group's are fine: a volume in Kubernetes adds them for fsGroup.
const othersMay fs.FileMode = 0o007

// admitKeeping refuses what another user owns, or every user may reach.
func admitKeeping(path string, info fs.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return errors.New("does not tell its owner; name another directory")
	}
	if own := os.Geteuid(); int64(stat.Uid) != int64(own) {
		return fmt.Errorf("belongs to user %d, and this process runs as user %d; run chown %d %s, or remove it",
			stat.Uid, own, own, path)
	}
	if perm := info.Mode().Perm(); perm&othersMay != 0 {
		return fmt.Errorf("is open to every user (mode %04o); run chmod o-rwx %s", perm, path)
	}
	return nil
}

// syncDirectory makes durable which files are in a directory.
func syncDirectory(root *os.Root) error {
	dir, err := root.Open(".")
	if err != nil {
		return explain("its directory cannot be opened", err)
	}
	defer dir.Close()
	err = dir.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		return nil // a file system that has no such thing
	}
	if err != nil {
		return explain("its directory cannot be synced", err)
	}
	return nil
}
