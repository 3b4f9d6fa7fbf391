package files

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

var (
	// errMoved: the file is not the one that was looked at, or changed while it
	// was read.
	errMoved = errors.New("changed while it was read")
	// errHeld: somebody has the file open for writing.
	errHeld = errors.New("is held open for writing; close it when it is complete, or rename a complete file into place")
	// errNotRegular: a directory, pipe, socket or device.
	errNotRegular = errors.New("is no regular file")
)

// readFile returns a file's whole content as of the stamp. The file is checked
// for writers unless it is atomic: in a place where files are never changed.
func readFile(root *os.Root, want stamp, most int64, atomic bool) ([]byte, error) {
	// Without O_NONBLOCK a pipe that took the file's place would block.
	f, err := root.OpenFile(want.path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := stillIs(f, want); err != nil {
		return nil, err
	}
	if want.size > most {
		return nil, fmt.Errorf("is larger than %d MiB; split it", most>>20)
	}
	if !atomic && heldByWriter(f) {
		return nil, errHeld
	}
	content := make([]byte, want.size)
	if _, err := io.ReadFull(f, content); err != nil {
		return nil, shorter(err)
	}
	if err := stillIs(f, want); err != nil {
		return nil, err
	}
	return content, nil
}

func stillIs(f *os.File, want stamp) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errNotRegular
	}
	if newStamp(want.path, info) != want {
		return errMoved
	}
	return nil
}

func shorter(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errMoved
	}
	return err
}
