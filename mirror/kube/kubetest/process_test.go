package kubetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var errNotReady = errors.New("not ready")

func TestProcessThatEndsBeforeItIsReadyReportsItsOutput(t *testing.T) {
	p := startShell(t, "echo port is taken >&2; exit 3")

	err := p.await(t.Context(), func(context.Context) error { return errNotReady })

	require.ErrorContains(t, err, "exit status 3")
	assert.ErrorContains(t, err, "port is taken")
}

func TestProcessThatIsNeverReadyReportsWhy(t *testing.T) {
	p := startShell(t, "exec sleep 3600")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()

	err := p.await(ctx, func(context.Context) error { return errNotReady })

	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.ErrorIs(t, err, errNotReady)
}

func TestProcessEndsAlsoWhileFrozen(t *testing.T) {
	ways := map[string]func(*process){"killed": (*process).kill, "terminated": (*process).terminate}
	for name, end := range ways {
		t.Run(name, func(t *testing.T) {
			p := startShell(t, "exec sleep 3600")
			require.NoError(t, p.freeze())

			end(p)

			assert.False(t, p.running())
		})
	}
}

func TestFreezeStopsEveryThreadBeforeItReturns(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads /proc")
	}
	p := startShell(t, "while :; do :; done")
	for range 20 {
		require.NoError(t, p.freeze())
		require.Equal(t, "T", stateOf(t, p))
		require.NoError(t, p.thaw())
	}
}

func TestSignalsToAnEndedProcessAreErrors(t *testing.T) {
	p := startShell(t, "true")
	<-p.exited

	require.ErrorContains(t, p.freeze(), "does not run")
	require.ErrorContains(t, p.thaw(), "does not run")
}

func TestTailIsTheEndOfTheLogInWholeLines(t *testing.T) {
	p := startShell(t, "yes a long line of the log | head -n 1000; echo last")
	<-p.exited

	tail := string(p.tail())

	assert.Less(t, len(tail), tailBytes)
	assert.True(t, strings.HasPrefix(tail, "a long line"), tail[:20])
	assert.True(t, strings.HasSuffix(tail, "\nlast\n"))
}

func stateOf(t *testing.T, p *process) string {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(stat), ") ")
	require.True(t, found, "%s", stat)
	return rest[:1]
}

func startShell(t *testing.T, script string) *process {
	t.Helper()
	p, err := startProcess("sh", filepath.Join(t.TempDir(), "log"), exec.Command("sh", "-c", script))
	require.NoError(t, err)
	t.Cleanup(p.kill)
	return p
}
