package kubetest

import (
	"fmt"
	"os"
	"syscall"
)

// lockFile waits until no other process holds the lock. Closing the file, or
// the end of this process, gives it back.
func lockFile(path string) (*os.File, error) {
	return lock(path, syscall.LOCK_EX)
}

// tryLockFile is lockFile that fails at once when another process holds it.
func tryLockFile(path string) (*os.File, error) {
	return lock(path, syscall.LOCK_EX|syscall.LOCK_NB)
}

func lock(path string, how int) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock file: %w", err)
	}
	if err := flock(file, how); err != nil {
		file.Close()
		return nil, fmt.Errorf("lock file %s: %w", path, err)
	}
	return file, nil
}

func flock(file *os.File, how int) error {
	for {
		err := syscall.Flock(int(file.Fd()), how)
		if err != syscall.EINTR {
			return err
		}
	}
}
