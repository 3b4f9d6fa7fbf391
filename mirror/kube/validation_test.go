package kube

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/mirror"
)

// second is a moment of these tests.
func second(n int) time.Time { return time.Date(2026, 3, 1, 12, 0, n, 0, time.UTC) }

func TestWatchIsAsFreshAsTheProbeThatItHasComeTo(t *testing.T) {
	for name, test := range map[string]struct {
		version string
		asOf    time.Time
	}{
		"one below the revision":  {"99", second(1)},
		"at the revision":         {"100", second(5)},
		"past the revision":       {"101", second(5)},
		"more digits":             {"1000", second(5)},
		"fewer digits":            {"20", second(1)},
		"a version of no number":  {"abc", second(1)},
		"a bookmark of no number": {"", second(1)},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRecorder()
			v := newValidation(r)
			p := v.add("watch")
			p.synced(second(1), "10")
			v.probed(second(5), "100")
			assert.Equal(t, second(1), r.lastFresh().AsOf, "a probe alone validates nothing")
			p.reached(test.version)
			assert.Equal(t, test.asOf, r.lastFresh().AsOf)
		})
	}
}

func TestWatchThatIsThereAlreadyIsValidatedAtOnce(t *testing.T) {
	for name, revision := range map[string]string{"at the version": "100", "below the version": "99"} {
		t.Run(name, func(t *testing.T) {
			r := newRecorder()
			v := newValidation(r)
			v.add("watch").synced(second(1), "100")
			v.probed(second(5), revision)
			assert.Equal(t, second(5), r.lastFresh().AsOf)
		})
	}
}

func TestEachProbeCountsAsOfItsOwnTime(t *testing.T) {
	r := newRecorder()
	v := newValidation(r)
	p := v.add("watch")
	p.synced(second(1), "10")
	v.probed(second(5), "20")
	v.probed(second(10), "30")
	v.probed(second(15), "40")
	for _, step := range []struct {
		version string
		asOf    time.Time
	}{{"19", second(1)}, {"20", second(5)}, {"35", second(10)}, {"40", second(15)}, {"50", second(15)}} {
		p.reached(step.version)
		assert.Equal(t, step.asOf, r.lastFresh().AsOf, "version %s", step.version)
	}
}

func TestRow4BookmarksThatStandStillAreContactAndNoValidation(t *testing.T) {
	r := newRecorder()
	v := newValidation(r)
	p := v.add("watch")
	p.synced(second(1), "10")
	v.probed(second(5), "11")
	begin := time.Now()
	for range 100 {
		p.reached("10")
	}
	assert.Equal(t, second(1), r.lastFresh().AsOf)
	assert.False(t, r.lastFresh().Contact.Before(begin))
}

func TestAgeIsThatOfTheOldestWatch(t *testing.T) {
	r := newRecorder()
	v := newValidation(r)
	a, b, c := v.add("a"), v.add("b"), v.add("c")
	a.synced(second(1), "10")
	b.synced(second(2), "10")
	c.synced(second(3), "10")
	v.probed(second(9), "20")
	oldest := func() mirror.Freshness {
		f := r.lastFresh()
		f.Contact = time.Time{}
		return f
	}
	assert.Equal(t, mirror.Freshness{AsOf: second(1), Oldest: "a"}, oldest())
	a.reached("20")
	assert.Equal(t, mirror.Freshness{AsOf: second(2), Oldest: "b"}, oldest())
	c.reached("20")
	assert.Equal(t, mirror.Freshness{AsOf: second(2), Oldest: "b"}, oldest())
	b.reached("20")
	assert.Equal(t, second(9), oldest().AsOf)
}

func TestWatchThatNeverSyncedMakesNothingOlderOrYounger(t *testing.T) {
	r := newRecorder()
	v := newValidation(r)
	a := v.add("a")
	v.add("never")
	v.probed(second(1), "10")
	assert.Zero(t, r.lastFresh().AsOf, "nobody has brought anything")
	assert.Empty(t, r.lastFresh().Oldest)
	assert.NotZero(t, r.lastFresh().Contact)
	a.synced(second(2), "10")
	v.probed(second(5), "10")
	assert.Equal(t, second(5), r.lastFresh().AsOf)
	assert.Equal(t, "a", r.lastFresh().Oldest)
	assert.Len(t, v.versions(), 1)
}

func TestListThatWasAskedForEarlierDoesNotTakeTheAgeBack(t *testing.T) {
	r := newRecorder()
	v := newValidation(r)
	p := v.add("watch")
	p.synced(second(5), "10")
	p.synced(second(3), "11")
	assert.Equal(t, second(5), r.lastFresh().AsOf)
}

func TestRow6RestartForgetsVersionsAndKeepsAges(t *testing.T) {
	r := newRecorder()
	v := newValidation(r)
	p := v.add("watch")
	p.synced(second(1), "1000")
	v.probed(second(2), "1001")
	v.restart()
	assert.Empty(t, v.versions())
	v.probed(second(5), "500")
	assert.Equal(t, second(1), r.lastFresh().AsOf, "an older revision is not one that the watch is past")
	p.reached("") // what a relist of other data may begin with
	assert.Equal(t, second(1), r.lastFresh().AsOf)
	p.synced(second(6), "500")
	assert.Equal(t, second(6), r.lastFresh().AsOf)
	assert.Equal(t, map[*progress]string{p: "500"}, v.versions())
}

func TestProbesThatAWatchHasYetToComeToAreBounded(t *testing.T) {
	r := newRecorder()
	v := newValidation(r)
	p := v.add("watch")
	p.synced(second(0), "10")
	for i := 1; i <= 50; i++ {
		v.probed(second(i), fmt.Sprint(100+i))
	}
	require.Len(t, p.probes, mostProbes)
	p.reached("101")
	assert.Equal(t, second(1), r.lastFresh().AsOf, "the oldest is the next to be reached")
	v.probed(second(51), "151")
	p.reached("151")
	assert.Equal(t, second(51), r.lastFresh().AsOf)
	assert.Empty(t, p.probes)
}

func TestWatchIsLateThatHasNotComeToAnEarlierProbe(t *testing.T) {
	v := newValidation(newRecorder())
	p, other := v.add("slow"), v.add("quick")
	p.synced(second(0), "10")
	other.synced(second(0), "10")
	v.probed(second(1), "20")
	other.reached("20")
	assert.Empty(t, v.late(second(1)))
	assert.Equal(t, []string{"slow"}, v.late(second(2)))

	v.renewed()
	assert.Empty(t, v.late(second(2)), "a watch that was started anew has its time again")
	v.probed(second(3), "20")
	assert.Equal(t, []string{"slow"}, v.late(second(4)))
}

func TestWatchThatFailsIsNotLateAsWell(t *testing.T) {
	r := newRecorder()
	v := newValidation(r)
	target := registryTarget(shopKey("registry"))
	w := newWatcher(target, &registry{title: target.title, sink: r}, nil, v, &sync.WaitGroup{})
	w.progress.synced(second(0), "10")
	v.probed(second(1), "20")
	require.NotEmpty(t, v.late(second(2)))
	w.attempts.fail(t.Context(), "watch", errRefused)
	assert.Empty(t, v.late(second(2)), "it is tried again by itself")
	assert.Len(t, r.failures[target.title], 1)
}

func TestWatchThatNothingRefersToMakesNothingOlder(t *testing.T) {
	r := newRecorder()
	v := newValidation(r)
	used, idle := v.add("used"), v.add("idle")
	idle.isPart = func() bool { return false }
	begin := time.Now()
	idle.synced(begin, "1")
	used.synced(begin.Add(time.Hour), "1")
	last := r.fresh[len(r.fresh)-1]
	assert.Equal(t, begin.Add(time.Hour), last.AsOf)
	assert.Equal(t, "used", last.Oldest)
}

func TestWatchThatListsAnewIsNotLate(t *testing.T) {
	v := newValidation(newRecorder())
	p := v.add("secrets")
	begin := time.Now()
	p.synced(begin, "1")
	v.probed(begin, "5")
	require.Len(t, v.late(begin.Add(time.Minute)), 1)
	p.asked()
	v.probed(begin, "6")
	assert.Empty(t, v.late(begin.Add(time.Hour)))
	assert.Empty(t, v.versions(), "nor compared with what it brings")
	p.synced(begin.Add(time.Minute), "6")
	assert.Len(t, v.versions(), 1)
}
