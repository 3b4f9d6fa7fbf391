//go:build unix

package cache

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/authz-bridge/authz-bridge/mirror"
)

// lockFile locks an open file, or returns mirror.ErrCacheLocked. The lock goes
// with the file or the process, however that ends.
func lockFile(f *os.File) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return explain("the lock file cannot be used", err)
	}
	var locked error
	err = conn.Control(func(fd uintptr) {
		locked = unix.Flock(int(fd), unix.LOCK_EX|unix.LOCK_NB)
	})
	if errors.Is(locked, unix.EWOULDBLOCK) {
		return mirror.ErrCacheLocked
	}
	if err := errors.Join(err, locked); err != nil {
		return explain("the lock file cannot be locked", err)
	}
	return nil
}
