package cache

import (
	"errors"
	"os"
	"syscall"
)

// hold is the directory of a Cache, with the lock of its one writer.
type hold struct {
	root *os.Root
	lock *os.File
}

// hold takes the lock, or makes sure that it is still held and that the
// directory is still safe.
func (c *Cache) hold() error {
	if c.held != nil {
		if c.held.still(c.dir) {
			return admitDirectory(c.held.root, c.dir)
		}
		// Somebody removed the lock or the directory: it keeps nobody out any more.
		_ = c.release()
	}
	held, err := takeHold(c.dir)
	if err != nil {
		return err
	}
	c.held = held
	return nil
}

func (c *Cache) release() error {
	if c.held == nil {
		return nil
	}
	held := c.held
	c.held = nil
	if err := held.close(); err != nil {
		return c.failed(explain("the lock cannot be given up", err))
	}
	return nil
}

func takeHold(dir string) (*hold, error) {
	root, err := openDirectory(dir)
	if err != nil {
		return nil, err
	}
	// Without O_NONBLOCK a pipe in its place could block.
	lock, err := root.OpenFile(lockName, os.O_RDWR|os.O_CREATE|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		_ = root.Close()
		return nil, explain("the lock file cannot be opened", err)
	}
	h := &hold{root: root, lock: lock}
	if err := h.acquire(dir); err != nil {
		_ = h.close()
		return nil, err
	}
	return h, nil
}

func (h *hold) acquire(dir string) error {
	if err := lockFile(h.lock); err != nil {
		return err
	}
	if !h.still(dir) {
		return errors.New("the lock file is no regular file, or was replaced meanwhile; remove it")
	}
	return nil
}

// still reports whether others would find the same directory and the same lock.
func (h *hold) still(dir string) bool {
	want, wantErr := os.Lstat(dir)
	got, gotErr := h.root.Stat(".")
	if errors.Join(wantErr, gotErr) != nil || !os.SameFile(want, got) {
		return false
	}
	want, wantErr = h.root.Lstat(lockName)
	got, gotErr = h.lock.Stat()
	return errors.Join(wantErr, gotErr) == nil && os.SameFile(want, got) && got.Mode().IsRegular()
}

func (h *hold) close() error {
	return errors.Join(h.lock.Close(), h.root.Close())
}
