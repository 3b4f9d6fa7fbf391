package mirror_test

import (
	"bytes"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/mirror/cache"
)

func TestCacheThatCannotBeTrustedIsRefusedInWords(t *testing.T) {
	for name, c := range map[string]struct {
		store func(*testing.T, *disk)
		words string
	}{
		"cut short": {
			store: func(t *testing.T, d *disk) {
				d.has(shopAndBlog())
				info, err := os.Stat(d.file())
				require.NoError(t, err)
				require.NoError(t, os.Truncate(d.file(), info.Size()-1))
			},
			words: "is cut short",
		},
		"altered": {
			store: func(t *testing.T, d *disk) {
				d.has(shopAndBlog())
				file, err := os.ReadFile(d.file())
				require.NoError(t, err)
				file[len(file)-1] ^= 1
				require.NoError(t, os.WriteFile(d.file(), file, 0o600))
			},
			words: "has been altered or damaged; remove it",
		},
		"of another server": {
			store: func(_ *testing.T, d *disk) {
				d.has(shopAndBlog(), func(o *cache.Options) { o.Origin.Server = "https://10.0.0.2:6443" })
			},
			words: `is of another server ("https://10.0.0.2:6443", and this one is "https://10.0.0.1:6443")`,
		},
		"sealed with another key": {
			store: func(_ *testing.T, d *disk) {
				d.has(shopAndBlog(), func(o *cache.Options) { o.Key = bytes.Repeat([]byte("x"), 32) })
			},
			words: "is sealed with another key",
		},
		"row 19, from the future": {
			store: func(_ *testing.T, d *disk) {
				tomorrow := time.Now().Add(24 * time.Hour)
				c := shopAndBlog()
				c.Validated = tomorrow
				d.has(c, func(o *cache.Options) { o.Now = func() time.Time { return tomorrow } })
			},
			words: "ahead of this machine's clock; set the clock right, or remove it",
		},
		"readable by others": {
			store: func(t *testing.T, d *disk) {
				d.has(shopAndBlog())
				require.NoError(t, os.Chmod(d.file(), 0o604))
			},
			words: "chmod o-rwx",
		},
		"with a Registry that cannot be read": {
			store: func(_ *testing.T, d *disk) { d.has(contents(document("uid-1", "7", "version: 2"))) },
			words: sprintf(malformed, "7"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDisk(t)
				c.store(t, d)
				w := newWorld(t, kept(d.cache()))
				w.start()
				pass(startupTimeout + time.Hour)
				w.assertNothingServed(c.words)
				assert.Equal(t, 1, w.logs.FilterMessage("cache refused").Len())

				w.serve("shop")
				assert.Empty(t, w.mirror.Status().Conditions, "it was replaced by what is good")
				assert.Contains(t, d.load().Secrets, key("shop"))
			})
		})
	}
}

func TestRefusedCacheIsTheOperatorsUntilItIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk(t)
		d.has(shopAndBlog(), func(o *cache.Options) { o.Key = bytes.Repeat([]byte("x"), 32) })
		before, err := os.ReadFile(d.file())
		require.NoError(t, err)
		w := newWorld(t, kept(d.cache()))
		w.start()
		pass(time.Hour)
		w.mirror.Stop()

		after, err := os.ReadFile(d.file())
		require.NoError(t, err)
		assert.Equal(t, before, after, "the key may be what is wrong")
	})
}

func TestNoCacheYetIsNoFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk(t)
		w := newWorld(t, kept(d.cache()))
		w.start()
		pass(time.Hour)
		assert.Equal(t, []string{notRead}, w.reasons())
		assert.Empty(t, w.mirror.Status().Conditions)
		assert.Equal(t, &mirror.CacheStatus{}, w.mirror.Status().Cache)
		assert.NoDirExists(t, d.dir)

		w.serve("shop")
		assert.FileExists(t, d.file())
	})
}
