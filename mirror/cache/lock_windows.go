package cache

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"

	"github.com/authz-bridge/authz-bridge/mirror"
)

// lockFile locks an open file, or returns mirror.ErrCacheLocked. The lock goes
// with the file or the process, however that ends.
func lockFile(f *os.File) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return explain("the lock file cannot be used", err)
	}
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	var locked error
	err = conn.Control(func(fd uintptr) {
		locked = windows.LockFileEx(windows.Handle(fd), flags, 0, 1, 0, new(windows.Overlapped))
	})
	if errors.Is(locked, windows.ERROR_LOCK_VIOLATION) {
		return mirror.ErrCacheLocked
	}
	if err := errors.Join(err, locked); err != nil {
		return explain("the lock file cannot be locked", err)
	}
	return nil
}
