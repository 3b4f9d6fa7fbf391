package mirror_test

import (
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

// badError panics when it is asked what is wrong, as a nil pointer does that was
// returned as an error.
type badError struct{ text string }

func (e *badError) Error() string { return e.text }

// badView panics when it is asked when it changes.
type badView struct{ at time.Time }

func (v *badView) NextChange() time.Time { return v.at }

func TestRow17BuilderThatFailsKeepsItsView(t *testing.T) {
	for name, c := range map[string]struct {
		make    func(snapshot.Objects) (any, error)
		message string
	}{
		"with an error": {
			make:    func(snapshot.Objects) (any, error) { return "half", errors.New("secret bridge/shop: no bytes") },
			message: "builder bad: secret bridge/shop: no bytes; its last view stays in use",
		},
		"with a panic": {
			make:    func(snapshot.Objects) (any, error) { panic("bytes of shop") },
			message: "builder bad: panic (string); its last view stays in use",
		},
		"with a panic whose value is an error": {
			make:    func(snapshot.Objects) (any, error) { panic(errors.New("bytes of shop")) },
			message: "builder bad: panic (*errors.errorString); its last view stays in use",
		},
		"with an error that cannot say what it is": {
			make:    func(snapshot.Objects) (any, error) { return nil, (*badError)(nil) },
			message: "builder bad: panic (runtime.errorString); its last view stays in use",
		},
		"with a View that cannot say when it changes": {
			make:    func(snapshot.Objects) (any, error) { return (*badView)(nil), nil },
			message: "builder bad: panic (runtime.errorString); its last view stays in use",
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				bad, after := newSpy("bad"), newSpy("after")
				slot := w.register(bad)
				slotAfter := w.register(after)
				w.serve("shop")

				bad.makes(c.make)
				w.put("shop", token("shop", "2"))

				view, ok := snapshot.ViewAt[int](w.mirror.Current(), slot)
				require.True(t, ok)
				assert.Equal(t, 1, view, "the View of the last success")
				assert.Equal(t, "2", w.version("shop"), "the Builder before it")
				viewAfter, _ := snapshot.ViewAt[int](w.mirror.Current(), slotAfter)
				assert.Equal(t, 2, viewAfter, "the Builder after it")
				w.assertBuildFailed("bad", c.message)
				w.assertNotLogged("bytes of shop")
			})
		})
	}
}

// assertBuildFailed asks that it is the only thing that is out of order.
func (w *world) assertBuildFailed(builder, message string) {
	w.t.Helper()
	active := w.mirror.Status().Conditions
	require.Len(w.t, active, 1)
	assert.Equal(w.t, mirror.BuildFailed, active[0].Type)
	assert.Equal(w.t, builder, active[0].Subject)
	assert.Equal(w.t, message, active[0].Message)
	ready, reasons := w.mirror.Ready()
	assert.True(w.t, ready)
	assert.Equal(w.t, []string{message}, reasons)
	assert.Equal(w.t, map[string]int{builder: 1}, w.observed.buildFailed)
}

func TestBuilderThatNeverSucceededHasNoView(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		bad := newSpy("bad")
		bad.panics("always")
		slot := w.register(bad)
		w.serve("shop")

		_, ok := snapshot.ViewAt[any](w.mirror.Current(), slot)
		assert.False(t, ok)
		assert.Equal(t, "allowed", w.reason("shop"), "the first publish does not wait for it")
	})
}

func TestRow17BuilderThatFailsIsNotCalledAgainOnTheSameInput(t *testing.T) {
	for name, fail := range map[string]func(*spy){
		"error": func(s *spy) { s.fails(errors.New("no")) },
		"panic": func(s *spy) { s.panics("no") },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				bad := newSpy("bad")
				fail(bad)
				w.register(bad)
				w.serve("shop")
				require.Len(t, bad.calls.list(), 1)

				pass(24 * time.Hour)
				w.tell(registry("1", app("shop")))
				w.put("shop", token("shop", "1"))
				w.register(newSpy("late"))
				w.idle()
				assert.Len(t, bad.calls.list(), 1)

				w.put("shop", token("shop", "2"))
				assert.Len(t, bad.calls.list(), 2, "there is something new")
			})
		})
	}
}

func TestBuilderThatRecovers(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		bad := newSpy("bad")
		slot := w.register(bad)
		w.serve("shop")
		bad.fails(errors.New("first"))
		w.put("shop", token("shop", "2"))
		first, _ := w.condition(mirror.BuildFailed, "bad")

		pass(time.Hour)
		bad.panics("second")
		w.put("shop", token("shop", "3"))
		second, _ := w.condition(mirror.BuildFailed, "bad")
		assert.Equal(t, first.Since, second.Since)
		assert.NotEqual(t, first.Message, second.Message)
		assert.Equal(t, map[string]int{"bad": 2}, w.observed.buildFailed)

		w.idle()
		bad.recovers()
		w.put("shop", token("shop", "4"))
		assert.Empty(t, w.mirror.Status().Conditions)
		view, _ := snapshot.ViewAt[int](w.mirror.Current(), slot)
		assert.Equal(t, 4, view)
		assert.Equal(t, 1, w.logs.FilterMessage("builder succeeds again").Len())
	})
}

func TestEachFailingBuilderHasItsOwnCondition(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		one, two := newSpy("one"), newSpy("two")
		one.fails(errors.New("1"))
		two.fails(errors.New("2"))
		w.register(two)
		w.register(one)
		w.serve("shop")
		assert.Equal(t, []string{
			"builder one: 1; its last view stays in use",
			"builder two: 2; its last view stays in use",
		}, w.reasons())

		one.recovers()
		w.put("shop", token("shop", "2"))
		assert.Equal(t, []string{"builder two: 2; its last view stays in use"}, w.reasons())
	})
}

func TestTheSameFailureIsLoggedOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		bad := newSpy("bad")
		bad.fails(errors.New("no"))
		w.register(bad)
		w.serve("shop")
		for i := range 20 {
			w.put("shop", token("shop", strconv.Itoa(i+2)))
			w.idle()
		}
		synctest.Wait()

		assert.Len(t, bad.calls.list(), 21)
		assert.Equal(t, 1, w.logs.FilterMessage("builder failed; its last view stays in use").Len())
	})
}
