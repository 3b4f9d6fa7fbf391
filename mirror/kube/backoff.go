package kube

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// A failed attempt is followed by a pause of 100 ms that doubles up to 2.5 s,
// and up to as much again at random, so that the replicas of one outage do not
// come back at once: never more than 5 s.
const (
	firstPause  = 100 * time.Millisecond
	lastPause   = 2500 * time.Millisecond
	pauseJitter = 1.0
)

func newBackoff() wait.Backoff {
	return wait.Backoff{
		Duration: firstPause,
		Factor:   2,
		Cap:      lastPause,
		Jitter:   pauseJitter,
		// Used up, the pause would stay what it is; reaching the cap takes five.
		Steps: 10,
	}
}

// sleep returns the error of ctx if that ends first.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
