//go:build !unix

package cache

import (
	"io/fs"
	"os"
)

// admitKeeping refuses nothing: owners and permission bits are no notions here.
func admitKeeping(string, fs.FileInfo) error { return nil }

// syncDirectory does nothing: a directory cannot be synced here.
func syncDirectory(*os.Root) error { return nil }
