package cache

import (
	"errors"
	"io/fs"
)

// Drop removes the file: it turned out to be of another cluster. It takes the
// lock as Store does, and fails with mirror.ErrCacheLocked where that would. That
// there is no file is fine.
func (c *Cache) Drop() error {
	if err := c.begin(); err != nil {
		return err
	}
	defer c.end()
	if err := c.drop(); err != nil {
		return c.failed(err)
	}
	return nil
}

func (c *Cache) drop() error {
	err := c.hold()
	if errors.Is(err, fs.ErrNotExist) {
		return nil // there is no directory
	}
	if err != nil {
		return err
	}
	if err := c.held.remove(tempName); err != nil {
		return err
	}
	if err := c.held.remove(fileName); err != nil {
		return err
	}
	return syncDirectory(c.held.root)
}
