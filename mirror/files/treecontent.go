package files

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

// treeContent is what a look found in the directory of a Secret.
type treeContent struct {
	directory
	keys    []treeKey
	ignored []string // names that are no keys
}

// treeKey is the file of one data key.
type treeKey struct {
	name   string
	file   stamp
	atomic bool
}

// listTree looks at the files of a Secret without reading them. An error that
// counts as swapped means that the directory changed meanwhile.
func listTree(d directory) (treeContent, error) {
	c := treeContent{directory: d}
	entries, err := d.list(maxEntries)
	if err != nil {
		return c, err
	}
	for _, e := range entries {
		if !snapshot.ValidDataKey(e.name) {
			c.ignored = append(c.ignored, e.name)
			continue
		}
		info, err := d.root.Stat(e.path)
		switch {
		case errors.Is(err, fs.ErrNotExist): // a link to nowhere
		case err != nil:
			return c, located(keyWords(e.name), err)
		case info.IsDir(): // part of a volume with paths of its own
		case !info.Mode().IsRegular():
			return c, located(keyWords(e.name), errNotRegular)
		default:
			c.keys = append(c.keys, treeKey{name: e.name, file: newStamp(e.path, info), atomic: e.atomic})
		}
	}
	return c, nil
}

func (c treeContent) fingerprint() fingerprint {
	p := fingerprint{exists: true, place: c.place}
	for _, k := range c.keys {
		p.files = append(p.files, k.file)
	}
	return p
}

// atomic reports whether all keys are part of one version.
func (c treeContent) atomic() bool {
	for _, k := range c.keys {
		if !k.atomic {
			return false
		}
	}
	return len(c.links()) > 0
}

// bound refuses keys that are larger than most bytes together, before any of
// them is read.
func (c treeContent) bound(most int64) error {
	left := most
	for _, k := range c.keys {
		if k.file.size > left {
			return fmt.Errorf("its keys are larger than %d MiB together; remove what is no credential, or split the Secret", most>>20)
		}
		left -= k.file.size
	}
	return nil
}

// read returns the values of all keys, of one version if there are versions. The
// links are compared at the very end: kubelet begins to remove a version only
// after the swap, so until then neither a name nor a value was missing.
func (c treeContent) read() (map[string][]byte, error) {
	data := make(map[string][]byte, len(c.keys))
	for _, k := range c.keys {
		value, err := readFile(c.root, k.file, k.file.size, k.atomic)
		if err != nil {
			return nil, located(keyWords(k.name), err)
		}
		data[k.name] = value
	}
	if c.moved() {
		return nil, errMoved
	}
	return data, nil
}

func keyWords(name string) string { return fmt.Sprintf("key %q", name) }
