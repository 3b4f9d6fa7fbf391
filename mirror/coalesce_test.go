package mirror_test

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestIdleLoopBuildsAtOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.serve("shop")
		for _, version := range []string{"2", "3", "4"} {
			w.idle()
			begin := time.Now()
			w.put("shop", token("shop", version))
			assert.Equal(t, version, w.version("shop"))
			assert.Zero(t, time.Since(begin), "no time may pass between the news and the publish")
		}
	})
}

// burst tells ten changes without a pause.
func (w *world) burst(from int) (last string) {
	for i := from; i < from+10; i++ {
		last = strconv.Itoa(i)
		w.source.put(key("shop"), token("shop", last))
	}
	return last
}

func TestBurstOfTenOnAnIdleLoopMakesAtMostTwoRebuilds(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.serve("shop")
		before := w.mirror.Rebuilds()
		last := w.burst(2)
		w.idle()

		assert.LessOrEqual(t, w.mirror.Rebuilds()-before, uint64(2))
		assert.Equal(t, last, w.version("shop"))
	})
}

func TestBurstOfTenDuringABuildMakesOneMore(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		slow := newSpy("slow").takes(50 * time.Millisecond)
		w.register(slow)
		w.serve("shop")
		before := w.mirror.Rebuilds()

		w.put("shop", token("shop", "2"))
		pass(10 * time.Millisecond)
		last := w.burst(3)
		pass(10 * time.Millisecond)
		require.Equal(t, before+1, w.mirror.Rebuilds(), "the first build is still under way")
		w.idle()

		assert.Equal(t, before+2, w.mirror.Rebuilds())
		assert.Equal(t, last, w.version("shop"))
	})
}

func TestBurstOfTenDuringTheGapMakesOneMore(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.serve("shop")
		before := w.mirror.Rebuilds()
		w.put("shop", token("shop", "2"))
		require.Equal(t, "2", w.version("shop"))

		pass(10 * time.Millisecond)
		last := w.burst(3)
		synctest.Wait()
		require.Equal(t, "2", w.version("shop"), "the gap is over before its time")
		pass(10 * time.Millisecond)

		assert.Equal(t, last, w.version("shop"), "the gap is 20 ms, and ends with what is new by then")
		assert.Equal(t, before+2, w.mirror.Rebuilds())
		pass(time.Minute)
		assert.Equal(t, before+2, w.mirror.Rebuilds())
	})
}

func TestGapIsFourTimesTheBuildWithinBounds(t *testing.T) {
	for name, c := range map[string]struct{ build, gap time.Duration }{
		"instant build":     {0, 20 * time.Millisecond},
		"below the floor":   {4 * time.Millisecond, 20 * time.Millisecond},
		"at the floor":      {5 * time.Millisecond, 20 * time.Millisecond},
		"in between":        {30 * time.Millisecond, 120 * time.Millisecond},
		"at the ceiling":    {250 * time.Millisecond, time.Second},
		"above the ceiling": {3 * time.Second, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				slow := newSpy("slow").takes(c.build)
				w.register(slow)
				w.tell(nil) // the first build
				for i := range 3 {
					w.source.sink.Registry(registry(strconv.Itoa(i)))
					pass(c.build + c.gap)
				}
				pass(time.Minute)

				require.Len(t, slow.at.list(), 4)
				for i := range 3 {
					assert.Equal(t, c.build+c.gap, slow.at.list()[i+1].Sub(slow.at.list()[i]), "between the begins of builds")
				}
			})
		})
	}
}

func TestChurnStarvesNobody(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		slow := newSpy("slow").takes(10 * time.Millisecond)
		w.register(slow)
		w.serve("shop")
		before := w.mirror.Rebuilds()
		for i := range 1000 { // for a second, a change each millisecond
			w.source.put(key("shop"), token("shop", strconv.Itoa(i)))
			time.Sleep(time.Millisecond)
		}
		w.idle()

		assert.InDelta(t, 20, w.mirror.Rebuilds()-before, 2, "one build each 50 ms")
		assert.Equal(t, "999", w.version("shop"))
	})
}

func TestBuildsAreTimedForTheObserver(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.register(newSpy("slow").takes(30 * time.Millisecond))
		w.tell(nil)
		w.idle()

		assert.Equal(t, []float64{0.03}, w.observed.durations)
	})
}
