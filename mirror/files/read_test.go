package files

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAFileIsReadOnlyAsItWasLookedAt(t *testing.T) {
	tests := []struct {
		name   string
		change func(path string) error
		err    error
	}{
		{"unchanged", func(string) error { return nil }, nil},
		{"longer", func(path string) error { return os.WriteFile(path, []byte("longer than before"), 0o600) }, errMoved},
		{"shorter", func(path string) error { return os.WriteFile(path, nil, 0o600) }, errMoved},
		{"replaced", func(path string) error {
			if err := os.WriteFile(path+".new", []byte("content"), 0o600); err != nil {
				return err
			}
			return os.Rename(path+".new", path)
		}, errMoved},
		{"gone", os.Remove, os.ErrNotExist},
		{"a directory now", func(path string) error {
			if err := os.Remove(path); err != nil {
				return err
			}
			return os.Mkdir(path, 0o700)
		}, errNotRegular},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "a")
			require.NoError(t, os.WriteFile(path, []byte("content"), 0o600))
			root, err := os.OpenRoot(dir)
			require.NoError(t, err)
			defer root.Close()
			info, err := root.Stat("a")
			require.NoError(t, err)

			require.NoError(t, tt.change(path))
			content, err := readFile(root, newStamp("a", info), 100, true)
			if tt.err != nil {
				assert.ErrorIs(t, err, tt.err)
				assert.Nil(t, content)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, "content", string(content))
		})
	}
}
