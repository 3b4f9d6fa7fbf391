package kube

import (
	"context"
	"sync"
)

// crew runs a watcher for each area of the ledger, from when the area comes until
// it goes.
type crew struct {
	ledger   *ledger
	hire     func(*area) *watcher
	watchers map[*area]*watcher // outlives run, with how far each has come
}

func newCrew(l *ledger, hire func(*area) *watcher) *crew {
	return &crew{ledger: l, hire: hire, watchers: make(map[*area]*watcher)}
}

// run returns when ctx is done and no watcher runs.
func (c *crew) run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	stops := make(map[*area]context.CancelFunc)
	defer func() {
		for _, stop := range stops {
			stop()
		}
	}()
	for {
		areas := c.ledger.present()
		c.dismiss(areas, stops)
		for a := range areas {
			if stops[a] == nil {
				stops[a] = c.start(ctx, a, &running)
			}
		}
		select {
		case <-c.ledger.changed:
		case <-ctx.Done():
			return
		}
	}
}

// dismiss ends the watchers whose area has gone.
func (c *crew) dismiss(areas map[*area]struct{}, stops map[*area]context.CancelFunc) {
	for a, w := range c.watchers {
		if _, present := areas[a]; present {
			continue
		}
		if stop := stops[a]; stop != nil {
			stop()
		}
		w.progress.remove()
		delete(stops, a)
		delete(c.watchers, a)
	}
}

func (c *crew) start(ctx context.Context, a *area, running *sync.WaitGroup) context.CancelFunc {
	w := c.watchers[a]
	if w == nil {
		w = c.hire(a)
		c.watchers[a] = w
	}
	ctx, stop := context.WithCancel(ctx)
	running.Go(func() { w.run(ctx) })
	return stop
}
