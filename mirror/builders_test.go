package mirror_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

func TestRegisterRefusesNamesThatNameNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		_, err := w.mirror.Register(newSpy(""))
		assert.EqualError(t, err, "mirror: builder has no name")

		_, err = w.mirror.Register(newSpy("apps"))
		assert.EqualError(t, err, `mirror: builder "apps" is registered already`)

		slot := w.register(newSpy("next"))
		assert.Equal(t, 1, slot.Position(), "what is refused takes no slot")
	})
}

func TestBuildersAreCalledInOrderOfRegistration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var calls record[string]
		slots := make(map[string]snapshot.Slot)
		for _, name := range []string{"c", "a", "b"} {
			s := newSpy(name)
			s.makes(func(snapshot.Objects) (any, error) {
				calls.add(name)
				return name, nil
			})
			slots[name] = w.register(s)
		}
		w.start()
		w.tell(nil)

		assert.Equal(t, []string{"c", "a", "b"}, calls.list())
		for name, slot := range slots {
			view, ok := snapshot.ViewAt[string](w.mirror.Current(), slot)
			assert.True(t, ok)
			assert.Equal(t, name, view, "each View is in the slot of its Builder")
		}
	})
}

func TestBuilderRegisteredAfterTheFirstPublishTriggersABuild(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		early := newSpy("early")
		w.register(early)
		w.serve("shop")
		calls, generation := early.calls.len(), w.generation()

		begin := time.Now()
		late := newSpy("late")
		slot := w.register(late)
		synctest.Wait()

		assert.Zero(t, time.Since(begin))
		require.Len(t, late.calls.list(), 1)
		assert.Equal(t, snapshot.Changes{All: true}, late.changes())
		assert.Equal(t, snapshot.SecretPresent, late.calls.last().Secret(key("shop")).Status, "it gets all Objects")
		assert.Len(t, early.calls.list(), calls, "nothing changed for the others")
		view, ok := snapshot.ViewAt[int](w.mirror.Current(), slot)
		assert.True(t, ok)
		assert.Equal(t, 1, view)
		assert.Equal(t, generation+1, w.generation())
	})
}

func TestBuilderRegisteredBeforeTheFirstPublishWaitsForIt(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.tell(registry("1", app("shop")))
		early := newSpy("early")
		w.register(early)
		pass(time.Second - time.Nanosecond)
		assert.Empty(t, early.calls.list())

		w.put("shop", token("shop", "1"))
		assert.Len(t, early.calls.list(), 1)
	})
}

func TestBuilderRegisteredByABuilder(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		second := newSpy("second")
		first := newSpy("first")
		first.makes(func(snapshot.Objects) (any, error) {
			if first.calls.len() == 1 {
				w.register(second)
			}
			return "first", nil
		})
		w.register(first)
		w.tell(nil)
		w.idle()

		assert.Len(t, second.calls.list(), 1, "though it came when the build was under way")
		assert.Len(t, first.calls.list(), 1)
	})
}

func TestMirrorWithoutBuildersPublishesAsWell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newBareWorld(t)
		w.start()
		w.tell(nil)
		require.NotNil(t, w.mirror.Current())

		slot := w.register(newSpy("late"))
		w.idle()
		_, ok := snapshot.ViewAt[int](w.mirror.Current(), slot)
		assert.True(t, ok)
	})
}

func TestBuildHasOneNow(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		slow, other := newSpy("slow").takes(time.Second), newSpy("other")
		w.register(slow)
		w.register(other)
		w.tell(nil)
		pass(time.Minute)

		require.Len(t, other.calls.list(), 1)
		assert.Equal(t, time.Second, other.at.list()[0].Sub(slow.at.list()[0]))
		assert.Equal(t, slow.calls.list()[0].Now, other.calls.list()[0].Now)
	})
}
