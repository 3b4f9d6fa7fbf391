package kube

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/authz-bridge/authz-bridge/mirror"
)

const (
	// reflectorPause is all the pause that client-go makes; attempts make the
	// rest.
	reflectorPause = 10 * time.Millisecond

	// silenceTime is how long the server may be silent before a watch has begun.
	silenceTime = 15 * time.Second

	// listTime is how long one page of a list may take.
	listTime = time.Minute
)

var errSilent = fmt.Errorf("no answer in %v; the API server or its etcd hangs", silenceTime)

// errNoWatch answers for the list that the Reflector tries when it could not
// begin a watch: the attempt is reported, and a list would help only a server
// that does not know the other way.
var errNoWatch = errors.New("no list while the watch fails")

// watcher runs one watch for ever: a Reflector, whose requests it makes.
type watcher struct {
	target   target
	handler  handler
	client   rest.Interface
	attempts *attempts
	progress *progress
	turns    turns           // to begin in
	running  *sync.WaitGroup // of the goroutines of all watches

	askedAt atomic.Int64 // when everything was asked for last, in ns since base
	base    time.Time

	// mustList is set while the server refuses a watch that begins with all that
	// is there (before Kubernetes 1.32, or with the feature off).
	mustList atomic.Bool
}

func newWatcher(t target, h handler, client rest.Interface, v *validation, running *sync.WaitGroup) *watcher {
	p, a := v.add(t.title), newAttempts(h, t)
	a.failed = func(f mirror.Failure) {
		p.interrupted()
		h.failed(f)
	}
	return &watcher{
		target:   t,
		handler:  h,
		client:   client,
		attempts: a,
		progress: p,
		base:     time.Now(),
		running:  running,
	}
}

// run returns when ctx is done.
func (w *watcher) run(ctx context.Context) {
	quiet := logr.Discard()
	requests := &cache.ListWatch{ListWithContextFunc: w.list, WatchFuncWithContext: w.watch}
	reflector := cache.NewReflectorWithOptions(requests, &corev1.Secret{}, store{w.handler, w.progress, w.asked}, cache.ReflectorOptions{
		Name:    w.target.title,
		Logger:  &quiet,
		Backoff: &wait.Backoff{Duration: reflectorPause},
	})
	reflector.RunWithContext(ctx)
}

// ask notes that everything is asked for now.
func (w *watcher) ask() {
	w.progress.asked()
	w.askedAt.Store(int64(time.Since(w.base)))
}

func (w *watcher) asked() time.Time { return w.base.Add(time.Duration(w.askedAt.Load())) }

func (w *watcher) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	if err := w.attempts.await(ctx); err != nil {
		return nil, err
	}
	initial := options.SendInitialEvents != nil && *options.SendInitialEvents
	begun := func() {}
	if initial {
		var err error
		if begun, err = w.turns.take(ctx); err != nil {
			return nil, err
		}
		// What is not older than what was seen would do for client-go, and would come
		// from an API server whose etcd is dead.
		options.ResourceVersion = ""
		w.ask()
	}
	request, cancel := context.WithCancel(ctx)
	inner, err := w.begin(request, cancel, options)
	if initial {
		w.mustList.Store(apierrors.IsInvalid(err))
	}
	if err != nil {
		cancel()
		begun()
		if !initial || !apierrors.IsInvalid(err) {
			w.attempts.fail(ctx, "watch", err)
		}
		return nil, startOver(err)
	}
	s := newStream(inner, initial, w.attempts)
	s.begun = begun
	w.running.Go(func() {
		defer cancel()
		s.run(ctx)
	})
	return s, nil
}

// startOver has client-go ask for everything again after a refused connection, where
// it would go on from the last version: the data may have been put back meanwhile
// and have come to that version in another way.
func startOver(err error) error {
	if utilnet.IsConnectionRefused(err) {
		return errors.New(err.Error())
	}
	return err
}

// begin bounds how long the server may be silent: while its etcd hangs it
// neither accepts a watch nor refuses it.
func (w *watcher) begin(ctx context.Context, cancel func(), options metav1.ListOptions) (watch.Interface, error) {
	silence := time.AfterFunc(silenceTime, cancel)
	options.Watch = true
	inner, err := w.target.request(w.client, options).Watch(ctx)
	if silence.Stop() {
		return inner, err
	}
	if err == nil {
		inner.Stop()
	}
	return nil, errSilent
}

// list is not an attempt that can succeed: only the watch after it shows that
// news arrive.
func (w *watcher) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	if !w.mustList.Load() {
		return nil, errNoWatch
	}
	if err := w.attempts.await(ctx); err != nil {
		return nil, err
	}
	end, err := w.turns.take(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	// Any state would do for "0", also one from before a Secret was revoked, and for
	// a version one that is not older.
	options.ResourceVersion, options.ResourceVersionMatch = "", ""
	if options.Continue == "" {
		w.ask()
	}
	page, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	var all corev1.SecretList
	if err := w.target.request(w.client, options).Do(page).Into(&all); err != nil {
		w.attempts.fail(ctx, "list", err)
		return nil, err
	}
	for i := range all.Items {
		all.Items[i] = *slim(&all.Items[i], w.handler.wants(keyOf(&all.Items[i])))
	}
	return &all, nil
}
