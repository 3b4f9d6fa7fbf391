package files

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// heldByWriter reports whether somebody has the file open for writing. Only the
// kernel knows: it grants a read lease only where nobody has (fcntl(2)). Where
// it grants none for another reason, such as a file of another user, the answer
// is no, and that the file was left alone for a while has to do.
func heldByWriter(f *os.File) bool {
	conn, err := f.SyscallConn()
	if err != nil {
		return false
	}
	held := false
	err = conn.Control(func(fd uintptr) {
		_, err := unix.FcntlInt(fd, unix.F_SETLEASE, unix.F_RDLCK)
		held = errors.Is(err, unix.EAGAIN)
		if err == nil {
			_, _ = unix.FcntlInt(fd, unix.F_SETLEASE, unix.F_UNLCK)
		}
	})
	return err == nil && held
}
