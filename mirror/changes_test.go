package mirror_test

import (
	"errors"
	"maps"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

func TestChangesOfASuccessfulBuilder(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		s := newSpy("spy")
		w.register(s)
		w.serve("shop", "blog")
		require.True(t, s.changes().All, "it has never succeeded before")

		w.put("shop", token("shop", "2"))
		assert.Equal(t, snapshot.Changes{Secrets: keys("shop")}, s.changes())

		w.idle()
		w.put("blog", snapshot.Absent())
		assert.Equal(t, snapshot.Changes{Secrets: keys("blog")}, s.changes(), "the change before is done with")
		assert.Equal(t, snapshot.SecretAbsent, s.calls.last().Secret(key("blog")).Status)
		assert.Equal(t, "2", s.calls.last().Secret(key("shop")).Secret.Version())

		w.idle()
		w.tell(registry("2", app("shop"), app("blog", `"secretReady":true`)))
		assert.True(t, s.changes().Registry)
		assert.Empty(t, s.changes().Secrets)
		assert.False(t, s.changes().All)
	})
}

func TestChangesNameSecretsThatTheRegistryShowsInAnotherWay(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		s := newSpy("spy")
		w.register(s)
		w.serve("shop", "blog", "wiki")

		w.tell(registry("2",
			app("shop"),
			`{"name":"blog","hostnames":["blog.example.com"],"secretRef":{"name":"blog","key":"token"}}`,
			app("news")))

		assert.True(t, s.changes().Registry)
		assert.Equal(t, keys("blog", "news"), s.changes().Secrets,
			"of one there are fewer data keys, one is new, and one that is left out is none of them")
	})
}

func TestChangesThatAFailedBuildHasSeenAreGivenAgain(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		bad, good := newSpy("bad"), newSpy("good")
		w.register(bad)
		w.register(good)
		w.serve("shop", "blog", "wiki")

		bad.fails(errors.New("no"))
		w.put("shop", token("shop", "2"))
		w.idle()
		w.put("blog", token("blog", "2"))
		assert.Equal(t, keys("shop", "blog"), bad.changes().Secrets)
		assert.Equal(t, keys("blog"), good.changes().Secrets, "each Builder has its own")

		w.idle()
		bad.panics("no")
		w.tell(registry("2", app("shop"), app("blog"), app("wiki", `"secretReady":true`)))
		w.idle()
		bad.recovers()
		w.put("wiki", token("wiki", "2"))
		assert.Equal(t, snapshot.Changes{Registry: true, Secrets: keys("shop", "blog", "wiki")}, bad.changes())
		assert.Equal(t, snapshot.Changes{Secrets: keys("wiki")}, good.changes())

		w.idle()
		w.put("shop", token("shop", "3"))
		assert.Equal(t, snapshot.Changes{Secrets: keys("shop")}, bad.changes(), "after a success it starts over")
	})
}

func TestAllStaysUntilTheFirstSuccess(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		bad := newSpy("bad")
		bad.fails(errors.New("no"))
		w.register(bad)
		w.serve("shop")
		bad.recovers()
		w.put("shop", token("shop", "2"))

		require.Len(t, bad.calls.list(), 2)
		assert.True(t, bad.changes().All)
	})
}

func TestChangesGivenToABuilderAreNotChangedLater(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		s := newSpy("spy")
		w.register(s)
		w.serve("shop", "blog", "wiki")
		s.fails(errors.New("no"))

		var given, then []map[snapshot.Key]struct{}
		for i, name := range []string{"shop", "blog", "wiki"} {
			if i == 2 {
				s.recovers()
			}
			w.put(name, token(name, "2"))
			w.idle()
			given = append(given, s.changes().Secrets)
			then = append(then, maps.Clone(s.changes().Secrets))
		}
		w.put("shop", token("shop", "3"))
		w.idle()

		assert.Equal(t, []map[snapshot.Key]struct{}{keys("shop"), keys("shop", "blog"), keys("shop", "blog", "wiki")}, then)
		assert.Equal(t, then, given)
	})
}

func TestObjectsGivenToABuilderAreNotChangedLater(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		s := newSpy("spy")
		w.register(s)
		w.serve("shop")
		kept := s.calls.last()
		w.put("shop", token("shop", "2"))
		w.idle()
		w.tell(nil)

		assert.Equal(t, "1", kept.Secret(key("shop")).Secret.Version())
		assert.Len(t, kept.Registry.Entries(), 1)
	})
}

func TestSecretsThatDidNotChangeAreTheSameInTheNextObjects(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		s := newSpy("spy")
		w.register(s)
		for _, name := range []string{"shop", "blog"} {
			w.put(name, twoKeys(name, "1"))
		}
		w.tell(registry("1",
			`{"name":"shop","hostnames":["shop.example.com"],"secretRef":{"name":"shop","key":"token"}}`,
			`{"name":"blog","hostnames":["blog.example.com"],"secretRef":{"name":"blog","key":"token"}}`))
		for i, name := range []string{"shop", "blog", "shop", "blog"} {
			w.idle()
			before := s.calls.last()
			w.put(name, twoKeys(name, sprintf("%d", i+2)))
			after := s.calls.last()

			other := map[string]string{"shop": "blog", "blog": "shop"}[name]
			assert.NotSame(t, before.Secret(key(name)).Secret, after.Secret(key(name)).Secret)
			assert.Same(t, before.Secret(key(other)).Secret, after.Secret(key(other)).Secret,
				"a Builder can tell by the pointer that it may reuse")
		}
	})
}

// twoKeys is a Secret of which the Registry refers to one data key.
func twoKeys(name, version string) snapshot.SecretState {
	return snapshot.Present(snapshot.NewSecret(
		snapshot.SecretMeta{Key: key(name), Version: version},
		map[string][]byte{"token": []byte("a"), "other": []byte("b")},
	))
}

func TestSecretReferencedAgainIsAmongTheChangesOfABuilderThatMissedTheTimeBetween(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		s := newSpy("spy")
		w.register(s)
		w.serve("shop", "blog")
		s.fails(errors.New("no"))
		w.tell(registry("2", app("blog")))
		w.idle()
		w.source.cluster = nil // nobody answers any more
		s.recovers()
		w.tell(registry("3", app("shop"), app("blog")))

		assert.Equal(t, snapshot.SecretPending, s.calls.last().Secret(key("shop")).Status)
		assert.Contains(t, s.changes().Secrets, key("shop"))
	})
}

func TestBuilderThatFailsForEverGathersNoMoreThanIsReferenced(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		bad := newSpy("bad")
		w.register(bad)
		w.serve("shop")
		bad.fails(errors.New("no"))
		for i := range 50 {
			name := "app-" + strconv.Itoa(i)
			w.source.put(key(name), token(name, "1"))
			w.tell(registry(strconv.Itoa(i+2), app(name)))
			w.idle()
		}

		assert.Equal(t, keys("app-49"), bad.changes().Secrets)
	})
}
