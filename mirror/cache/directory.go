package cache

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// createDirectory creates the directory of a Cache, for us alone.
func createDirectory(dir string) error {
	err := os.Mkdir(dir, 0o700)
	parent := filepath.Dir(dir)
	switch {
	case err == nil:
		return syncParent(parent)
	case errors.Is(err, fs.ErrExist):
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("directory %s cannot be created: %s does not exist; create that", dir, parent)
	}
	return explain(fmt.Sprintf("directory %s cannot be created", dir), err)
}

func syncParent(parent string) error {
	root, err := os.OpenRoot(parent)
	if errors.Is(err, fs.ErrPermission) {
		return nil // it can be passed and not listed: the system syncs it in time
	}
	if err != nil {
		return explain(fmt.Sprintf("directory %s cannot be opened", parent), err)
	}
	defer root.Close()
	return syncDirectory(root)
}

// openDirectory opens the directory itself, not what a link leads to, once it is
// known that nobody else can change what is in it. All that follows goes through
// the open directory, so putting another in its place changes nothing.
func openDirectory(dir string) (*os.Root, error) {
	want, err := os.Lstat(dir)
	if err != nil {
		return nil, explain(fmt.Sprintf("directory %s cannot be opened", dir), err)
	}
	switch {
	case want.Mode().Type() == fs.ModeSymlink:
		return nil, fmt.Errorf("directory %s is a symbolic link; name the directory itself", dir)
	case !want.IsDir():
		return nil, fmt.Errorf("directory %s is no directory; name another, or remove it", dir)
	}
	// With a dot at its end, the path of a pipe or a device is not opened.
	root, err := os.OpenRoot(dir + string(filepath.Separator) + ".")
	if err != nil {
		return nil, explain(fmt.Sprintf("directory %s cannot be opened", dir), err)
	}
	if err := admitRoot(root, dir, want); err != nil {
		_ = root.Close()
		return nil, err
	}
	return root, nil
}

// admitRoot refuses a directory that is not the one that was looked at.
func admitRoot(root *os.Root, dir string, want fs.FileInfo) error {
	got, err := root.Stat(".")
	if err == nil && !os.SameFile(want, got) {
		return fmt.Errorf("directory %s was replaced while it was opened; try again", dir)
	}
	return admitDirectory(root, dir)
}

// admitDirectory refuses one that others can get at.
func admitDirectory(root *os.Root, dir string) error {
	info, err := root.Stat(".")
	if err != nil {
		return explain(fmt.Sprintf("directory %s cannot be opened", dir), err)
	}
	if err := admitKeeping(dir, info); err != nil {
		return fmt.Errorf("directory %s %w", dir, err)
	}
	return nil
}
