package kube

import (
	"context"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/authz-bridge/authz-bridge/mirror"
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
	var running sync.WaitGroup
	defer running.Wait()
	start := func(t target, h handler) {
		running.Go(func() { newWatcher(t, h, api, &running).run(ctx) })
	}
	t := registryTarget(s.registry)
	start(t, &registry{key: s.registry, title: t.title, sink: sink})

	// The Mirror says what is referenced once it has the Registry. Before that a
	// list would have to keep everything, or nothing.
	select {
	case <-s.referenced:
	case <-ctx.Done():
		return
	}
	f := newFetcher(api, s.selector, s.ledger, sink)
	f.run(ctx, &running)
	s.ledger.open(sink, f.queue.Add)
	for _, a := range s.ledger.areas {
		start(a.target, a)
	}
}
