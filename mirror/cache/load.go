package cache

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/authz-bridge/authz-bridge/mirror"
)

// maxOpens bounds how often a file is opened that is replaced at that moment.
const maxOpens = 10

// Load returns what was stored last. An error that is mirror.ErrNoCache means that
// nothing was; every other says why the file is refused, and the fix. It takes no
// lock and writes nothing.
func (c *Cache) Load() (mirror.Contents, error) {
	if err := c.begin(); err != nil {
		return mirror.Contents{}, err
	}
	defer c.end()
	contents, err := c.load()
	if errors.Is(err, fs.ErrNotExist) {
		err = mirror.ErrNoCache
	}
	if err != nil {
		return mirror.Contents{}, c.failed(err)
	}
	return contents, nil
}

func (c *Cache) load() (mirror.Contents, error) {
	root, err := openDirectory(c.dir)
	if err != nil {
		return mirror.Contents{}, err
	}
	defer root.Close()
	f, info, err := openSealed(root)
	if err != nil {
		return mirror.Contents{}, err
	}
	defer f.Close()
	if err := admitKeeping(c.Path(), info); err != nil {
		return mirror.Contents{}, err
	}
	if err := c.limits.admitFile(info.Size()); err != nil {
		return mirror.Contents{}, err
	}
	return c.unseal(f, info.Size())
}

// openSealed opens the file itself, not what a link leads to. What it returns is
// about the open file, whatever is in its place by then.
func openSealed(root *os.Root) (*os.File, fs.FileInfo, error) {
	for range maxOpens {
		f, info, err := tryOpen(root)
		if f != nil || err != nil {
			return f, info, err
		}
	}
	return nil, nil, errors.New("is replaced all the time; try again")
}

// tryOpen returns no file if another took its place meanwhile. A root follows
// links whatever the flags, so it takes two looks.
func tryOpen(root *os.Root) (*os.File, fs.FileInfo, error) {
	want, err := root.Lstat(fileName)
	if err != nil {
		return nil, nil, explain("cannot be opened", err)
	}
	switch {
	case want.Mode().Type() == fs.ModeSymlink:
		return nil, nil, errors.New("is a symbolic link; remove it")
	case !want.Mode().IsRegular():
		return nil, nil, errors.New("is no regular file; remove it")
	}
	// Without O_NONBLOCK a pipe that took the file's place would block.
	f, err := root.OpenFile(fileName, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, explain("cannot be opened", err)
	}
	got, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, nil, explain("cannot be opened", err)
	}
	if !os.SameFile(want, got) {
		_ = f.Close()
		return nil, nil, nil
	}
	return f, got, nil
}

// unseal reads a file of so many bytes. Nothing of it is believed before the
// seal has been opened; what is looked at earlier can only refuse it.
func (c *Cache) unseal(from io.Reader, size int64) (mirror.Contents, error) {
	h, head, err := readHead(from, size)
	if err != nil {
		return mirror.Contents{}, err
	}
	if err := c.admit(h, size-int64(len(head))); err != nil {
		return mirror.Contents{}, err
	}
	s, err := newSeal(c.key, h.Salt)
	if err != nil {
		return mirror.Contents{}, err
	}
	if !s.is(h.Check) {
		return mirror.Contents{}, errOtherKey
	}
	body := make([]byte, h.Body)
	defer clear(body)
	if _, err := io.ReadFull(from, body); err != nil {
		return mirror.Contents{}, explain("cannot be read", err)
	}
	packed, err := s.open(head, body)
	if err != nil {
		return mirror.Contents{}, err
	}
	return c.reveal(h, packed)
}

// admit refuses a file by its header and the size of its body.
func (c *Cache) admit(h *header, body int64) error {
	if err := c.origin.admit(h.Origin); err != nil {
		return err
	}
	if body < h.Body {
		return cutShort(body, h.Body)
	}
	if body > h.Body {
		return errAltered
	}
	return c.limits.admitUnpacked(h.Unpacked)
}

// reveal returns what is in a body that is ours.
func (c *Cache) reveal(h *header, packed []byte) (mirror.Contents, error) {
	if err := h.admitTimes(c.now()); err != nil {
		return mirror.Contents{}, err
	}
	plain, err := unpack(packed, h.Unpacked)
	if err != nil {
		return mirror.Contents{}, err
	}
	defer clear(plain)
	contents, err := decode(plain)
	if err != nil {
		return mirror.Contents{}, err
	}
	contents.Cluster, contents.Validated = h.Cluster, h.Validated
	return contents, nil
}
