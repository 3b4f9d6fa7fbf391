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

func TestNothingHasNoAge(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.validate()
		pass(time.Hour)

		st := w.mirror.Status()
		assert.Zero(t, st.AsOf)
		assert.Empty(t, st.Oldest)
		assert.Zero(t, st.Age(time.Now()))
		assert.Equal(t, time.Hour, time.Since(st.Validated), "what the Source says is shown all the same")
	})
}

func TestAgeCountsFromTheFirstPublishWhileTheSourceSaysNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		pass(time.Hour)
		w.serve("shop")
		first := w.mirror.Current().BuiltAt()
		w.put("shop", token("shop", "2"))
		pass(time.Hour)

		st := w.mirror.Status()
		assert.True(t, first.Equal(st.AsOf), "as of %s, not a later publish", st.AsOf)
		assert.Equal(t, time.Since(first), st.Age(time.Now()))
		assert.Equal(t, "source", st.Oldest)
		assert.Zero(t, st.Contact)
		assert.Zero(t, st.Validated)
	})
}

func TestAgeIsWhatTheSourceSays(t *testing.T) {
	for name, c := range map[string]struct{ before bool }{
		"before the first publish": {true},
		"after the first publish":  {false},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				if !c.before {
					w.serve("shop")
				}
				pass(time.Hour)
				contact, asOf := time.Now(), time.Now().Add(-time.Minute)
				w.fresh(mirror.Freshness{Contact: contact, AsOf: asOf, Oldest: watch})
				if c.before {
					w.tell(nil)
				}
				w.assertAge(time.Minute, watch)

				pass(time.Hour)
				w.assertAge(time.Hour+time.Minute, watch)
				st := w.mirror.Status()
				assert.True(t, contact.Equal(st.Contact))
				assert.True(t, asOf.Equal(st.Validated))
				assert.True(t, asOf.Equal(st.AsOf))

				w.validate()
				w.assertAge(0, watch)
			})
		})
	}
}

func TestAgeNeverGoesBack(t *testing.T) {
	for name, tell := range map[string]func(now time.Time) mirror.Freshness{
		"nobody knows any more": func(now time.Time) mirror.Freshness { return mirror.Freshness{Contact: now} },
		"an older time": func(now time.Time) mirror.Freshness {
			return mirror.Freshness{Contact: now, AsOf: now.Add(-time.Hour), Oldest: "other"}
		},
		"the same time": func(now time.Time) mirror.Freshness {
			return mirror.Freshness{Contact: now, AsOf: now.Add(-time.Minute), Oldest: watch}
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.serve("shop")
				w.validate()
				pass(time.Minute)
				w.fresh(tell(time.Now()))

				w.assertAge(time.Minute, watch)
				assert.Equal(t, time.Minute, time.Since(w.mirror.Status().Validated))
				assert.Zero(t, time.Since(w.mirror.Status().Contact))
			})
		})
	}
}

func TestAgeDoesNotGoBackWhenTheSourceTellsForTheFirstTime(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.serve("shop")
		before := w.mirror.Status().AsOf
		w.fresh(mirror.Freshness{Contact: time.Now(), AsOf: before.Add(-time.Minute), Oldest: watch})
		assert.True(t, before.Equal(w.mirror.Status().AsOf))

		w.validate()
		w.assertAge(0, watch)
	})
}

func TestContactNeverGoesBack(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.serve("shop")
		w.validate()
		w.fresh(mirror.Freshness{Contact: time.Now().Add(-time.Hour)})
		assert.Zero(t, time.Since(w.mirror.Status().Contact))
	})
}

func TestMalformedRegistryHoldsTheAge(t *testing.T) {
	for name, end := range map[string]*snapshot.Secret{
		"until it is readable":        registry("4", app("shop"), app("blog")),
		"until it is put back":        registry("1", app("shop")),
		"until it is deleted as well": nil,
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.serve("shop")
				w.validate()
				w.tell(document("uid-1", "2", "version: 2"))
				w.keepValidating(time.Hour)
				w.assertAge(time.Hour, "registry")
				assert.Zero(t, time.Since(w.mirror.Status().Validated))

				w.tell(document("uid-1", "3", "version: 2"))
				w.put("shop", token("shop", "2"))
				w.keepValidating(time.Hour)
				w.assertAge(2*time.Hour, "registry")

				w.tell(end)
				w.assertAge(0, watch)
			})
		})
	}
}

func TestRegistryThatWasMalformedBeforeTheFirstPublishHoldsNothingAfterwards(t *testing.T) {
	inWorld(t, func(_ *testing.T, w *world) {
		w.tell(document("uid-1", "1", "version: 2"))
		pass(time.Hour)
		w.serve("shop")
		w.validate()
		w.assertAge(0, watch)
	})
}

func TestFailingBuilderHoldsTheAge(t *testing.T) {
	for name, fail := range map[string]func(*spy){
		"error": func(s *spy) { s.fails(errors.New("no")) },
		"panic": func(s *spy) { s.panics("no") },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(_ *testing.T, w *world) {
				bad := newSpy("bad")
				w.register(bad)
				w.serve("shop")
				w.validate()
				fail(bad)
				w.put("shop", token("shop", "2"))
				w.keepValidating(time.Hour)
				w.assertAge(time.Hour, "builder bad")

				w.put("shop", token("shop", "3"))
				w.keepValidating(time.Hour)
				w.assertAge(2*time.Hour, "builder bad")

				bad.recovers()
				w.put("shop", token("shop", "4"))
				w.assertAge(0, watch)
			})
		})
	}
}

func TestBuilderThatNeverSucceededHoldsTheAgeFromTheFirstPublish(t *testing.T) {
	inWorld(t, func(_ *testing.T, w *world) {
		bad := newSpy("bad")
		bad.fails(errors.New("no"))
		w.register(bad)
		pass(time.Hour)
		w.serve("shop")
		first := w.mirror.Current().BuiltAt()
		w.keepValidating(time.Hour)
		w.assertAge(time.Since(first), "builder bad")
	})
}

func TestTheOldestPartIsNamed(t *testing.T) {
	inWorld(t, func(_ *testing.T, w *world) {
		one, two := newSpy("one"), newSpy("two")
		w.register(one)
		w.register(two)
		w.serve("shop")
		w.validate()
		start := time.Now()
		two.fails(errors.New("no"))
		w.put("shop", token("shop", "2"))
		w.keepValidating(time.Hour)
		w.tell(document("uid-1", "2", "version: 2"))
		w.keepValidating(time.Hour)
		one.fails(errors.New("no"))
		w.put("shop", token("shop", "3"))
		w.keepValidating(time.Hour)
		w.assertAge(time.Since(start), "builder two")

		two.recovers()
		w.put("shop", token("shop", "4"))
		w.assertAge(2*time.Hour, "registry")

		w.idle()
		w.tell(registry("3", app("shop")))
		w.assertAge(time.Hour+time.Second, "builder one")

		one.recovers()
		w.idle()
		w.put("shop", token("shop", "5"))
		w.assertAge(2*time.Second, watch)
	})
}

func TestBuildThatHangsHoldsTheAge(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		end := make(chan struct{})
		s := newSpy("hangs")
		w.register(s)
		w.serve("shop")
		w.validate()
		s.makes(func(snapshot.Objects) (any, error) { <-end; return "late", nil })
		w.put("shop", token("shop", "2"))
		require.Equal(t, "1", w.version("shop"), "what the Source says now is not in service")
		w.keepValidating(time.Hour)
		w.assertAge(time.Hour, "secrets in namespace shop")

		close(end)
		w.idle()
		require.Equal(t, "2", w.version("shop"))
		w.assertAge(time.Second, watch)
	})
}
