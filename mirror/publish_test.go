package mirror_test

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

func TestOnlyWhatDiffersIsPublished(t *testing.T) {
	for name, c := range map[string]struct {
		change    func(*world)
		rebuilds  uint64
		published uint64
	}{
		"the same Secret again": {
			change: func(w *world) { w.put("shop", token("shop", "1")) },
		},
		"the same Registry again": {
			change: func(w *world) { w.tell(registry("1", app("shop"))) },
		},
		"a Secret that is not referenced": {
			change: func(w *world) {
				w.source.sink.Secrets(map[snapshot.Key]snapshot.SecretState{key("other"): token("other", "1")})
			},
		},
		"an answer that is none": {
			change: func(w *world) { w.put("shop", snapshot.SecretState{}) },
		},
		"a Registry rewritten with only the writer's secretReady": {
			change:   func(w *world) { w.tell(registry("2", app("shop", `"secretReady":true`))) },
			rebuilds: 1,
		},
		"a Secret with other bytes": {
			change:    func(w *world) { w.put("shop", token("shop", "2")) },
			rebuilds:  1,
			published: 1,
		},
		"a Registry with another App": {
			change:    func(w *world) { w.tell(registry("2", app("shop"), app("blog"))) },
			rebuilds:  1,
			published: 1,
		},
		"another Registry under the version of the last, as after a restore": {
			change:    func(w *world) { w.tell(registry("1", app("shop"), app("blog"))) },
			rebuilds:  1,
			published: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.serve("shop")
				rebuilds, generation := w.mirror.Rebuilds(), w.generation()
				c.change(w)
				w.idle()

				assert.Equal(t, c.rebuilds, w.mirror.Rebuilds()-rebuilds)
				assert.Equal(t, c.published, w.generation()-generation)
				require.Equal(t, "allowed", w.reason("shop"))
			})
		})
	}
}

func TestViewsThatDidNotChangeAreSharedByGenerations(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.register(newSpy("other"))
		w.serve("shop")
		before, apps := w.generation(), w.view()

		w.tell(registry("2", app("shop", `"secretReady":true`)))

		require.Equal(t, before+1, w.generation(), "the other View differs")
		assert.Same(t, apps, w.view())
	})
}

func TestListenersAreCalledOnceForEachPublishInOrder(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var calls record[string]
		listen := func(name string) func() {
			return w.mirror.OnPublish(func(s *snapshot.Snapshot) {
				assert.Same(t, s, w.mirror.Current(), "the Snapshot is in service before anybody is told")
				calls.add(name)
			})
		}
		listen("a")
		removeB := listen("b")
		listen("c")

		w.serve("shop")
		assert.Equal(t, []string{"a", "b", "c"}, calls.list())

		w.tell(registry("1", app("shop"))) // publishes nothing
		w.idle()
		assert.Equal(t, 3, calls.len())

		removeB()
		removeB() // does no harm
		w.put("shop", token("shop", "2"))
		assert.Equal(t, []string{"a", "b", "c", "a", "c"}, calls.list())
	})
}

func TestListenersSeeEveryGeneration(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var seen record[uint64]
		w.mirror.OnPublish(func(s *snapshot.Snapshot) { seen.add(s.Generation()) })
		w.serve("shop")
		w.burst(2)
		w.idle()
		w.burst(20)
		w.idle()

		require.GreaterOrEqual(t, seen.len(), 3)
		for i, generation := range seen.list() {
			assert.Equal(t, uint64(i+1), generation)
		}
		assert.Equal(t, w.generation(), seen.last())
	})
}

func TestListenerThatPanicsHarmsNobody(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var called record[uint64]
		w.mirror.OnPublish(func(*snapshot.Snapshot) { panic("the secret") })
		w.mirror.OnPublish(func(s *snapshot.Snapshot) { called.add(s.Generation()) })
		w.serve("shop")
		w.put("shop", token("shop", "2"))

		assert.Equal(t, []uint64{1, 2}, called.list())
		assert.Equal(t, "2", w.version("shop"))
		assert.Equal(t, 2, w.logs.FilterMessage("publish listener panicked").Len())
		w.assertNotLogged("the secret")
	})
}

func TestListenersMayChangeTheListenersAndAskTheMirror(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var calls record[string]
		var removeB func()
		w.mirror.OnPublish(func(*snapshot.Snapshot) {
			calls.add("a")
			removeB()
			w.mirror.Status()
			if calls.len() == 1 {
				w.mirror.OnPublish(func(*snapshot.Snapshot) { calls.add("c") })
			}
		})
		removeB = w.mirror.OnPublish(func(*snapshot.Snapshot) { calls.add("b") })

		w.serve("shop")
		assert.Equal(t, []string{"a"}, calls.list(), "b is removed before its turn, c is for the next publish")

		w.put("shop", token("shop", "2"))
		assert.Equal(t, []string{"a", "a", "c"}, calls.list())
	})
}

func TestListenerThatIsRemovedIsNotKept(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		held := new([1 << 10]byte)
		kept := weak.Make(held)
		remove := w.mirror.OnPublish(func(*snapshot.Snapshot) { held[0]++ })
		w.serve("shop")
		remove()
		w.put("shop", token("shop", "2"))
		runtime.GC()

		assert.Nil(t, kept.Value(), "a reload removes one and adds another, for as long as the process lives")
	})
}

func TestBuiltAtIsTheTimeOfTheBuild(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		pass(time.Hour)
		w.serve("shop")
		pass(time.Hour)
		begin := time.Now()
		w.put("shop", token("shop", "2"))
		pass(time.Hour)

		assert.True(t, begin.Equal(w.mirror.Current().BuiltAt()))
		assert.True(t, begin.Equal(w.mirror.Status().BuiltAt))
	})
}

// assertNotLogged looks at messages and fields alike.
func (w *world) assertNotLogged(secret string) {
	w.t.Helper()
	synctest.Wait()
	for _, entry := range w.logs.All() {
		assert.NotContains(w.t, entry.Message, secret)
		assert.NotContains(w.t, fmt.Sprint(entry.ContextMap()), secret)
	}
}
