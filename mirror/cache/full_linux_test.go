package cache_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// More that a child does.
const (
	childFull     = "fills a disk"
	childReadOnly = "writes to a read-only disk"
)

func init() {
	children[childFull] = fillDisk
	children[childReadOnly] = writeReadOnly
}

func TestRow20AFullDiskLeavesTheOldFile(t *testing.T) {
	runChild(t, inMounts(t, childCommand(childFull, t.TempDir())))
}

func TestAReadOnlyDiskLeavesTheOldFile(t *testing.T) {
	runChild(t, inMounts(t, childCommand(childReadOnly, t.TempDir())))
}

// inMounts gives a child mounts of its own, which end with it. Whoever is not
// root becomes that in a namespace.
func inMounts(t *testing.T, cmd *exec.Cmd) *exec.Cmd {
	t.Helper()
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	trial := exec.Command("true")
	trial.SysProcAttr = cmd.SysProcAttr
	err := trial.Run()
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) {
		t.Skip("this machine permits no mounts of a process's own: " + err.Error())
	}
	require.NoError(t, err)
	return cmd
}

// mountSmall puts a disk of 256 KiB at a directory.
func mountSmall(at string, flags uintptr) error {
	err := errors.Join(
		syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""),
		syscall.Mount("tmpfs", at, "tmpfs", flags, "size=256k,mode=0700"),
	)
	if errors.Is(err, syscall.EPERM) {
		return fmt.Errorf(skipPrefix+"no tmpfs can be mounted: %w", err)
	}
	return err
}

func fillDisk(at string) error {
	if err := mountSmall(at, 0); err != nil {
		return err
	}
	words := "cannot be written: no space left on device; free space on that disk"
	return storeInVain(filepath.Join(at, "cache"), noisyContents(1<<20), syscall.ENOSPC, words)
}

func writeReadOnly(at string) error {
	if err := mountSmall(at, 0); err != nil {
		return err
	}
	c, err := childCache(filepath.Join(at, "cache"))
	if err != nil {
		return err
	}
	// The lock is given up again: a file that is open for writing keeps a disk
	// from becoming read-only.
	if err := errors.Join(c.Store(shop()), c.Close()); err != nil {
		return err
	}
	if err := syscall.Mount("", at, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		return err
	}
	c, err = childCache(filepath.Join(at, "cache"))
	if err != nil {
		return err
	}
	words := "read-only file system; name a directory that can be written"
	if err := storeInVainWith(c, town(1), syscall.EROFS, words); err != nil {
		return err
	}
	c, err = childCache(filepath.Join(at, "another"))
	if err != nil {
		return err
	}
	return expect(c.Store(shop()), syscall.EROFS, "another cannot be created: "+words)
}
