package files

import (
	"errors"
	"io/fs"
	"os"
	"strings"
)

// errDirectoryLink: a Secret in another's place would be told to whoever may use
// the other.
var errDirectoryLink = errors.New("is a symbolic link; put the directory itself there")

// within returns the directory in a root of its own, so that no link in it leads
// to another Secret. Its root is to be closed.
func (d directory) within() (directory, error) {
	root, err := openWithin(d.root, d.path)
	if err != nil {
		return directory{}, err
	}
	own, err := openDirectory(root, ".", d.above)
	if err != nil {
		_ = root.Close()
		return directory{}, err
	}
	own.place = d.place
	return own, nil
}

// openWithin goes down a path that has no symbolic link in it.
func openWithin(root *os.Root, at string) (*os.Root, error) {
	var last *os.Root
	for name := range strings.SplitSeq(at, "/") {
		next, err := openStep(root, name)
		if last != nil {
			_ = last.Close()
		}
		if err != nil {
			return nil, err
		}
		root, last = next, next
	}
	return last, nil
}

func openStep(root *os.Root, name string) (*os.Root, error) {
	want, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if want.Mode().Type() == fs.ModeSymlink {
		return nil, errDirectoryLink
	}
	next, err := root.OpenRoot(onlyDirectory(name))
	if err != nil {
		return nil, err
	}
	// OpenRoot follows a link that took the directory's place meanwhile.
	got, err := next.Stat(".")
	if err == nil && !os.SameFile(want, got) {
		err = errMoved
	}
	if err != nil {
		_ = next.Close()
		return nil, err
	}
	return next, nil
}

// onlyDirectory makes a path that nothing but a directory can be opened by: the
// open of a pipe or a device in its place fails, and does not wait for ever.
func onlyDirectory(at string) string { return at + "/." }
