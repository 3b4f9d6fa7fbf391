package kubetest

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// With this variable the test binary is a parent that is going to be killed: it
// starts a child that would live for an hour, and says so.
const orphanVariable = "KUBETEST_ORPHAN_LOG"

func TestChildrenEndWithAKilledTestProcess(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ties a child to its parent's life")
	}
	// Whoever lives holds the write end, so the read ends when nobody does.
	alive, held, err := os.Pipe()
	require.NoError(t, err)
	defer alive.Close()
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), orphanVariable+"="+filepath.Join(t.TempDir(), "log"))
	parent.ExtraFiles = []*os.File{held}
	stdout, err := parent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, parent.Start())
	require.NoError(t, held.Close())
	var line string
	_, err = fmt.Fscanln(stdout, &line)
	require.NoError(t, err)
	require.Equal(t, "started", line)

	require.NoError(t, parent.Process.Kill())
	require.Error(t, parent.Wait())

	require.NoError(t, alive.SetReadDeadline(time.Now().Add(10*time.Second)))
	_, err = alive.Read(make([]byte, 1))
	assert.ErrorIs(t, err, io.EOF, "the child outlived its parent")
}

func runOrphanParent() {
	child := exec.Command("sleep", "3600")
	child.ExtraFiles = []*os.File{os.NewFile(3, "held by whoever lives")}
	if _, err := startProcess("sleep", os.Getenv(orphanVariable), child); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("started")
	select {}
}
