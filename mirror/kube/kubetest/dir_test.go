package kubetest

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLeftoversOfKilledTestProcessesAreRemoved(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	abandoned, err := openTempDir()
	require.NoError(t, err)
	require.NoError(t, abandoned.unlock()) // as the kernel does when a process is killed
	used, err := openTempDir()
	require.NoError(t, err)
	stranger := filepath.Join(os.TempDir(), "of-another-program")
	require.NoError(t, os.Mkdir(stranger, 0o700))

	removeLeftovers(filepath.Join(os.TempDir(), tempPattern), time.Now().Add(-time.Hour))
	require.DirExists(t, abandoned.path, "it may be one that is being made")

	removeLeftovers(filepath.Join(os.TempDir(), tempPattern), time.Now().Add(time.Hour))

	assert.NoDirExists(t, abandoned.path)
	assert.DirExists(t, used.path)
	assert.DirExists(t, stranger)
	require.NoError(t, used.close())
	assert.NoDirExists(t, used.path)
	assert.NoError(t, used.close(), "a second time")
}
