package kube

import (
	"context"
	"sync"

	"github.com/go-logr/logr"
	"go.uber.org/zap"
	"k8s.io/klog/v2"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

// Run implements mirror.Source. Once ctx is done sink is not called any more,
// and Run returns when its goroutines have given up, which they do at once
// unless a credential plugin of the kubeconfig hangs. sink must not call
// Reference itself: it is called under a lock.
func (s *Source) Run(ctx context.Context, sink mirror.Sink) {
	out := &gate{sink: sink, logger: s.logger}
	context.AfterFunc(ctx, out.shut)
	ctx = klog.NewContext(ctx, logr.Discard())
	api := s.connect(ctx, out)
	if api != nil {
		defer api.close()
		s.watch(ctx, api, out)
	}
	out.shut()
}

// connect returns nil only when ctx is done.
func (s *Source) connect(ctx context.Context, sink mirror.Sink) *client {
	t := registryTarget(s.registry)
	a := newAttempts(&registry{key: s.registry, title: t.title, sink: sink}, t)
	for {
		api, err := newClient(s.config)
		if err == nil {
			a.succeed()
			return api
		}
		a.fail(ctx, "watch", err)
		if a.await(ctx) != nil {
			return nil
		}
	}
}

// watch returns when ctx is done and all goroutines have ended.
func (s *Source) watch(ctx context.Context, api *client, sink mirror.Sink) {
	var running, streams sync.WaitGroup
	defer running.Wait()
	defer streams.Wait()
	v, renew := newValidation(sink), make(chan renewal, 1)
	t := registryTarget(s.registry)
	r := &registry{key: s.registry, title: t.title, sink: sink}
	running.Go(func() { newProber(r, api, v, renew, s.pace).run(ctx) })

	e := &epoch{
		Source: s,
		renew:  renew,
		opened: func() { s.ledger.open(sink, s.reads(ctx, api, sink, &running)) },
		first:  newWatcher(t, r, api, v, &streams),
		others: newCrew(s.ledger, s.hire(api, v, &streams)),
	}
	for {
		why, again := e.run(ctx)
		if !again {
			return
		}
		s.logger.Warn("starting the watches anew", zap.String("reason", why.why))
		streams.Wait()
		v.renewed()
		if why.restored {
			v.restart()
			s.ledger.restart()
		}
	}
}

// reads returns what has a Secret read on its own, which a scope by name never does:
// each watch begins with its Secret.
func (s *Source) reads(ctx context.Context, api *client, sink mirror.Sink, running *sync.WaitGroup) func(snapshot.Key) {
	if s.scope.byName() {
		return func(snapshot.Key) {}
	}
	f := newFetcher(api, s.selector, s.ledger, sink)
	f.run(ctx, running)
	return f.queue.Add
}

// hire returns what makes the watcher of an area.
func (s *Source) hire(api *client, v *validation, streams *sync.WaitGroup) func(*area) *watcher {
	turns := newTurns(mostTurns)
	return func(a *area) *watcher {
		w := newWatcher(a.target, a, api, v, streams)
		w.progress.isPart = func() bool { return a.open.Load() > 0 }
		if s.scope.byName() {
			w.turns, w.attempts.share = turns, s.ledger.share
		}
		return w
	}
}

// epoch runs the watches until they must start anew.
type epoch struct {
	*Source
	first  *watcher // of the Registry
	others *crew
	opened func() // called once, when the Mirror has said what is referenced
	renew  <-chan renewal
}

// run returns why the watches must start anew, or false when ctx is done. No watch
// runs any more then.
func (e *epoch) run(ctx context.Context) (why renewal, again bool) {
	ctx, cancel := context.WithCancel(ctx)
	var watches sync.WaitGroup
	defer watches.Wait()
	defer cancel()
	watches.Go(func() { e.first.run(ctx) })

	// The Mirror says what is referenced once it has the Registry. Before that a
	// list would have to keep everything, or nothing.
	select {
	case <-e.referenced:
	case why = <-e.renew:
		return why, true
	case <-ctx.Done():
		return why, false
	}
	if e.opened != nil {
		e.opened()
		e.opened = nil
	}
	watches.Go(func() { e.others.run(ctx) })
	select {
	case why = <-e.renew:
		return why, true
	case <-ctx.Done():
		return why, false
	}
}
