package kubetest

import (
	"os/exec"
	"syscall"
)

// endWithParent makes the kernel kill the child when this process ends, however
// it ends. The group of its own keeps the terminal's Ctrl-C away from the child:
// this process stops it in order.
func endWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// awaitStopped returns when each thread of the child has stopped, which is some
// time after SIGSTOP was sent. The child's state stays for others to see.
func awaitStopped(pid int) error {
	const byPID = 1 // P_PID
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID,
			byPID, uintptr(pid), 0, syscall.WSTOPPED|syscall.WNOWAIT, 0, 0)
		switch errno {
		case 0:
			return nil
		case syscall.EINTR:
			continue
		}
		return errno
	}
}
