package cache

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/authz-bridge/authz-bridge/mirror"
)

// The files in the directory of a Cache.
const (
	fileName = "objects.sealed"
	tempName = "objects.sealed.tmp"
	lockName = "lock"
)

// MinKey is the least length of a key, in bytes.
const MinKey = 32

// Options are what a Cache is made of.
type Options struct {
	// Dir is the directory. A missing one is created at the first Store; its
	// parent must be there.
	Dir string
	// Key is what the file is sealed with, 32 bytes at least. It is copied.
	Key []byte
	// Origin is what the Cache is of.
	Origin Origin
	// Now is the wall clock. Default: time.Now.
	Now func() time.Time
}

// Cache is one sealed file. Its methods are safe for concurrent use and wait for
// each other, so none belongs on a path that must not wait for a disk.
type Cache struct {
	dir    string
	origin Origin
	now    func() time.Time
	limits limits

	mu   sync.Mutex // guards the fields below, and lets one method run at a time
	key  []byte     // nil once closed
	held *hold      // nil while the lock is not held
}

var _ mirror.Cache = (*Cache)(nil)

// New makes a Cache. It does no I/O; an error is about the options.
func New(o Options) (*Cache, error) {
	if o.Dir == "" {
		return nil, errors.New("cache: no directory; name one")
	}
	if len(o.Key) < MinKey {
		return nil, fmt.Errorf("cache %s: key: has %d bytes; give at least %d", o.Dir, len(o.Key), MinKey)
	}
	if err := o.Origin.validate(); err != nil {
		return nil, fmt.Errorf("cache %s: origin: %w", o.Dir, err)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Cache{
		// Without a slash at its end, which would follow a link.
		dir:    filepath.Clean(o.Dir),
		origin: o.Origin,
		now:    o.Now,
		limits: defaultLimits,
		key:    bytes.Clone(o.Key),
	}, nil
}

// Path returns the path of the sealed file.
func (c *Cache) Path() string { return filepath.Join(c.dir, fileName) }

// Close gives the lock up and forgets the key. It waits for a Store that runs.
// Everything but Path fails afterwards with os.ErrClosed, and another Close is
// fine.
func (c *Cache) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.key)
	c.key = nil
	return c.release()
}

// begin locks the Cache for one method; end is to be called if it succeeds.
func (c *Cache) begin() error {
	c.mu.Lock()
	if c.key == nil {
		c.mu.Unlock()
		return c.failed(os.ErrClosed)
	}
	return nil
}

func (c *Cache) end() { c.mu.Unlock() }

// failed says of which Cache an error is.
func (c *Cache) failed(err error) error {
	return fmt.Errorf("cache %s: %w", c.Path(), err)
}
