package mirror_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

// mostAge is max_age in these tests.
const mostAge = 10 * time.Minute

// becomeStale serves Apps until they are too old.
func (w *world) becomeStale(names ...string) {
	w.t.Helper()
	w.serve(names...)
	w.validate()
	pass(mostAge)
	w.assertStale(names...)
}

// assertStale asks that nothing is open and that everybody is told.
func (w *world) assertStale(names ...string) {
	w.t.Helper()
	for _, name := range append(names, "unknown") {
		assert.Equal(w.t, "stale", w.reason(name), name)
	}
	_, raised := w.condition(mirror.Stale, "")
	assert.True(w.t, raised)
	ready, _ := w.mirror.Ready()
	assert.False(w.t, ready)
	assert.False(w.t, w.mirror.Status().Ready)
	assert.True(w.t, w.mirror.Current().Stale())
}

// assertOpen asks that nothing is left of being stale.
func (w *world) assertOpen(names ...string) {
	w.t.Helper()
	for _, name := range names {
		assert.Equal(w.t, "allowed", w.reason(name), name)
	}
	_, raised := w.condition(mirror.Stale, "")
	assert.False(w.t, raised)
	ready, _ := w.mirror.Ready()
	assert.True(w.t, ready)
	assert.False(w.t, w.mirror.Current().Stale())
}

func TestStaleAtMaxAgeWithoutAnyEvent(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.serve("shop", "blog")
		w.validate()
		asOf, generation, rebuilds := time.Now(), w.generation(), w.mirror.Rebuilds()
		var told record[*snapshot.Snapshot]
		w.mirror.OnPublish(func(s *snapshot.Snapshot) { told.add(s) })

		pass(mostAge - time.Nanosecond)
		w.assertOpen("shop", "blog")
		assert.Zero(t, told.len())
		pass(time.Nanosecond)

		w.assertStale("shop", "blog")
		assert.Equal(t, []string{"what is known was last right at " + asOf.UTC().Format(time.RFC3339) + " (" + watch +
			"), longer ago than max_age 10m0s; every request is refused until it is validated"}, w.reasons())
		c, _ := w.condition(mirror.Stale, "")
		assert.True(t, time.Now().Equal(c.Since))
		assert.Equal(t, generation+1, w.generation())
		require.Equal(t, 1, told.len())
		assert.Same(t, w.mirror.Current(), told.last())
		assert.Equal(t, snapshot.Live, w.mirror.Status().State)
		assert.Equal(t, rebuilds, w.mirror.Rebuilds(), "nothing is built anew for it")

		pass(24 * time.Hour)
		assert.Equal(t, generation+1, w.generation())
		assert.Equal(t, 1, w.logs.FilterMessage("stale; every request is refused").Len())
		w.assertAge(mostAge+24*time.Hour, watch)
	}, maxAge(mostAge))
}

func TestStaleCountsFromTheFirstPublishWhileTheSourceSaysNothing(t *testing.T) {
	inWorld(t, func(_ *testing.T, w *world) {
		pass(time.Hour)
		w.serve("shop") // and a second goes by
		pass(mostAge - time.Second - time.Nanosecond)
		w.assertOpen("shop")
		pass(time.Nanosecond)
		w.assertStale("shop")
	}, maxAge(mostAge))
}

func TestNeverStale(t *testing.T) {
	for name, c := range map[string]struct {
		maxAge time.Duration
		wait   func(*world)
	}{
		"without max_age":       {0, func(*world) { pass(1000 * time.Hour) }},
		"while it is validated": {mostAge, func(w *world) { w.keepValidating(time.Hour) }},
		"validated at the last moment": {mostAge, func(w *world) {
			pass(mostAge - 2*time.Second) // a second has gone by
			w.validate()
			pass(time.Second)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.serve("shop")
				c.wait(w)
				w.assertOpen("shop")
				assert.Zero(t, w.logs.FilterMessageSnippet("stale").Len())
			}, maxAge(c.maxAge))
		})
	}
}

func TestNothingCannotBecomeStale(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.validate()
		pass(2 * mostAge)
		assert.Equal(t, []string{notRead}, w.reasons())
		assert.Equal(t, "unsynced", w.reason("shop"))

		w.validate()
		w.serve("shop")
		w.assertOpen("shop")
	}, maxAge(mostAge))
}

func TestStaleReopensByAValidationOnly(t *testing.T) {
	for name, c := range map[string]struct {
		tell func(*world)
		open bool
	}{
		"contact alone": {
			tell: func(w *world) { w.fresh(mirror.Freshness{Contact: time.Now()}) },
		},
		"the validation that is known": {
			tell: func(w *world) {
				w.fresh(mirror.Freshness{Contact: time.Now(), AsOf: w.mirror.Status().AsOf, Oldest: watch})
			},
		},
		"a validation that is too old as well": {
			tell: func(w *world) {
				w.fresh(mirror.Freshness{Contact: time.Now(), AsOf: time.Now().Add(-mostAge), Oldest: watch})
			},
		},
		"a watch that recovered": {
			tell: func(w *world) { w.source.sink.Recovered(watch) },
		},
		"another Secret": {
			tell: func(w *world) { w.put("shop", token("shop", "2")) },
		},
		"another Registry": {
			tell: func(w *world) { w.tell(registry("2", app("shop"), app("blog"))) },
		},
		"a validation": {
			tell: (*world).validate,
			open: true,
		},
		"a validation that is just new enough": {
			tell: func(w *world) {
				w.fresh(mirror.Freshness{AsOf: time.Now().Add(time.Nanosecond - mostAge), Oldest: watch})
			},
			open: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(_ *testing.T, w *world) {
				w.becomeStale("shop")
				pass(time.Hour)
				c.tell(w)
				if c.open {
					w.assertOpen("shop")
					return
				}
				w.assertStale("shop")
				w.idle()
				w.validate()
				w.assertOpen("shop")
			}, maxAge(mostAge))
		})
	}
}

func TestReopeningIsTold(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.becomeStale("shop")
		generation, view := w.generation(), w.view()
		var told record[*snapshot.Snapshot]
		w.mirror.OnPublish(func(s *snapshot.Snapshot) { told.add(s) })
		begin := time.Now()
		w.validate()

		assert.Zero(t, time.Since(begin))
		assert.Equal(t, generation+1, w.generation())
		require.Equal(t, 1, told.len())
		assert.Same(t, w.mirror.Current(), told.last())
		assert.Same(t, view, w.view(), "the Views are those of before")
		assert.Empty(t, w.mirror.Status().Conditions)
		assert.Equal(t, 1, w.logs.FilterMessage("what is served was validated; open again").Len())

		pass(mostAge)
		w.assertStale("shop")
	}, maxAge(mostAge))
}

func TestChangesWhileStaleArePublishedStale(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.becomeStale("shop")
		since, _ := w.condition(mirror.Stale, "")
		generation := w.generation()
		pass(time.Minute)
		w.put("shop", token("shop", "2"))

		assert.Equal(t, "2", w.version("shop"))
		assert.Equal(t, generation+1, w.generation())
		w.assertStale("shop")
		still, _ := w.condition(mirror.Stale, "")
		assert.Equal(t, since, still)

		w.idle() // what is told in the pause after a build counts when it is over
		w.validate()
		w.assertOpen("shop")
		assert.Equal(t, "2", w.version("shop"))
	}, maxAge(mostAge))
}

func TestNothingBecomesStaleAfterStop(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.serve("shop")
		w.validate()
		generation := w.generation()
		w.mirror.Stop()
		pass(2 * mostAge)
		assert.Equal(t, generation, w.generation())
	}, maxAge(mostAge))
}

func TestListenerThatHangsKeepsNothingOpen(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.serve("shop")
		hang := make(chan struct{})
		w.mirror.OnPublish(func(*snapshot.Snapshot) { <-hang })
		w.put("shop", token("shop", "2"))
		pass(2 * mostAge)
		assert.Equal(t, "stale", w.reason("shop"))
		close(hang)
		synctest.Wait()
	}, maxAge(mostAge))
}

func TestWhatIsToldInThePauseAfterABuildIsNotServedYet(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.serve("shop")
		w.put("shop", token("shop", "2"))
		w.source.put(key("shop"), snapshot.Absent())
		told := time.Now().Add(time.Millisecond)
		pass(time.Millisecond)
		w.source.sink.Fresh(mirror.Freshness{AsOf: told})
		assert.True(t, w.mirror.Status().AsOf.Before(told))
		w.idle()
		assert.Equal(t, told, w.mirror.Status().AsOf)
		assert.Equal(t, "secret_absent", w.reason("shop"))
	}, maxAge(mostAge))
}
