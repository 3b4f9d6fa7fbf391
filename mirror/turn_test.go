package mirror

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

// These tests turn the loop by hand, since the clock of testing/synctest cannot
// be set, and what select chooses cannot be told.

// still is a Source that tells nothing by itself.
type still struct{}

func (still) Run(ctx context.Context, _ Sink)               { <-ctx.Done() }
func (still) Reference(map[snapshot.Key]snapshot.Reference) {}
func (still) String() string                                { return "still" }

// failing builds Views until it is told to fail.
type failing struct {
	snapshot.AppsBuilder
	calls int
	err   error
}

func (f *failing) Build(o snapshot.Objects) (any, error) {
	f.calls++
	if f.err != nil {
		return nil, f.err
	}
	return f.AppsBuilder.Build(o)
}

// clocked is a loop whose one App expires at noon.
type clocked struct {
	*loop
	t       *testing.T
	builder *failing
	slot    snapshot.Slot
}

func at(hour, minute int) time.Time { return time.Date(2027, 3, 1, hour, minute, 0, 0, time.UTC) }

func newClocked(t *testing.T, now time.Time) *clocked {
	t.Helper()
	key := snapshot.Key{Namespace: "bridge", Name: "registry"}
	m, err := New(Options{Registry: key, Source: still{}})
	require.NoError(t, err)
	c := &clocked{loop: newLoop(m), t: t, builder: &failing{}}
	c.slot, err = m.Register(c.builder)
	require.NoError(t, err)

	(*sink)(m).Registry(snapshot.NewSecret(snapshot.SecretMeta{Key: key, Version: "1"}, map[string][]byte{
		"registry.yaml": []byte(`{version: 1, apps: [{name: shop, hostnames: [shop.example.com],
			secretRef: {name: shop}, expiresAt: "2027-03-01T12:00:00Z"}]}`),
	}))
	c.turn(now)
	shop := snapshot.Key{Namespace: "bridge", Name: "shop"}
	(*sink)(m).Secrets(map[snapshot.Key]snapshot.SecretState{
		shop: snapshot.Present(snapshot.NewSecret(snapshot.SecretMeta{Key: shop}, map[string][]byte{"a": []byte("b")})),
	})
	c.turn(now)
	return c
}

func (c *clocked) reason() string {
	c.t.Helper()
	apps, ok := snapshot.ViewAt[*snapshot.Apps](c.Current(), c.slot)
	require.True(c.t, ok)
	return apps.At(0).Reason.String()
}

func TestRow19ClockSetForward(t *testing.T) {
	c := newClocked(t, at(11, 0))
	require.Equal(t, "allowed", c.reason())

	c.turn(at(13, 0))
	assert.Equal(t, "app_expired", c.reason())
}

func TestRow19ClockSetBack(t *testing.T) {
	c := newClocked(t, at(13, 0))
	require.Equal(t, "app_expired", c.reason())

	c.turn(at(11, 30))
	assert.Equal(t, "allowed", c.reason(), "the clock was wrong, and is put right")

	c.turn(at(11, 31))
	assert.Equal(t, 2, c.builder.calls, "that is noticed once")

	c.turn(at(12, 0))
	assert.Equal(t, "app_expired", c.reason())
}

func TestClockSetBackWhileABuilderFails(t *testing.T) {
	c := newClocked(t, at(13, 0))
	c.builder.err = errors.New("no")
	c.turn(at(11, 30))
	c.turn(at(11, 30).Add(retryDue - time.Nanosecond))
	assert.Equal(t, 2, c.builder.calls, "it is not called again at every turn")

	c.builder.err = nil
	c.turn(at(11, 30).Add(retryDue))
	assert.Equal(t, "allowed", c.reason())
}

func TestTimeOfAViewIsThatOfTheWall(t *testing.T) {
	c := newClocked(t, time.Now())
	asOf := c.registrations.list()[0].asOf
	require.False(t, asOf.IsZero())
	assert.Equal(t, asOf.Round(0), asOf, "with a monotonic reading nobody would see the clock set back")
}

func TestRow19AgeGoesByTheMonotonicClock(t *testing.T) {
	now := time.Now()
	c := newClocked(t, now)
	assert.NotEqual(t, now.Round(0), c.ages.oldest().asOf, "of the first publish: else setting the clock changes the age")

	told := time.Now()
	c.ages.accept(Freshness{AsOf: told})
	assert.Equal(t, told, c.ages.oldest().asOf)
	assert.NotEqual(t, told.Round(0), c.ages.oldest().asOf, "of the Source")
}

func TestRow19ClockSetBackWhileTheCacheIsServed(t *testing.T) {
	c := newClocked(t, at(11, 0))
	c.maxAge = time.Hour
	c.ages.serve(at(11, 0), at(11, 0)) // what was stored has no monotonic time

	c.expire(at(10, 0))
	assert.False(t, c.Current().Stale(), "what comes from the future is not old")
	assert.Zero(t, c.Status().Age(at(10, 0)))

	c.expire(at(12, 0).Add(-time.Nanosecond))
	assert.False(t, c.Current().Stale())
	c.expire(at(12, 0))
	assert.True(t, c.Current().Stale())
	c.expire(at(11, 30))
	assert.False(t, c.Current().Stale(), "the clock was wrong, and is put right")
}

func TestSleepIsBoundedSinceTheClockMayBeSetMeanwhile(t *testing.T) {
	c := newClocked(t, at(11, 0))
	assert.Equal(t, maxSleep, c.untilDue(at(11, 0)))
	assert.Equal(t, maxSleep, c.untilDue(at(1, 0)))
	assert.Equal(t, 10*time.Second, c.untilDue(at(12, 0).Add(-10*time.Second)))
	assert.Zero(t, c.untilDue(at(12, 0)))
	assert.Zero(t, c.untilDue(at(13, 0)))

	c.turn(at(13, 0))
	assert.Equal(t, maxSleep, c.untilDue(at(13, 0)), "nothing is due any more")
}

func TestReadingARegistryForNothingIsPausedUponAsWell(t *testing.T) {
	c := newClocked(t, at(11, 0))
	(*sink)(c.Mirror).Registry(snapshot.NewSecret(snapshot.SecretMeta{Version: "2"}, map[string][]byte{
		"registry.yaml": []byte("version: 2"),
	}))
	pause := c.turn(at(11, 0))

	assert.Positive(t, pause, "a large one takes as long as a build")
	assert.LessOrEqual(t, pause, maxGap)
}

func TestStoppedLoopDoesNotTakeAnotherTurn(t *testing.T) {
	for range 100 { // select chooses at random between the end and a signal
		c := newClocked(t, at(11, 0))
		(*sink)(c.Mirror).Registry(nil)
		c.Stop()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		before := c.Rebuilds()
		c.run(ctx)
		require.Equal(t, before, c.Rebuilds())
	}
}
