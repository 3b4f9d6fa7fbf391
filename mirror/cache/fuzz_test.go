package cache_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/mirror/cache"
)

// FuzzLoad: no bytes make a panic, and none are loaded but those of a sealed file.
func FuzzLoad(f *testing.F) {
	c := newCache(f, options(filepath.Join(f.TempDir(), "cache")))
	require.NoError(f, c.Store(shop()))
	// One for all workers: those of another would be loaded as well.
	sealed := readFile(f, goldenPath)
	f.Add(sealed)
	f.Add(sealed[:len(sealed)/2])
	f.Add(sealed[:cache.PreambleSize])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, file []byte) {
		require.NoError(t, os.WriteFile(c.Path(), file, 0o600))
		_, err := c.Load()
		if bytes.Equal(file, sealed) {
			require.NoError(t, err)
			return
		}
		requireRefused(t, err, "remove it")
	})
}

// FuzzDecode: no body makes a panic, and what is decoded encodes to as much.
func FuzzDecode(f *testing.F) {
	small := shop()
	f.Add(cache.Encode(small))
	f.Add(cache.Encode(mirror.Contents{}))
	small.Registry = nil
	f.Add(cache.Encode(small))
	f.Fuzz(func(t *testing.T, body []byte) {
		contents, err := cache.Decode(body)
		if err != nil {
			return
		}
		again, err := cache.Decode(cache.Encode(contents))
		require.NoError(t, err)
		requireSame(t, contents, again)
	})
}
