package cache

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// explain says what failed, why, and the fix if one is known. The paths of the
// error are left out: they are relative to the open directory.
func explain(what string, err error) error {
	return fmt.Errorf("%s: %w%s", what, bare(err), fix(err))
}

func bare(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err
	}
	if at, ok := errors.AsType[*os.LinkError](err); ok {
		return at.Err
	}
	return err
}

func fix(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "; free space on that disk, or name a directory on another"
	case errors.Is(err, syscall.EROFS):
		return "; name a directory that can be written"
	case errors.Is(err, fs.ErrPermission):
		return fmt.Sprintf("; let user %d, as which this process runs, do that", os.Geteuid())
	}
	return ""
}
