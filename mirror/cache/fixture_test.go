package cache_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/mirror/cache"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

var (
	// noon is what the clocks of the tests show.
	noon        = time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)
	registryKey = snapshot.Key{Namespace: "bridge", Name: "apps"}
	shopKey     = snapshot.Key{Namespace: "shop", Name: "clients"}
	sealingKey  = bytes.Repeat([]byte("k"), 32)
	origin      = cache.Origin{Server: "https://10.0.0.1:6443", CA: "c0ffee", Registry: registryKey}
)

// shopValue is what must be shown nowhere.
const shopValue = "open-sesame-of-the-shop"

func options(dir string) cache.Options {
	return cache.Options{Dir: dir, Key: sealingKey, Origin: origin, Now: func() time.Time { return noon }}
}

func newCache(t testing.TB, o cache.Options) *cache.Cache {
	t.Helper()
	c, err := cache.New(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// emptyCache has a directory that is not there yet.
func emptyCache(t testing.TB) *cache.Cache {
	t.Helper()
	return newCache(t, options(filepath.Join(t.TempDir(), "cache")))
}

// storedCache has something stored, and its lock given up.
func storedCache(t testing.TB) *cache.Cache {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "cache")
	writer := newCache(t, options(dir))
	require.NoError(t, writer.Store(shop()))
	require.NoError(t, writer.Close())
	return newCache(t, options(dir))
}

// shop is small and has a secret in it.
func shop() mirror.Contents {
	return mirror.Contents{
		Cluster:   "cluster-uid",
		Validated: noon.Add(-time.Minute),
		Registry:  secret(registryKey, map[string][]byte{"registry.yaml": []byte("version: 1\n")}),
		Secrets: map[snapshot.Key]snapshot.SecretState{
			shopKey: snapshot.Present(secret(shopKey, map[string][]byte{"token": []byte(shopValue)})),
		},
	}
}

func secret(key snapshot.Key, data map[string][]byte) *snapshot.Secret {
	meta := snapshot.SecretMeta{Key: key, UID: "uid-of-" + key.Name, Version: "42", Type: "Opaque"}
	return snapshot.NewSecret(meta, data)
}

// town is as large as a real one: so many Secrets of 200 bytes and a Registry of
// 1 MiB, of the text that a gzipped document is not.
func town(secrets int) mirror.Contents {
	c := mirror.Contents{Validated: noon, Secrets: make(map[snapshot.Key]snapshot.SecretState, secrets)}
	var document bytes.Buffer
	for i := 0; document.Len() < 1<<20; i++ {
		fmt.Fprintf(&document, "- {name: app-%d, hostnames: [app-%d.example.com], secretRef: {name: clients-%d}}\n", i, i, i)
	}
	c.Registry = secret(registryKey, map[string][]byte{"registry.yaml": document.Bytes()})
	for i := range secrets {
		key := snapshot.Key{Namespace: fmt.Sprintf("town-%d", i%100), Name: fmt.Sprintf("clients-%d", i)}
		c.Secrets[key] = snapshot.Present(secret(key, map[string][]byte{"token": value(i)}))
	}
	return c
}

// value is 200 bytes of hex digits that do not repeat, as keys are.
func value(seed int) []byte {
	v := make([]byte, 0, 256)
	for n := uint64(seed) + 1; len(v) < 200; {
		n = n*6364136223846793005 + 1442695040888963407
		v = fmt.Appendf(v, "%016x", n)
	}
	return v[:200]
}

// noise is data that no compression makes smaller.
func noise(size int) map[string][]byte {
	data := make([]byte, size)
	_, _ = rand.Read(data) // never fails
	return map[string][]byte{"noise": data}
}

// requireSame compares all that a Secret and a state have.
func requireSame(t testing.TB, want, got mirror.Contents) {
	t.Helper()
	require.Equal(t, want.Cluster, got.Cluster)
	require.True(t, want.Validated.Equal(got.Validated), "validated: %s and not %s", got.Validated, want.Validated)
	require.True(t, want.Registry.Equal(got.Registry), "the Registry is another one")
	require.Len(t, got.Secrets, len(want.Secrets))
	for key, state := range want.Secrets {
		kept, ok := got.Secrets[key]
		require.True(t, ok, "%s is missing", key)
		require.True(t, state.Equal(kept), "%s is another one", key)
	}
}

// requireRefused asks for an error that says all the words and no secret, and
// that is neither of those that are told apart.
func requireRefused(t testing.TB, err error, words ...string) {
	t.Helper()
	require.Error(t, err)
	require.NotErrorIs(t, err, mirror.ErrNoCache)
	require.NotErrorIs(t, err, mirror.ErrCacheLocked)
	for _, word := range words {
		assert.ErrorContains(t, err, word)
	}
	assert.NotContains(t, err.Error(), shopValue)
	assert.NotContains(t, err.Error(), string(sealingKey))
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	return content
}

// files returns the names of what is in a directory.
func files(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	names := make([]string, 0, len(entries))
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}
