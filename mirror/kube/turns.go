package kube

import (
	"context"
	"sync"
)

// mostTurns is how many watches of single Secrets may begin at once: each has the
// API server read from etcd.
const mostTurns = 20

// turns bounds how many watches begin at once. nil is no bound.
type turns chan struct{}

func newTurns(n int) turns { return make(turns, n) }

// take waits for a turn, and returns what ends it, which may be called repeatedly.
func (t turns) take(ctx context.Context) (end func(), err error) {
	if t == nil {
		return func() {}, nil
	}
	select {
	case t <- struct{}{}:
		return sync.OnceFunc(func() { <-t }), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
