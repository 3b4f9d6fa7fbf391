package mirror_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

func TestLiveReplacesTheCacheWhole(t *testing.T) {
	stored := func() mirror.Contents {
		return contents(registry("1", app("shop"), app("blog"), app("wiki"), app("gone")), "shop", "blog", "wiki", "gone")
	}
	inRestart(t, stored, func(t *testing.T, w *world, _ *disk) {
		w.fromCache()
		generation := w.generation()
		w.source.put(key("shop"), token("shop", "2"))
		w.source.put(key("blog"), snapshot.Absent())
		w.tell(registry("2", app("shop"), app("blog"), app("wiki"), app("new")))
		w.put("new", token("new", "1"))
		pass(10 * time.Second)
		require.Equal(t, generation, w.generation(), "one Secret has no answer, and nothing is mixed")
		require.Equal(t, "1", w.version("shop"))
		require.Equal(t, "unknown_host", w.reason("new"))

		begin := time.Now()
		w.put("wiki", token("wiki", "1"))

		assert.Zero(t, time.Since(begin))
		assert.Equal(t, "2", w.version("shop"), "written meanwhile")
		assert.Equal(t, "secret_absent", w.reason("blog"), "deleted meanwhile")
		assert.Equal(t, "unknown_host", w.reason("gone"))
		assert.Equal(t, "allowed", w.reason("wiki"))
		assert.Equal(t, "allowed", w.reason("new"))
		assert.Equal(t, generation+1, w.generation())
		st := w.mirror.Status()
		assert.Equal(t, snapshot.Live, st.State)
		assert.True(t, st.Synced)
		assert.True(t, st.Ready)
		assert.Empty(t, st.Conditions)
		assert.Empty(t, st.Reasons)
		assert.Equal(t, "2", st.Registry.Version)
		w.assertAge(0, "source")
	})
}

func TestLiveThatDiffersInNothingIsPublishedAsLive(t *testing.T) {
	inRestart(t, shopAndBlog, func(t *testing.T, w *world, _ *disk) {
		w.fromCache()
		w.serve("shop", "blog")
		assert.Equal(t, snapshot.Live, w.mirror.Current().State())
		assert.Equal(t, uint64(2), w.generation())
	})
}

func TestRegistryDeletedMeanwhile(t *testing.T) {
	inRestart(t, shopAndBlog, func(t *testing.T, w *world, _ *disk) {
		w.fromCache()
		w.idle()
		w.tell(nil)
		assert.Equal(t, "unknown_host", w.reason("shop"))
		assert.Equal(t, []string{absent}, w.reasons())
		assert.Equal(t, snapshot.Live, w.mirror.Status().State)
	})
}

func TestLiveWithPendingSecretsWaitsFor15Seconds(t *testing.T) {
	for name, c := range map[string]struct{ before time.Duration }{
		"after the Cache":                        {startupTimeout + time.Minute},
		"just before the Cache":                  {startupTimeout - time.Second/2},
		"so long before that it was served live": {0},
	} {
		t.Run(name, func(t *testing.T) {
			inRestart(t, shopAndBlog, func(t *testing.T, w *world, _ *disk) {
				pass(c.before)
				w.source.put(key("shop"), token("shop", "2"))
				w.tell(registry("2", app("shop"), app("blog")))
				if c.before == 0 {
					pass(time.Second)
					assert.Equal(t, snapshot.Live, w.mirror.Status().State, "nothing is better than that yet")
					return
				}
				pass(15*time.Second - time.Nanosecond)
				require.Equal(t, snapshot.FromCache, w.mirror.Status().State)
				require.Equal(t, "allowed", w.reason("blog"))
				require.Equal(t, "1", w.version("shop"))
				require.Contains(t, w.reasons(), "1 referenced secrets: not read yet")
				pass(time.Nanosecond)

				assert.Equal(t, snapshot.Live, w.mirror.Status().State)
				assert.Equal(t, "2", w.version("shop"))
				assert.Equal(t, "pending", w.reason("blog"))
				_, raised := w.condition(mirror.ServingFromCache, "")
				assert.False(t, raised)
			})
		})
	}
}

func TestBuildersStartOverWhenLiveTakesOver(t *testing.T) {
	inRestart(t, shopAndBlog, func(t *testing.T, w *world, _ *disk) {
		s := newSpy("spy")
		w.register(s)
		w.fromCache()
		require.Len(t, s.calls.list(), 1)
		w.serve("shop")

		require.Len(t, s.calls.list(), 2, "what is not in sync yet is not built")
		assert.Equal(t, snapshot.Changes{All: true}, s.changes(), "nothing that was made of the Cache is reused")
		assert.Equal(t, snapshot.SecretPending, s.calls.last().Secret(key("blog")).Status)

		w.put("shop", token("shop", "2"))
		assert.Equal(t, snapshot.Changes{Secrets: keys("shop")}, s.changes())
	})
}

func TestBuilderThatFailsWhenLiveTakesOverKeepsTheAgeOfTheCache(t *testing.T) {
	inRestart(t, shopAndBlog, func(t *testing.T, w *world, _ *disk) {
		bad := newSpy("bad")
		slot := w.register(bad)
		w.fromCache()
		bad.fails(errors.New("no"))
		w.serve("shop")
		w.validate()

		view, _ := snapshot.ViewAt[int](w.mirror.Current(), slot)
		require.Equal(t, 1, view, "it is what was made of the Cache")
		require.Equal(t, snapshot.Live, w.mirror.Status().State)
		w.assertAge(time.Hour+startupTimeout+time.Second, "builder bad")

		bad.recovers()
		w.put("shop", token("shop", "2"))
		w.assertAge(0, watch)
	})
}

func TestNewsWhileTheCacheIsServedBuildNothing(t *testing.T) {
	inRestart(t, shopAndBlog, func(t *testing.T, w *world, _ *disk) {
		w.fromCache()
		rebuilds := w.mirror.Rebuilds()
		w.tell(registry("2", app("shop"), app("blog")))
		for _, version := range []string{"2", "3", "4"} {
			w.put("shop", token("shop", version))
			w.idle()
		}
		assert.Equal(t, rebuilds, w.mirror.Rebuilds())
		assert.Equal(t, "1", w.version("shop"))
	})
}
