package credential_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

	"github.com/authz-bridge/authz-bridge/snapshot/credential"
)

const cost12 = 1 << 12

// crowd waits for the one slot of a Hasher, which the test holds.
type crowd struct {
	h    *credential.Hasher
	free chan struct{}
	done sync.WaitGroup

	mu    sync.Mutex // guards order
	order []string
}

// hold takes the slot. It is for use in a synctest bubble.
func hold(t *testing.T) *crowd {
	t.Helper()
	c := &crowd{h: credential.NewHasher(1), free: make(chan struct{})}
	c.done.Go(func() { c.h.RunInTurn("holder", 1, nil, func() { <-c.free }) })
	synctest.Wait()
	return c
}

// ask returns the channel of the answer, which comes at once if there is no place.
func (c *crowd) ask(app, name string, units int, cancel <-chan struct{}) <-chan bool {
	answer := make(chan bool, 1)
	c.done.Go(func() {
		answer <- c.h.RunInTurn(app, units, cancel, func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.order = append(c.order, name)
		})
	})
	synctest.Wait()
	return answer
}

// askMany returns how many are sent away.
func (c *crowd) askMany(app string, units, n int) (refused int) {
	for i := range n {
		answer := c.ask(app, fmt.Sprintf("%s%d", app, i), units, nil)
		if len(answer) == 1 && !<-answer {
			refused++
		}
	}
	return refused
}

// letGo gives the slot away and returns in which order the others had it.
func (c *crowd) letGo() []string {
	close(c.free)
	c.done.Wait()
	return c.order
}

func TestAppsTakeTurnsHoweverMuchOneAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := hold(t)
		assert.Equal(t, 92, c.askMany("flood", cost12, 100), "half of the budget are eight")
		assert.Equal(t, 0, c.askMany("quiet", cost12, 2))
		assert.Equal(t, 0, c.askMany("other", cost12, 1))
		units, apps := c.h.Waiting()
		assert.Equal(t, 11*cost12, units)
		assert.Equal(t, 3, apps)
		assert.Equal(t, []string{
			"flood0", "quiet0", "other0", "flood1", "quiet1",
			"flood2", "flood3", "flood4", "flood5", "flood6", "flood7",
		}, c.letGo())
		units, apps = c.h.Waiting()
		assert.Zero(t, units)
		assert.Zero(t, apps)
	})
}

func TestNoMoreWaitsThanTheBudgetHowManyAppsThereMayBe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := hold(t)
		served, most := 0, 0
		for i := range 40 {
			refused := c.askMany(fmt.Sprintf("app%d", i), cost12/4, 40)
			if refused < 40 {
				served++
			}
			units, _ := c.h.Waiting()
			most = max(most, units)
		}
		assert.LessOrEqual(t, most, credential.Budget)
		assert.Equal(t, 7, served, "each takes half of what those before left")
		assert.Len(t, c.letGo(), most/(cost12/4))
	})
}

func TestWhoFindsNobodyWaitingIsNotSentAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := hold(t)
		const costliest = 2 << 14
		assert.Equal(t, 0, c.askMany("shop", costliest, 1))
		assert.Equal(t, 1, c.askMany("shop", costliest, 1))
		assert.Equal(t, 0, c.askMany("other", cost12, 1))
		c.letGo()
	})
}

func TestWhoGoesAwayKeepsNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := hold(t)
		gone := make(chan struct{})
		leaves := []<-chan bool{c.ask("a", "a0", cost12, gone)}
		c.ask("a", "a1", cost12, nil)
		leaves = append(leaves, c.ask("a", "a2", cost12, gone), c.ask("b", "b0", cost12, gone))
		c.ask("c", "c0", cost12, nil)
		close(gone)
		synctest.Wait()
		for _, answer := range leaves {
			assert.False(t, <-answer)
		}
		units, apps := c.h.Waiting()
		assert.Equal(t, 2*cost12, units)
		assert.Equal(t, 2, apps)
		assert.Equal(t, []string{"a1", "c0"}, c.letGo())
	})
}

// The last thing that the holder does is to make the first one go away, who by then
// mostly has been given the slot.
func TestASlotThatComesTooLateIsHandedOn(t *testing.T) {
	for i := range 200 {
		next := []string{"a", "b"}[i%2]
		synctest.Test(t, func(t *testing.T) {
			h, start, gone := credential.NewHasher(1), make(chan struct{}), make(chan struct{})
			var all sync.WaitGroup
			all.Go(func() { h.RunInTurn("holder", 1, nil, func() { <-start; close(gone) }) })
			synctest.Wait()
			all.Go(func() { assert.False(t, h.RunInTurn("a", 1, gone, func() {})) })
			synctest.Wait()
			all.Go(func() { assert.True(t, h.RunInTurn(next, 1, nil, func() {})) })
			synctest.Wait()
			close(start)
			all.Wait()
			assert.True(t, h.RunInTurn("c", 1, gone, func() {}), "the slot is lost")
		})
	}
}

func TestAPanicGivesTheSlotBack(t *testing.T) {
	h := credential.NewHasher(1)
	assert.Panics(t, func() { h.RunInTurn("shop", 1, nil, func() { panic("a library") }) })
	gone := make(chan struct{})
	close(gone)
	assert.True(t, h.RunInTurn("shop", 1, gone, func() {}))
}

// Slots are handed over and callers go away at the same time: no slot is lost, and
// none is there twice.
func TestNoSlotIsLostToThoseWhoGoAway(t *testing.T) {
	const atOnce, callers, times = 2, 8, 2000
	h := credential.NewHasher(atOnce)
	var running, most, done, left atomic.Int64
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			for n := range times {
				cancel := make(chan struct{})
				var goes sync.WaitGroup
				goes.Go(func() { close(cancel) })
				ran := h.RunInTurn(fmt.Sprint("app", (i+n)%3), 1, cancel, func() {
					if now := running.Add(1); now > atOnce {
						most.Store(now)
					}
					running.Add(-1)
				})
				goes.Wait()
				if ran {
					done.Add(1)
				} else {
					left.Add(1)
				}
			}
		})
	}
	all.Wait()
	assert.Zero(t, most.Load(), "more than %d at once", atOnce)
	assert.Equal(t, int64(callers*times), done.Load()+left.Load())
	units, apps := h.Waiting()
	assert.Zero(t, units)
	assert.Zero(t, apps)

	gone := make(chan struct{})
	close(gone)
	h.RunInTurn("a", 1, gone, func() {
		assert.True(t, h.RunInTurn("b", 1, gone, func() {
			assert.False(t, h.RunInTurn("c", 1, gone, func() {}), "there are two slots")
		}), "a slot is lost")
	})
}
