package mirror_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

// hold is how long a request is held in these tests, as in the handler.
const hold = 2 * time.Second

func TestAwaitReturnsTheSnapshotInServiceAtOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.serve("shop")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		begin := time.Now()

		assert.Same(t, w.mirror.Current(), w.mirror.Await(ctx, hold))
		assert.Same(t, w.mirror.Current(), w.mirror.Await(t.Context(), 0))
		assert.Zero(t, time.Since(begin))
	})
}

func TestAwait(t *testing.T) {
	for name, c := range map[string]struct {
		after func(*world, context.CancelFunc) // what happens after 300 ms
		waits time.Duration
		finds bool
	}{
		"nothing happens": {
			after: func(*world, context.CancelFunc) {},
			waits: hold,
		},
		"the first Snapshot is published": {
			after: func(w *world, _ context.CancelFunc) { w.source.sink.Registry(nil) },
			waits: 300 * time.Millisecond,
			finds: true,
		},
		"the Registry is malformed": {
			after: func(w *world, _ context.CancelFunc) { w.source.sink.Registry(document("u", "1", "version: 2")) },
			waits: hold,
		},
		"the request is given up": {
			after: func(_ *world, cancel context.CancelFunc) { cancel() },
			waits: 300 * time.Millisecond,
		},
		"the Mirror is stopped": {
			after: func(w *world, _ context.CancelFunc) { w.mirror.Stop() },
			waits: 300 * time.Millisecond,
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				time.AfterFunc(300*time.Millisecond, func() { c.after(w, cancel) })
				begin := time.Now()
				s := w.mirror.Await(ctx, hold)

				assert.Equal(t, c.waits, time.Since(begin))
				assert.Equal(t, c.finds, s != nil)
			})
		})
	}
}

func TestAwaitBeforeStartAndAfterStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		begin := time.Now()
		assert.Nil(t, w.mirror.Await(t.Context(), hold))
		assert.Equal(t, hold, time.Since(begin), "it may be started meanwhile")

		w.mirror.Stop()
		begin = time.Now()
		assert.Nil(t, w.mirror.Await(t.Context(), hold))
		assert.Zero(t, time.Since(begin))
	})
}

func TestManyAwaitTheSameSnapshot(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		found := make(chan *snapshot.Snapshot, 100)
		for range cap(found) {
			go func() { found <- w.mirror.Await(t.Context(), hold) }()
		}
		pass(time.Second)
		w.tell(nil)

		assert.Len(t, found, cap(found), "all are let go at once")
		for range cap(found) {
			assert.Same(t, w.mirror.Current(), <-found)
		}
	})
}
