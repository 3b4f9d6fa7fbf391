package files

import "io/fs"

// stamp is what a file's metadata say of its content. It is comparable.
type stamp struct {
	path     string
	size     int64
	modified int64 // nanoseconds since 1970
	inode
}

// inode is what the system knows beyond what Go does; zero where it is not
// asked.
type inode struct {
	device, number uint64
	changed        int64 // last change of the inode, a rename included; nanoseconds since 1970
}

func newStamp(path string, info fs.FileInfo) stamp {
	return stamp{
		path:     path,
		size:     info.Size(),
		modified: info.ModTime().UnixNano(),
		inode:    inodeOf(info),
	}
}
