package mirror_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

func TestWatchedSetIsDerivedAnewOnEachRegistry(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.tell(registry("1",
			app("shop"),
			`{"name":"blog","hostnames":["blog.example.com"],"secretRef":{"name":"blog","key":"a"}}`,
			`{"name":"blog2","hostnames":["blog2.example.com"],"secretRef":{"name":"blog","key":"b"}}`,
			`{"name":"team","hostnames":["team.example.com"],"secretRef":{"namespace":"team","name":"x"}}`))
		w.tell(registry("2", app("shop"), app("wiki")))
		w.tell(nil)

		assert.Equal(t, []map[snapshot.Key]snapshot.Reference{
			{
				key("shop"):                    {All: true},
				key("blog"):                    {Keys: []string{"a", "b"}},
				{Namespace: "team", Name: "x"}: {All: true},
			},
			{
				key("shop"): {All: true},
				key("wiki"): {All: true},
			},
			nil,
		}, w.source.asked)
	})
}

func TestSourceIsNotAskedWithoutAnotherRegistry(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.serve("shop")
		w.tell(registry("1", app("shop")))
		w.put("shop", token("shop", "2"))
		w.tell(document("uid-1", "2", "version: 2"))
		w.idle()

		assert.Len(t, w.source.asked, 1)
	})
}

func TestSecretOfANewAppIsPendingUntilTheSourceAnswers(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.serve("shop")
		w.tell(registry("2", app("shop"), app("blog")))
		assert.Equal(t, "pending", w.reason("blog"))
		assert.Equal(t, "allowed", w.reason("shop"))
		assert.Equal(t, 1, w.mirror.Status().PendingSecrets)
		assert.Equal(t, []string{"1 referenced secrets: not read yet"}, w.reasons())

		w.idle()
		w.put("blog", token("blog", "1"))
		assert.Equal(t, "allowed", w.reason("blog"))
		assert.Zero(t, w.mirror.Status().PendingSecrets)
		assert.Empty(t, w.reasons())
	})
}

func TestSecretNotReferencedAnyMoreIsForgotten(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.serve("shop", "blog")
		w.tell(registry("2", app("blog")))
		w.idle()
		delete(w.source.cluster, key("shop")) // nobody looked since
		w.tell(registry("3", app("shop"), app("blog")))

		assert.Equal(t, "pending", w.reason("shop"), "what was known of it is of another time")
		assert.Equal(t, "allowed", w.reason("blog"))

		w.idle()
		w.put("blog", token("blog", "2"))
		assert.Equal(t, "pending", w.reason("shop"), "and does not come back with other news")

		w.idle()
		w.put("shop", snapshot.Absent())
		assert.Equal(t, "secret_absent", w.reason("shop"))
	})
}

func TestSecretToldBeforeItWasAskedForIsIgnored(t *testing.T) {
	// All of it is told during one gap, so that the loop sees it at once.
	for name, c := range map[string]struct{ secretFirst bool }{
		"before its Registry": {true},
		"after its Registry":  {false},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.serve("shop", "blog")
				w.tell(registry("2", app("blog"))) // the gap begins
				delete(w.source.cluster, key("shop"))

				stale := map[snapshot.Key]snapshot.SecretState{key("shop"): token("shop", "1")}
				if c.secretFirst {
					w.source.sink.Secrets(stale)
				}
				w.source.sink.Registry(registry("3", app("shop"), app("blog")))
				if !c.secretFirst {
					w.source.sink.Secrets(stale)
				}
				w.idle()
				require.Equal(t, "pending", w.reason("shop"))

				w.put("shop", snapshot.Forbidden("no permission"))
				assert.Equal(t, "secret_forbidden", w.reason("shop"))
			})
		})
	}
}

func TestSecretToldTogetherWithTheRegistryThatLeavesItOutIsForgotten(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.serve("shop", "blog")
		w.put("blog", token("blog", "2")) // the gap begins
		w.source.put(key("shop"), token("shop", "2"))
		w.source.sink.Registry(registry("2", app("blog")))
		w.idle()
		delete(w.source.cluster, key("shop"))
		w.tell(registry("3", app("shop"), app("blog")))

		assert.Equal(t, "pending", w.reason("shop"))
		assert.Equal(t, 1, w.mirror.Status().PendingSecrets)
	})
}

func TestOnlyAFirstAnswerMakesOnePendingSecretLess(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.serve("shop")
		w.tell(registry("2", app("shop"), app("blog")))
		w.idle()
		for _, version := range []string{"2", "3"} {
			w.put("shop", token("shop", version))
			w.idle()
			assert.Equal(t, 1, w.mirror.Status().PendingSecrets)
		}
	})
}

func TestOnlyTheLastOfSeveralStatesOfASecretCounts(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.serve("shop")
		w.put("shop", token("shop", "2")) // the gap begins
		w.source.put(key("shop"), snapshot.Absent())
		w.source.put(key("shop"), snapshot.Forbidden("no permission"))
		w.source.put(key("shop"), token("shop", "3"))
		w.idle()

		assert.Equal(t, "3", w.version("shop"))
		assert.Equal(t, uint64(3), w.generation())
	})
}

func TestSecretGoesAndComesBackWithinAGap(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.serve("shop")
		w.put("shop", token("shop", "2")) // the gap begins
		generation, rebuilds := w.generation(), w.mirror.Rebuilds()
		w.source.put(key("shop"), snapshot.Absent())
		w.source.put(key("shop"), token("shop", "2"))
		w.idle()

		assert.Equal(t, generation, w.generation())
		assert.Equal(t, rebuilds, w.mirror.Rebuilds())
	})
}

func TestSourceMayKeepTheSetsThatItIsGiven(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.serve("shop", "blog")
		first := w.source.asked[0]
		w.tell(registry("2", app("blog"), app("wiki")))
		w.idle()

		assert.Len(t, first, 2)
		assert.Contains(t, first, key("shop"))
	})
}

func TestSinkKeepsNothingOfTheMapThatItIsGiven(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.serve("shop")
		w.put("shop", token("shop", "2")) // the gap begins
		states := map[snapshot.Key]snapshot.SecretState{key("shop"): token("shop", "3")}
		w.source.sink.Secrets(states)
		states[key("shop")] = token("shop", "4")
		w.idle()

		assert.Equal(t, "3", w.version("shop"))
	})
}

func TestSourceThatAnswersFromAnotherGoroutine(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.tell(registry("1", app("shop"), app("blog")))
		begin := time.Now()
		for _, name := range []string{"shop", "blog"} {
			go w.source.put(key(name), token(name, "1"))
		}
		synctest.Wait()

		require.NotNil(t, w.mirror.Current())
		assert.Zero(t, time.Since(begin))
	})
}
