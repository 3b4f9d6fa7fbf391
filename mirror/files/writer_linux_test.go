package files

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

func TestAFileThatIsHeldOpenIsNotTakenHoweverLongItPauses(t *testing.T) {
	for _, tt := range []struct{ name, path, first, rest string }{
		{"a manifest", "two.yaml", half, whole[len(half):]},
		{"a key of a tree", "demo/open/token", "ne", "w"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t, openKey)
			f.settle()
			path := filepath.Join(f.dir, tt.path)
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			w, err := os.Create(path)
			require.NoError(t, err)
			for _, part := range []string{tt.first, tt.rest} {
				for range 5 {
					f.glance()
				}
				_, err = w.WriteString(part)
				require.NoError(t, err)
				assert.Equal(t, snapshot.SecretAbsent, f.state(openKey).Status)
			}
			f.settle()
			assert.Equal(t, snapshot.SecretAbsent, f.state(openKey).Status)
			require.NoError(t, w.Close())
			f.settle()
			assert.Equal(t, "new", f.value(openKey, "token"))
			assert.Empty(t, f.failing)
		})
	}
}

func TestAFileThatIsHeldOpenForGoodIsReported(t *testing.T) {
	const words = "is held open for writing; close it when it is complete, or rename a complete file into place"
	f := newFixture(t, openKey, otherKey)
	f.write("open.yaml", manifestOf(openKey, "token", "old"))
	f.write("demo/other/token", "old")
	f.settle()
	var writers []*os.File
	for _, name := range []string{"open.yaml", "demo/other/token"} {
		w, err := os.OpenFile(filepath.Join(f.dir, name), os.O_WRONLY|os.O_TRUNC, 0)
		require.NoError(t, err)
		writers = append(writers, w)
	}
	f.settle()
	assert.Empty(t, f.failing)
	f.now = f.now.Add(heldPatience)
	f.glance()
	assert.Equal(t, "open.yaml: "+words, f.failing["file open.yaml"].Detail)
	assert.Equal(t, `key "token": `+words+"; what was read before stays in use", f.failing["secret demo/other"].Detail)
	assert.Equal(t, "old", f.value(openKey, "token"))
	assert.Equal(t, "old", f.value(otherKey, "token"))

	for _, w := range writers {
		require.NoError(t, w.Close())
	}
	f.settle()
	assert.Empty(t, f.failing)
	assert.Equal(t, snapshot.SecretAbsent, f.state(openKey).Status, "the file is empty")
	assert.Empty(t, f.value(otherKey, "token"))
}

func TestAReaderIsNoWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	assert.False(t, heldByWriter(f))

	w, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	assert.True(t, heldByWriter(f))
	require.NoError(t, w.Close())
	assert.False(t, heldByWriter(f))

	// The check must leave nothing behind that holds a writer up.
	w, err = os.OpenFile(path, os.O_WRONLY, 0)
	require.NoError(t, err)
	require.NoError(t, w.Close())
}
