package kube

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// oldest is what the heap is to be equal to.
func oldest(v *validation) (asOf time.Time) {
	for p := range v.watches {
		if !p.asOf.IsZero() && (asOf.IsZero() || p.asOf.Before(asOf)) {
			asOf = p.asOf
		}
	}
	return asOf
}

func TestOldestWatchIsKnownWhateverHappens(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 0))
		r := newRecorder()
		v := newValidation(r)
		all := []*progress{v.add("first")}
		for now := 1; now <= 200; now++ {
			p := all[random.IntN(len(all))]
			switch random.IntN(5) {
			case 0:
				p.synced(second(random.IntN(now)), "10")
			case 1:
				p.reached("1000")
			case 2:
				p.remove()
			case 3:
				v.probed(second(now), "100")
			}
			if random.IntN(3) == 0 {
				all = append(all, v.add("watch"))
			}
			require.Equal(t, oldest(v), r.lastFresh().AsOf, "seed %d, step %d", seed, now)
		}
	}
}

func TestWatchThatIsRemovedIsOutOfAccount(t *testing.T) {
	r := newRecorder()
	v := newValidation(r)
	old, young, never := v.add("old"), v.add("young"), v.add("never")
	old.synced(second(1), "10")
	young.synced(second(2), "10")
	v.probed(second(3), "20")
	require.Equal(t, []string{"old", "young"}, v.late(second(4)))

	never.remove()
	assert.Equal(t, second(1), r.lastFresh().AsOf)
	old.remove()
	old.remove()
	assert.Equal(t, second(2), r.lastFresh().AsOf, "what is left is younger")
	assert.Equal(t, "young", r.lastFresh().Oldest)
	assert.Equal(t, []string{"young"}, v.late(second(4)))
	assert.Len(t, v.versions(), 1)

	told := len(r.fresh)
	old.synced(second(0), "30")
	old.reached("30")
	old.interrupted()
	assert.Len(t, r.fresh, told, "what it still brings is nothing to anybody")
	young.remove()
	assert.Zero(t, r.lastFresh().AsOf)
}

func TestWatchCountsWhileSomethingIsOpenByIt(t *testing.T) {
	r := newRecorder()
	v := newValidation(r)
	always, sometimes := v.add("always"), v.add("sometimes")
	open := true
	sometimes.isPart = func() bool { return open }
	sometimes.synced(second(1), "10")
	always.synced(second(2), "10")
	require.Equal(t, "sometimes", r.lastFresh().Oldest)

	open = false
	always.reached("11")
	assert.Equal(t, second(2), r.lastFresh().AsOf)
	open = true
	sometimes.reached("12")
	assert.Equal(t, second(1), r.lastFresh().AsOf, "as old as it was: it has been asked for nothing since")
	v.probed(second(3), "11")
	assert.Equal(t, second(3), r.lastFresh().AsOf)
}

func TestProbesWhileAWatchListsCountOnceItHas(t *testing.T) {
	r := newRecorder()
	v := newValidation(r)
	p := v.add("list")
	p.asked()
	v.probed(second(5), "20")
	assert.Empty(t, v.late(second(100)), "a list takes as long as it takes")
	p.synced(second(1), "30")
	assert.Equal(t, second(5), r.lastFresh().AsOf, "the list is newer than the probe")
}

func TestWatchesThatAreLateAreNamedUpToAFew(t *testing.T) {
	assert.Equal(t, "a, b", few([]string{"a", "b"}))
	assert.Equal(t, "a, b, c, d, e", few([]string{"a", "b", "c", "d", "e"}))
	assert.Equal(t, "a, b, c, d, e and 2 more", few([]string{"a", "b", "c", "d", "e", "f", "g"}))
}
