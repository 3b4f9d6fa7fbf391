package files

import (
	"io/fs"
	"syscall"
)

func inodeOf(info fs.FileInfo) inode {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return inode{}
	}
	return inode{
		device:  uint64(st.Dev),
		number:  uint64(st.Ino),
		changed: st.Ctim.Nano(),
	}
}
