package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// dataLink is the link that kubelet swaps when a mounted volume changes. It
// names a directory beside it that holds one whole version.
const dataLink = "..data"

const (
	// maxEntries bounds what is read from the directory of a Secret.
	maxEntries = 4096
	// maxTopEntries bounds what is read from the top level, where each Secret
	// may have a manifest and each namespace a directory.
	maxTopEntries = 1 << 18
)

var (
	errDataLink = errors.New("its ..data does not name a directory beside it; mount it as kubelet does, or remove ..data")
	errDataFile = errors.New("its ..data names what is no directory; mount it as kubelet does, or remove ..data")
	errNoData   = errors.New("its ..data names a directory that does not exist; mount it as kubelet does, or remove ..data")
)

// directory is one directory in a root, seen through the version that its
// ..data names, if it has one.
type directory struct {
	root  *os.Root
	path  string // in the root
	place string // where it is, seen from the top
	above []link // the versions that the place leads through
	own   *link  // nil without ..data
}

// link is a ..data link as it was read.
type link struct {
	root         *os.Root
	path, target string
}

// entry is what a directory holds under one name.
type entry struct {
	name string
	path string
	// atomic tells that the entry is part of a version, where files are never
	// changed.
	atomic bool
}

func openDirectory(root *os.Root, at string, above []link) (directory, error) {
	d := directory{root: root, path: at, place: at, above: above}
	name := path.Join(at, dataLink)
	target, err := root.Readlink(name)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.EINVAL): // not there, or no link
		return d, nil
	case err != nil:
		return d, err
	case target == "" || target == "." || target == ".." || strings.ContainsAny(target, `/\`):
		return d, errDataLink
	}
	info, err := root.Lstat(path.Join(at, target))
	switch {
	case errors.Is(err, fs.ErrNotExist): // list tells why
	case err != nil:
		return d, err
	case !info.IsDir():
		return d, errDataFile
	}
	d.own = &link{root: root, path: name, target: target}
	return d, nil
}

// links returns all versions that the directory is seen through.
func (d directory) links() []link {
	if d.own == nil {
		return d.above
	}
	return append(slices.Clone(d.above), *d.own)
}

// moved reports whether a version has been replaced since it was opened, so that
// what was read may be of two, or in part removed.
func (d directory) moved() bool {
	for _, l := range d.links() {
		if target, err := l.root.Readlink(l.path); err != nil || target != l.target {
			return true
		}
	}
	return false
}

// list returns the entries in order of name, no more than most. What is in the version counts, not
// the links into it: kubelet makes and removes those only after the swap, so
// some may be missing and some lead nowhere.
func (d directory) list(most int) ([]entry, error) {
	found := make(map[string]entry)
	visible, err := d.read(d.path, most)
	if err != nil {
		return nil, err
	}
	for _, e := range visible {
		found[e.Name()] = entry{name: e.Name(), path: path.Join(d.path, e.Name()), atomic: len(d.above) > 0}
	}
	if d.own != nil {
		version := path.Join(d.path, d.own.target)
		content, err := d.read(version, most)
		if err != nil {
			return nil, d.blame(err)
		}
		for _, e := range content {
			found[e.Name()] = entry{name: e.Name(), path: path.Join(version, e.Name()), atomic: true}
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b entry) int {
		return strings.Compare(a.name, b.name)
	}), nil
}

// blame tells a version that kubelet has removed from one that never was.
func (d directory) blame(err error) error {
	switch {
	case !errors.Is(err, fs.ErrNotExist):
		return err
	case d.moved():
		return errMoved
	}
	return errNoData
}

func (d directory) read(at string, most int) ([]fs.DirEntry, error) {
	f, err := d.root.Open(onlyDirectory(at))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(most + 1)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if len(entries) > most {
		return nil, fmt.Errorf("holds more than %d files; remove those that belong elsewhere", most)
	}
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		return strings.HasPrefix(e.Name(), "..")
	}), err
}

// lookup is what was found where a directory may be.
type lookup struct {
	directory
	found bool
	err   error // why it cannot be told
}

// child looks for the directory of a name, first in the version.
func (d directory) child(name string) lookup {
	l := d.lookup(name, path.Join(d.path, name), d.above)
	if d.own != nil {
		if in := d.lookup(name, path.Join(d.path, d.own.target, name), d.links()); in.found || in.err != nil {
			l = in
		}
	}
	if d.moved() {
		// A version that is being removed has less and less in it, and a link
		// outside of it may lead into the next one.
		return lookup{err: errMoved}
	}
	return l
}

func (d directory) lookup(name, at string, above []link) lookup {
	info, err := d.root.Lstat(at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return lookup{}
	case err != nil:
		return lookup{err: err}
	case info.Mode().Type() == fs.ModeSymlink:
		return d.lookupLink(name, at)
	case !info.IsDir():
		return lookup{}
	}
	opened, err := openDirectory(d.root, at, above)
	return lookup{directory: opened, found: err == nil, err: err}
}

// lookupLink passes over the links into a version: what is in the version was
// found there.
func (d directory) lookupLink(name, at string) lookup {
	target, err := d.root.Readlink(at)
	if err == nil && filepath.ToSlash(target) == path.Join(dataLink, name) {
		return lookup{}
	}
	return lookup{err: errDirectoryLink}
}
