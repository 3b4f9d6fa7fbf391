package cache_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/mirror/cache"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

// loadWith loads what was stored with some options, with others.
func loadWith(t *testing.T, change func(*cache.Options)) (string, error) {
	t.Helper()
	stored := storedCache(t)
	o := options(t.TempDir())
	change(&o)
	o.Dir = stored.Path()[:len(stored.Path())-len("/objects.sealed")]
	c := newCache(t, o)
	_, err := c.Load()
	return c.Path(), err
}

func TestACacheOfAnotherOriginIsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*cache.Origin)
		words  string
	}{
		"server": {
			func(o *cache.Origin) { o.Server = "https://10.0.0.2:6443" },
			`is of another server ("https://10.0.0.1:6443", and this one is "https://10.0.0.2:6443")`,
		},
		"CA":    {func(o *cache.Origin) { o.CA = "decaf" }, `is of another CA ("c0ffee", and this one is "decaf")`},
		"no CA": {func(o *cache.Origin) { o.CA = "" }, `is of another CA ("c0ffee", and this one is "")`},
		"name of the Registry": {
			func(o *cache.Origin) { o.Registry.Name = "others" },
			`is of another registry ("bridge/apps", and this one is "bridge/others")`,
		},
		"namespace of the Registry": {
			func(o *cache.Origin) { o.Registry.Namespace = "other" },
			`is of another registry ("bridge/apps", and this one is "other/apps")`,
		},
		"parts of the Registry's name": {
			func(o *cache.Origin) { o.Registry = snapshot.Key{Namespace: "bridge/apps"} }, "is of another registry",
		},
	} {
		t.Run(name, func(t *testing.T) {
			path, err := loadWith(t, func(o *cache.Options) { test.change(&o.Origin) })
			requireRefused(t, err, path, test.words, "name another directory, or remove it")
		})
	}
}

func TestWhatAnErrorRepeatsOfAFileIsBounded(t *testing.T) {
	o := options(t.TempDir())
	o.Origin.Server = "https://" + string(bytes.Repeat([]byte("\n"), 10_000))
	file, err := newCache(t, options(t.TempDir())).Seal(shop())
	require.NoError(t, err)
	_, err = newCache(t, o).Unseal(file)
	requireRefused(t, err, "is of another server")
	assert.NotContains(t, err.Error(), "\n", "a line of a log stays one")
	assert.Less(t, len(err.Error()), 1_000)
}

func TestACacheSealedWithAnotherKeyIsRefused(t *testing.T) {
	path, err := loadWith(t, func(o *cache.Options) { o.Key = bytes.Repeat([]byte("K"), 32) })
	requireRefused(t, err, path, "is sealed with another key; give the key that it was sealed with")

	_, err = loadWith(t, func(o *cache.Options) { o.Key = append(bytes.Clone(sealingKey), 'k') })
	requireRefused(t, err, "is sealed with another key")
}

func TestACacheFromTheFutureIsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		clock   time.Duration // how far the reader's is behind the writer's
		refused string
	}{
		"clocks agree":               {0, ""},
		"written a minute ahead":     {time.Minute, ""},
		"written more ahead":         {time.Minute + time.Second, "was written at 2027-03-01T12:00:00Z, 1m1s ahead of this machine's clock"},
		"written and validated so":   {time.Hour, "ahead of this machine's clock"},
		"long ago is not our matter": {-10_000 * time.Hour, ""},
	} {
		t.Run(name, func(t *testing.T) {
			path, err := loadWith(t, func(o *cache.Options) {
				o.Now = func() time.Time { return noon.Add(-test.clock) }
			})
			if test.refused == "" {
				require.NoError(t, err)
				return
			}
			requireRefused(t, err, path, test.refused, "set the clock right, or remove it")
		})
	}
}

func TestACacheValidatedInTheFutureIsRefused(t *testing.T) {
	c := emptyCache(t)
	plain := cache.Encode(shop())
	file, err := c.Forge(noon.Add(time.Hour), cache.Zip(plain), int64(len(plain)))
	require.NoError(t, err)
	_, err = c.Unseal(file)
	requireRefused(t, err, "1h0m0s ahead of this machine's clock")

	file, err = c.Forge(noon, cache.Zip(plain), int64(len(plain)))
	require.NoError(t, err)
	_, err = c.Unseal(file)
	require.NoError(t, err, "at noon it is fine")
}
