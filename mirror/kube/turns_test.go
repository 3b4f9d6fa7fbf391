package kube

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/watch"
)

func TestTurnIsWaitedForAndMayBeEndedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(1)
		end, err := turns.take(t.Context())
		require.NoError(t, err)
		begin := time.Now()
		time.AfterFunc(time.Second, func() { end(); end() })
		_, err = turns.take(t.Context())
		require.NoError(t, err)
		assert.Equal(t, time.Second, time.Since(begin))
		assert.Len(t, turns, 1, "the second is under way")
	})
}

func TestTurnIsNotWaitedForBeyondTheContext(t *testing.T) {
	turns := newTurns(0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := turns.take(ctx)
	require.ErrorIs(t, err, context.Canceled)
}

func TestNoTurnsAreNoBound(t *testing.T) {
	for range 1000 {
		end, err := turns(nil).take(t.Context())
		require.NoError(t, err)
		defer end()
	}
}

func TestTurnOfAStreamEnds(t *testing.T) {
	for name, test := range map[string]struct {
		happens func(server *watch.FakeWatcher, cancel func())
		ends    bool
	}{
		"not with the first of what is there": {func(s *watch.FakeWatcher, _ func()) { s.Add(secret("a", "uid", "5")) }, false},
		"when all that is there has come":     {func(s *watch.FakeWatcher, _ func()) { s.Action(watch.Bookmark, initialEnd()) }, true},
		"when the server ends the stream":     {func(s *watch.FakeWatcher, _ func()) { s.Stop() }, true},
		"when the watch is closed":            {func(_ *watch.FakeWatcher, cancel func()) { cancel() }, true},
		"when the server falls silent":        {func(*watch.FakeWatcher, func()) { time.Sleep(silenceTime) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				a, _ := newTestAttempts()
				server := watch.NewFake()
				s := newStream(server, true, a)
				turns := newTurns(1)
				var err error
				s.begun, err = turns.take(ctx)
				require.NoError(t, err)
				ended := make(chan struct{})
				go func() { s.run(ctx); close(ended) }()
				go func() {
					for range s.ResultChan() {
					}
				}()
				test.happens(server, cancel)
				synctest.Wait()
				assert.Equal(t, test.ends, len(turns) == 0)
				cancel()
				<-ended
				assert.Empty(t, turns)
			})
		})
	}
}
