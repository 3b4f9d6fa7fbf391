package cache

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/authz-bridge/authz-bridge/mirror"
)

// Store replaces what was stored, durably: when it returns nil, a power cut loses
// nothing, and when it does not, what was stored before is still there. It takes
// the lock and keeps it until Close. An error that is mirror.ErrCacheLocked means
// that somebody else has it; nothing is written then.
func (c *Cache) Store(contents mirror.Contents) error {
	if err := c.begin(); err != nil {
		return err
	}
	defer c.end()
	if err := c.store(contents); err != nil {
		return c.failed(err)
	}
	return nil
}

func (c *Cache) store(contents mirror.Contents) error {
	if err := validate(contents); err != nil {
		return err
	}
	err := c.hold()
	if errors.Is(err, fs.ErrNotExist) {
		err = c.holdNew()
	}
	if err != nil {
		return err
	}
	file, err := c.seal(contents)
	if err != nil {
		return fmt.Errorf("is not written: %w", err)
	}
	return c.held.replace(file)
}

// holdNew takes the lock in a directory that it creates.
func (c *Cache) holdNew() error {
	if err := createDirectory(c.dir); err != nil {
		return err
	}
	return c.hold()
}

// seal returns the whole file. What Load would refuse is refused here: it must
// not take the place of a good one.
func (c *Cache) seal(contents mirror.Contents) ([]byte, error) {
	packed, unpacked, err := pack(contents)
	if err != nil {
		return nil, err
	}
	defer clear(packed)
	h := &header{
		Origin:      c.origin,
		Cluster:     contents.Cluster,
		RegistryUID: registryUID(contents),
		Validated:   contents.Validated.UTC(),
		Written:     c.now().UTC(),
		Unpacked:    unpacked,
	}
	if err := h.admitTimes(c.now()); err != nil {
		return nil, err
	}
	if err := c.limits.admitUnpacked(unpacked); err != nil {
		return nil, err
	}
	file, err := sealPacked(c.key, h, packed)
	if err != nil {
		return nil, err
	}
	return file, c.limits.admitFile(int64(len(file)))
}

// sealPacked seals a body under a header, whose salt, check and size it sets.
func sealPacked(key []byte, h *header, packed []byte) ([]byte, error) {
	h.Salt = newSalt()
	s, err := newSeal(key, h.Salt)
	if err != nil {
		return nil, err
	}
	h.Check, h.Body = s.check, s.size(len(packed))
	head, err := encodeHead(h)
	if err != nil {
		return nil, err
	}
	return s.close(head, packed), nil
}

// replace puts a file in the place of the old one.
func (h *hold) replace(file []byte) error {
	// One of a process that was killed; ours alone, as we hold the lock.
	if err := h.remove(tempName); err != nil {
		return err
	}
	if err := h.writeTemp(file); err != nil {
		_ = h.remove(tempName) // the next Store says so if it cannot
		return err
	}
	if err := h.root.Rename(tempName, fileName); err != nil {
		_ = h.remove(tempName)
		return explain("cannot be replaced", err)
	}
	return syncDirectory(h.root)
}

// writeTemp writes a file beside the sealed one, all the way to the disk.
func (h *hold) writeTemp(file []byte) error {
	// O_EXCL follows no link.
	f, err := h.root.OpenFile(tempName, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return explain("cannot be written", err)
	}
	_, err = f.Write(file)
	if err == nil {
		err = f.Sync()
	}
	// Some network file systems tell of a full disk when a file is closed.
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return explain("cannot be written", err)
	}
	return nil
}

func (h *hold) remove(name string) error {
	err := h.root.Remove(name)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return explain(name+" cannot be removed", err)
}
