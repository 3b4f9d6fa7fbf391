package mirror_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

func TestAppExpiresByItself(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		expiry := time.Now().Add(90 * time.Minute).Truncate(time.Second)
		w.source.put(key("shop"), token("shop", "1"))
		w.source.put(key("blog"), token("blog", "1"))
		w.tell(registry("1",
			app("shop", `"expiresAt":"`+expiry.Format(time.RFC3339)+`"`),
			app("blog")))
		require.Equal(t, "allowed", w.reason("shop"))
		rebuilds := w.mirror.Rebuilds()
		var published record[time.Time]
		w.mirror.OnPublish(func(*snapshot.Snapshot) { published.add(time.Now()) })

		time.Sleep(time.Until(expiry) - time.Nanosecond)
		require.Zero(t, published.len())
		require.Equal(t, rebuilds, w.mirror.Rebuilds(), "nobody builds while waiting")
		pass(time.Nanosecond)

		require.Equal(t, 1, published.len())
		assert.True(t, expiry.Equal(published.last()), "published at %s", published.last())
		shop, _ := w.view().Lookup(host("shop"))
		assert.Equal(t, snapshot.ReasonAppExpired, shop.Reason)
		assert.Equal(t, "allowed", w.reason("blog"))

		pass(24 * time.Hour)
		assert.Equal(t, rebuilds+1, w.mirror.Rebuilds())
	})
}

func TestAppsExpireOneAfterAnother(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		start := time.Now()
		at := func(d time.Duration) string { return `"expiresAt":"` + start.Add(d).Format(time.RFC3339) + `"` }
		for _, name := range []string{"a", "b", "c"} {
			w.source.put(key(name), token(name, "1"))
		}
		w.tell(registry("1", app("a", at(3*time.Hour)), app("b", at(time.Hour)), app("c", at(2*time.Hour))))
		var published record[time.Duration]
		w.mirror.OnPublish(func(s *snapshot.Snapshot) { published.add(s.BuiltAt().Sub(start)) })
		pass(24 * time.Hour)

		assert.Equal(t, []time.Duration{time.Hour, 2 * time.Hour, 3 * time.Hour}, published.list())
	})
}

func TestTimedViewsWakeTheLoop(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		s := newSpy("timed")
		s.makes(func(o snapshot.Objects) (any, error) {
			if s.calls.len() > 3 {
				return &due{}, nil // never again
			}
			return &due{at: o.Now.Add(time.Duration(s.calls.len()) * time.Hour)}, nil
		})
		w.register(s)
		w.serve("shop")
		pass(24 * time.Hour)

		require.Len(t, s.at.list(), 4)
		for i := range 3 {
			assert.Equal(t, time.Duration(i+1)*time.Hour, s.at.list()[i+1].Sub(s.at.list()[i]))
			assert.True(t, s.calls.list()[i+1].Changes.Empty(), "nothing changed but the time")
		}
		assert.Len(t, w.observed.durations, 4)
	})
}

func TestOnlyTheViewThatIsDueIsBuilt(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		other, timed := newSpy("other"), newSpy("timed")
		timed.makes(func(o snapshot.Objects) (any, error) { return &due{at: o.Now.Add(time.Hour)}, nil })
		w.register(other)
		w.register(timed)
		w.serve("shop")
		pass(10 * time.Hour)

		assert.Len(t, timed.calls.list(), 11)
		assert.Len(t, other.calls.list(), 1)
	})
}

func TestViewThatIsAlwaysDueDoesNotSpin(t *testing.T) {
	for name, c := range map[string]struct {
		ahead    time.Duration
		atMost   int
		becauseO string
	}{
		"now":               {0, 61, "once a second"},
		"in the past":       {-time.Hour, 61, "once a second"},
		"a moment from now": {time.Nanosecond, 3001, "the gap after a build is 20 ms at least"},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				s := newSpy("timed")
				s.makes(func(o snapshot.Objects) (any, error) { return &due{at: o.Now.Add(c.ahead)}, nil })
				w.register(s)
				w.tell(nil)
				pass(time.Minute)

				assert.LessOrEqual(t, s.calls.len(), c.atMost, c.becauseO)
				assert.Greater(t, s.calls.len(), 30, "it is called again though")
			})
		})
	}
}

func TestTimedBuilderThatFailsWhenDueIsTriedAgainWithoutHurry(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		s := newSpy("timed")
		s.makes(func(o snapshot.Objects) (any, error) {
			if s.calls.len() > 1 {
				return nil, errors.New("no")
			}
			return &due{at: o.Now.Add(time.Hour)}, nil
		})
		w.register(s)
		w.serve("shop")
		pass(time.Hour)
		require.Len(t, s.calls.list(), 2)
		pass(time.Minute)
		assert.Len(t, s.calls.list(), 8, "every 10 s")

		s.recovers()
		pass(time.Hour)
		assert.Len(t, s.calls.list(), 9)
	})
}

func TestTimedBuilderThatFailsBeforeItIsDueIsStillCalledThen(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		s := newSpy("timed")
		s.makes(func(o snapshot.Objects) (any, error) { return &due{at: o.Now.Add(time.Hour)}, nil })
		w.register(s)
		w.serve("shop")
		s.fails(errors.New("no"))
		w.put("shop", token("shop", "2"))
		pass(30 * time.Minute)
		require.Len(t, s.calls.list(), 2)

		s.recovers()
		pass(time.Hour)
		require.Len(t, s.calls.list(), 3)
		assert.Equal(t, time.Hour, s.at.list()[2].Sub(s.at.list()[0]), "its last View changes then")
		assert.Equal(t, keys("shop"), s.changes().Secrets)
	})
}

func TestChangesDoNotPostponeWhatIsDue(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		expiry := time.Now().Add(time.Minute).Truncate(time.Second)
		w.source.put(key("shop"), token("shop", "1"))
		w.tell(registry("1", app("shop", `"expiresAt":"`+expiry.Format(time.RFC3339)+`"`)))
		var published record[time.Time]
		w.mirror.OnPublish(func(s *snapshot.Snapshot) {
			apps, _ := snapshot.ViewAt[*snapshot.Apps](s, w.apps)
			if apps.At(0).Reason == snapshot.ReasonAppExpired {
				published.add(time.Now())
			}
		})
		for i := range 120 { // a change every second, in step with the expiry
			w.source.put(key("shop"), token("shop", sprintf("%d", i)))
			time.Sleep(time.Second)
		}

		require.NotZero(t, published.len())
		assert.WithinDuration(t, expiry, published.list()[0], 20*time.Millisecond)
	})
}
