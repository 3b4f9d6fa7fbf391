package cache_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/mirror/cache"
)

// The environment of a child: what it is to do, and in which directory.
const (
	envChild = "CACHE_TEST_CHILD"
	envDir   = "CACHE_TEST_DIR"
)

// What a child does; the tests of one system have more.
const childHolds = "holds"

// children are what this binary does as another process. They talk by lines.
var children = map[string]func(dir string) error{
	childHolds: holdTheLock,
}

func TestMain(m *testing.M) {
	task := os.Getenv(envChild)
	if task == "" {
		os.Exit(m.Run())
	}
	if err := children[task](os.Getenv(envDir)); err != nil {
		say(err.Error())
		os.Exit(1)
	}
}

func say(words string) { fmt.Println(words) }

type child struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
}

func childCommand(task, dir string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	// Under the race detector a process would take a second to end.
	cmd.Env = append(os.Environ(), envChild+"="+task, envDir+"="+dir, "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	return cmd
}

// startChild starts one that ends with the test.
func startChild(t *testing.T, task, dir string) child {
	t.Helper()
	cmd := childCommand(task, dir)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	// A child waits for its input to end, so that it outlives no test.
	_, err = cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // mostly for a second time
	})
	return child{cmd: cmd, lines: bufio.NewScanner(out)}
}

// skipPrefix marks what a child cannot do on this machine.
const skipPrefix = "not here: "

// runChild runs one to its end. What it says is why it failed.
func runChild(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	out, err := cmd.Output()
	words := strings.TrimSpace(string(out))
	if reason, ok := strings.CutPrefix(words, skipPrefix); ok {
		t.Skip(reason)
	}
	require.NoError(t, err, words)
}

func childCache(dir string) (*cache.Cache, error) { return cache.New(options(dir)) }

func holdTheLock(dir string) error {
	c, err := childCache(dir)
	if err != nil {
		return err
	}
	if err := c.Store(shop()); err != nil {
		return err
	}
	say("locked")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}
