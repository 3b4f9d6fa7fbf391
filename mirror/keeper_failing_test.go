package mirror_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

func TestWriteThatFailsIsToldRetriedAndForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk(t)
		parent := d.dir
		d.dir = filepath.Join(parent, "cache")
		c := &watched{Cache: d.cache()}
		w := newWorld(t, kept(c))
		w.start()
		w.serve("shop")

		failed, raised := w.condition(mirror.CacheWriteFailed, "")
		require.True(t, raised)
		assert.Contains(t, failed.Message, "the cache is not written: cache "+d.file()+": ")
		assert.Contains(t, failed.Message, parent+" does not exist; create that")
		ready, reasons := w.mirror.Ready()
		assert.True(t, ready)
		assert.Equal(t, []string{failed.Message}, reasons)
		assert.Equal(t, &mirror.CacheStatus{Failures: 1}, w.mirror.Status().Cache)
		w.put("shop", token("shop", "2"))
		assert.Equal(t, "2", w.version("shop"), "serving goes on")

		pass(10 * persistInterval)
		still, _ := w.condition(mirror.CacheWriteFailed, "")
		assert.Equal(t, failed, still)
		for i, at := range c.sinceStart(c.at.list()[0]) {
			assert.Equal(t, time.Duration(i)*persistInterval, at, "it is tried again without hurry")
		}
		assert.Equal(t, 1, w.logs.FilterMessage("cache not written").Len())
		w.assertNotLogged("bytes of")

		require.NoError(t, os.Mkdir(parent, 0o700))
		pass(persistInterval)
		assert.Empty(t, w.mirror.Status().Conditions)
		assert.Equal(t, 1, w.logs.FilterMessage("cache written again").Len())
		assert.Equal(t, uint64(1), w.mirror.Status().Cache.Writes)
		assert.Equal(t, "2", d.load().Secrets[key("shop")].Secret.Version())
	})
}

func TestWriteThatFailsAtStop(t *testing.T) {
	inKept(t, func(t *testing.T, w *world, d *disk, c *watched) {
		w.serve("shop")
		w.put("shop", token("shop", "2"))
		c.fails(errors.New("no"))
		begin := time.Now()
		w.mirror.Stop()
		assert.Zero(t, time.Since(begin))
		assert.Equal(t, "1", d.load().Secrets[key("shop")].Secret.Version())
	})
}

func TestCacheThatFailsToBeLoadedAndWritten(t *testing.T) {
	inKept(t, func(t *testing.T, w *world, _ *disk, c *watched) {
		c.fails(errors.New("cache x: input/output error"))
		pass(startupTimeout)
		w.assertNothingServed("cache x: input/output error")

		w.serve("shop")
		assert.Equal(t, []string{
			"the cache is not served: cache x: input/output error",
			"the cache is not written: cache x: input/output error",
		}, w.reasons())

		c.fails(nil)
		pass(persistInterval)
		assert.Empty(t, w.mirror.Status().Conditions)
	})
}

func TestForeignCacheThatCannotBeRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk(t)
		d.has(ofCluster("kube-system/1")())
		c := &watched{Cache: d.cache()}
		w := newWorld(t, kept(c))
		w.start()
		w.fromCache()
		w.idle()
		c.fails(errors.New("no"))
		w.source.sink.Cluster("kube-system/2")
		synctest.Wait()
		w.assertNothingServed("it is of cluster kube-system/1")
		assert.Equal(t, 1, w.logs.FilterMessage("cache not removed").Len())

		c.fails(nil)
		w.serve("shop")
		assert.Equal(t, "kube-system/2", d.load().Cluster, "it is replaced though")
	})
}

func TestCacheThatHangsHoldsNobodyUp(t *testing.T) {
	inKept(t, func(t *testing.T, w *world, _ *disk, c *watched) {
		end := make(chan struct{})
		defer close(end)
		c.hangs(end)
		w.serve("shop")
		for _, version := range []string{"2", "3"} {
			begin := time.Now()
			w.put("shop", token("shop", version))
			assert.Equal(t, version, w.version("shop"))
			assert.Zero(t, time.Since(begin))
			w.idle()
		}
		pass(time.Hour)
		ready, reasons := w.mirror.Ready()
		assert.True(t, ready)
		assert.Empty(t, reasons)
		require.Equal(t, 1, c.at.len())

		begin := time.Now()
		w.mirror.Stop()
		assert.Equal(t, 2*time.Second, time.Since(begin))
		assert.Equal(t, 1, w.logs.FilterMessage("mirror still stopping").Len())
	})
}

func TestCacheThatHangsWhenStopWritesIt(t *testing.T) {
	inKept(t, func(t *testing.T, w *world, _ *disk, c *watched) {
		w.serve("shop")
		w.put("shop", token("shop", "2"))
		end := make(chan struct{})
		defer close(end)
		c.hangs(end)
		begin := time.Now()
		w.mirror.Stop()
		assert.Equal(t, 2*time.Second, time.Since(begin))
		assert.Equal(t, 2, c.at.len())
	})
}

func TestLockOfAnotherWriter(t *testing.T) {
	for name, c := range map[string]struct {
		held    time.Duration
		written time.Duration // after the first attempt
		told    bool
	}{
		"that ends at once, as at a reload": {time.Second / 2, time.Second, false},
		"that takes some seconds to end":    {9*time.Second + time.Second/2, 10 * time.Second, false},
		"that goes on for a minute":         {time.Minute, 10*time.Second + 2*persistInterval, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDisk(t)
				other := d.cache()
				require.NoError(t, other.Store(shopAndBlog()))
				cache := &watched{Cache: d.cache()}
				w := newWorld(t, kept(cache))
				w.start()
				w.put("shop", token("shop", "7"))
				w.tell(registry("1", app("shop")))
				start := cache.at.list()[0]
				time.AfterFunc(c.held, func() { assert.NoError(t, other.Close()) })

				pass(c.written - time.Nanosecond)
				assert.Zero(t, cache.stores.len())
				failed, raised := w.condition(mirror.CacheWriteFailed, "")
				require.Equal(t, c.told, raised)
				if raised {
					assert.Contains(t, failed.Message, "give each process a directory of its own")
					assert.Equal(t, 10*time.Second, failed.Since.Sub(start))
					assert.Equal(t, uint64(2), w.mirror.Status().Cache.Failures)
				}
				ready, _ := w.mirror.Ready()
				assert.True(t, ready)
				pass(time.Nanosecond)

				assert.Equal(t, 1, cache.stores.len())
				assert.Empty(t, w.mirror.Status().Conditions)
				assert.Equal(t, "7", d.load().Secrets[key("shop")].Secret.Version())
			})
		})
	}
}

func TestOneMirrorAfterAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk(t)
		old := newWorld(t, kept(d.cache()))
		old.start()
		old.serve("shop")
		next := newWorld(t, kept(d.cache()))
		next.start()
		next.put("shop", token("shop", "2"))
		next.tell(registry("1", app("shop")))
		pass(3 * time.Second)
		require.Equal(t, snapshot.Live, next.mirror.Status().State)
		require.Equal(t, "1", d.load().Secrets[key("shop")].Secret.Version(), "the loser does not write")

		old.put("shop", token("shop", "3"))
		old.mirror.Stop()
		require.Equal(t, "3", d.load().Secrets[key("shop")].Secret.Version())
		pass(time.Second)
		assert.Equal(t, "2", d.load().Secrets[key("shop")].Secret.Version())
		assert.Empty(t, next.mirror.Status().Conditions)
	})
}
