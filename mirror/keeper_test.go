package mirror_test

import (
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

// persistInterval is that of a Mirror that is not told another one.
const persistInterval = 30 * time.Second

// inKept runs a test with a Mirror that is started with a Cache of an empty directory.
func inKept(t *testing.T, test func(*testing.T, *world, *disk, *watched), options ...option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := newDisk(t)
		c := &watched{Cache: d.cache()}
		w := newWorld(t, append([]option{kept(c)}, options...)...)
		w.start()
		test(t, w, d, c)
	})
}

// sinceStart are the times of the stores, failed ones included.
func (c *watched) sinceStart(start time.Time) []time.Duration {
	var since []time.Duration
	for _, at := range c.at.list() {
		since = append(since, at.Sub(start))
	}
	return since
}

func TestNewAloneTouchesNoDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk(t)
		c := &watched{Cache: d.cache()}
		w := newWorld(t, kept(c), atOnce)
		pass(time.Hour)
		assert.Equal(t, &mirror.CacheStatus{}, w.mirror.Status().Cache)
		w.mirror.Stop()

		assert.Empty(t, c.calls.list())
		assert.NoDirExists(t, d.dir)
	})
}

func TestFirstWriteIsAfterTheFirstSync(t *testing.T) {
	inKept(t, func(t *testing.T, w *world, d *disk, c *watched) {
		pass(time.Minute)
		w.put("shop", token("shop", "1"))
		w.tell(registry("1", app("shop"), app("blog")))
		pass(time.Hour)
		require.Equal(t, snapshot.Live, w.mirror.Status().State)
		require.Zero(t, c.at.len(), "one Secret is pending")
		require.NoDirExists(t, d.dir)

		begin := time.Now()
		w.put("blog", snapshot.Absent())
		assert.Zero(t, time.Since(begin))
		require.Equal(t, 1, c.stores.len())
		assert.Equal(t, &mirror.CacheStatus{Writes: 1, LastWrite: begin}, w.mirror.Status().Cache)
		assert.FileExists(t, d.file())
	})
}

func TestNothingIsWrittenWhileTheCacheIsServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk(t)
		before := shopAndBlog()
		d.has(before)
		c := &watched{Cache: d.cache()}
		w := newWorld(t, kept(c))
		w.start()
		w.fromCache()
		w.tell(document("uid-1", "7", "version: 2"))
		w.keepValidating(time.Hour)
		w.mirror.Stop()

		assert.Equal(t, []string{"load", "close"}, c.calls.list())
		assert.Equal(t, before, d.load())
	})
}

func TestWritesAreAtMostEveryPersistInterval(t *testing.T) {
	for name, c := range map[string]struct {
		interval, want time.Duration
	}{
		"by default": {0, persistInterval},
		"as told":    {10 * time.Second, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inKept(t, func(t *testing.T, w *world, d *disk, cache *watched) {
				w.serve("shop")
				start := cache.at.list()[0]
				for i := range 90 { // a change every second
					w.put("shop", token("shop", sprintf("%d", i+2)))
					pass(time.Second)
				}
				stores := cache.sinceStart(start)
				assert.Len(t, stores, int(90*time.Second/c.want)+1)
				for i, at := range stores {
					assert.Equal(t, time.Duration(i)*c.want, at)
				}

				pass(c.want)
				assert.Equal(t, "91", d.load().Secrets[key("shop")].Secret.Version(), "the last change is not forgotten")
			}, func(o *mirror.Options) { o.PersistInterval = c.interval })
		})
	}
}

func TestWhatDidNotChangeIsNotWrittenAgain(t *testing.T) {
	inKept(t, func(t *testing.T, w *world, _ *disk, c *watched) {
		w.serve("shop")
		for range 100 {
			w.put("shop", token("shop", "1"))
			w.tell(registry("1", app("shop")))
			w.fresh(mirror.Freshness{Contact: time.Now()})
			pass(time.Minute)
		}
		assert.Equal(t, 1, c.at.len(), "and nobody knows more of its age")
	})
}

func TestCacheIsRefreshedEvery5MinutesWhileValidated(t *testing.T) {
	inKept(t, func(t *testing.T, w *world, d *disk, c *watched) {
		w.serve("shop")
		start := c.at.list()[0]
		pass(4 * time.Second)
		w.keepValidating(21 * time.Minute)
		assert.Equal(t, []time.Duration{0, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 20 * time.Minute}, c.sinceStart(start))
		validated := d.load().Validated
		assert.WithinDuration(t, start.Add(20*time.Minute), validated, 10*time.Second)

		pass(time.Hour)
		assert.Equal(t, 6, c.at.len(), "once for what was validated last, and not again")
		assert.WithinDuration(t, start.Add(21*time.Minute), d.load().Validated, 10*time.Second)
	})
}

func TestCacheIsNotRefreshedByWhatIsNotAccepted(t *testing.T) {
	inKept(t, func(t *testing.T, w *world, d *disk, c *watched) {
		w.serve("shop")
		w.validate()
		asOf := time.Now()
		w.tell(document("uid-1", "2", "version: 2"))
		w.keepValidating(time.Hour)
		assert.Equal(t, 2, c.at.len(), "the second is for what was validated before")
		assert.True(t, asOf.Equal(d.load().Validated))
		assert.Equal(t, "1", d.load().Registry.Version())
	})
}

func TestNothingIsVouchedForWhileASecretIsPending(t *testing.T) {
	inKept(t, func(t *testing.T, w *world, d *disk, c *watched) {
		w.serve("shop", "gone")
		validated := d.load().Validated
		w.tell(registry("2", app("shop"), app("late")))
		w.keepValidating(time.Hour)
		require.Equal(t, "unknown_host", w.reason("gone"))
		assert.Equal(t, 1, c.at.len(), "neither with what is pending, nor what was there before as if it were right now")
		assert.True(t, validated.Equal(d.load().Validated))

		w.put("late", token("late", "1"))
		assert.Equal(t, 2, c.at.len())
		assert.ElementsMatch(t, slices.Collect(maps.Keys(keys("shop", "late"))), slices.Collect(maps.Keys(d.load().Secrets)))
	})
}

func TestClusterIsStoredThoughItIsKnownLate(t *testing.T) {
	inKept(t, func(t *testing.T, w *world, d *disk, c *watched) {
		w.serve("shop")
		require.Empty(t, d.load().Cluster)
		w.source.sink.Cluster("kube-system/1")
		pass(persistInterval)
		assert.Equal(t, "kube-system/1", d.load().Cluster)

		w.source.sink.Cluster("kube-system/1")
		pass(time.Hour)
		assert.Equal(t, 2, c.at.len())
	})
}

func TestStopWritesOnceMore(t *testing.T) {
	for name, c := range map[string]struct {
		before func(*world)
		writes int
	}{
		"what changed since": {
			before: func(w *world) { w.serve("shop"); w.put("shop", token("shop", "2")) },
			writes: 2,
		},
		"what was validated since": {
			before: func(w *world) { w.serve("shop"); w.validate() },
			writes: 2,
		},
		"nothing if nothing changed": {
			before: func(w *world) { w.serve("shop") },
			writes: 1,
		},
		"nothing if a Secret is pending": {
			before: func(w *world) { w.tell(registry("1", app("shop"))); pass(time.Hour) },
		},
		"nothing if never live": {
			before: func(w *world) { w.tell(document("uid-1", "1", "version: 2")); pass(time.Hour) },
		},
		"nothing if never live, before the Cache is looked for": {
			before: func(*world) {},
		},
	} {
		t.Run(name, func(t *testing.T) {
			inKept(t, func(t *testing.T, w *world, d *disk, cache *watched) {
				c.before(w)
				begin := time.Now()
				w.mirror.Stop()
				assert.Zero(t, time.Since(begin))
				assert.Equal(t, c.writes, cache.stores.len())
				assert.Equal(t, "close", cache.calls.last(), "the lock is given up")
				if c.writes == 0 {
					assert.NoDirExists(t, d.dir)
					return
				}
				assert.Equal(t, w.version("shop"), d.load().Secrets[key("shop")].Secret.Version())
				assert.True(t, w.mirror.Status().AsOf.Equal(d.load().Validated))
			})
		})
	}
}

func TestWhatIsStoredIsNarrowedAndWhatIsServed(t *testing.T) {
	inKept(t, func(t *testing.T, w *world, d *disk, _ *watched) {
		w.source.sink.Cluster("kube-system/1")
		w.source.put(key("shop"), snapshot.Present(snapshot.NewSecret(
			snapshot.SecretMeta{Key: key("shop"), UID: "uid-shop", Version: "5", Type: "Opaque", MayInject: true},
			map[string][]byte{"token": []byte("bytes of shop"), "other": []byte("not referenced")},
		)))
		w.source.put(key("blog"), snapshot.Absent())
		w.source.put(key("wiki"), snapshot.Forbidden("may not get secrets in namespace bridge"))
		w.tell(registry("3", `{"name":"shop","hostnames":["shop.example.com"],"secretRef":{"name":"shop","key":"token"}}`,
			app("blog"), app("wiki"), `{"name":"invalid","hostnames":["invalid.example.com"]}`))
		w.validate()
		w.mirror.Stop()

		stored := d.load()
		assert.Equal(t, "kube-system/1", stored.Cluster)
		assert.Equal(t, []string{"token"}, stored.Secrets[key("shop")].Secret.Keys(), "nothing is kept that nobody refers to")
		assert.Len(t, stored.Secrets, 3)

		again := newWorld(t, kept(d.cache()), atOnce)
		again.start()
		synctest.Wait()
		for _, name := range []string{"shop", "blog", "wiki", "invalid", "other"} {
			assert.Equal(t, w.reason(name), again.reason(name), name)
			was, _ := w.view().Lookup(host(name))
			is, _ := again.view().Lookup(host(name))
			assert.Equal(t, was, is, name)
		}
		assert.Equal(t, "allowed", again.reason("shop"))
		assert.True(t, w.mirror.Status().AsOf.Equal(again.mirror.Status().AsOf), "the age goes on")
	})
}
