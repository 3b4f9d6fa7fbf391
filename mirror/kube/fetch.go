package kube

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

const (
	fetchWorkers = 16
	fetchTimeout = 10 * time.Second

	// forbiddenPause is how long after a Secret could not be read for want of a
	// permission it is tried again: no watch tells that the permission came.
	forbiddenPause = 30 * time.Second

	fetchTitle = "reads of single secrets"
)

// fetcher reads the Secrets that became referenced while their watch ran, each
// on its own. A read that fails is tried again until it has an answer or the
// Secret is referenced no more.
type fetcher struct {
	client   rest.Interface
	selector labels.Selector
	ledger   *ledger
	sink     mirror.Sink
	queue    workqueue.TypedDelayingInterface[snapshot.Key]
	backoff  workqueue.TypedRateLimiter[snapshot.Key]

	mu      sync.Mutex // guards failing, and keeps the reports in order
	failing map[snapshot.Key]struct{}
}

func newFetcher(client rest.Interface, selector labels.Selector, l *ledger, sink mirror.Sink) *fetcher {
	return &fetcher{
		client:   client,
		selector: selector,
		ledger:   l,
		sink:     sink,
		queue:    workqueue.NewTypedDelayingQueue[snapshot.Key](),
		backoff:  workqueue.NewTypedItemExponentialFailureRateLimiter[snapshot.Key](firstPause, lastPause),
		failing:  make(map[snapshot.Key]struct{}),
	}
}

// run starts the workers. They end when ctx is done.
func (f *fetcher) run(ctx context.Context, running *sync.WaitGroup) {
	context.AfterFunc(ctx, f.queue.ShutDown)
	for range fetchWorkers {
		running.Go(func() { f.work(ctx) })
	}
}

func (f *fetcher) work(ctx context.Context) {
	for {
		key, ended := f.queue.Get()
		if ended {
			return
		}
		f.fetch(ctx, key)
		f.queue.Done(key)
	}
}

func (f *fetcher) fetch(ctx context.Context, key snapshot.Key) {
	mark, ok := f.ledger.wanted(key)
	if !ok {
		f.settled(key)
		return
	}
	secret, err := f.get(ctx, key)
	switch {
	case ctx.Err() != nil:
	case err == nil:
		f.settled(key)
		f.ledger.answer(key, mark, f.judge(secret), secret.ResourceVersion)
	case isSecretNotFound(err):
		f.settled(key)
		f.ledger.answer(key, mark, snapshot.Absent(), "")
	case apierrors.IsForbidden(err):
		f.settled(key)
		f.ledger.answer(key, mark, snapshot.Forbidden(deniedGet(key)), "")
		f.queue.AddAfter(key, wait.Jitter(forbiddenPause, pauseJitter))
	default:
		f.failed(key, err)
	}
}

func (f *fetcher) get(ctx context.Context, key snapshot.Key) (*corev1.Secret, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	var secret corev1.Secret
	err := f.client.Get().
		Namespace(key.Namespace).
		Resource("secrets").
		Name(key.Name).
		MaxRetries(0).
		Do(ctx).
		Into(&secret)
	return &secret, err
}

// judge applies the selectors of the watches, which alone decide what is seen.
func (f *fetcher) judge(secret *corev1.Secret) snapshot.SecretState {
	if !isExcluded(secret.Type) && !f.selector.Matches(labels.Set(secret.Labels)) {
		return hidden("its labels do not match label_selector " + f.selector.String() + "; add the labels")
	}
	return judge(secret)
}

// judge tells a Secret that is seen, but not one of a type that is not to be: a
// watch by name shows every type.
func judge(secret *corev1.Secret) snapshot.SecretState {
	if isExcluded(secret.Type) {
		return hidden("it is of type " + string(secret.Type) + ", which is never watched; use a Secret of another type")
	}
	return snapshot.Present(convert(secret))
}

func hidden(why string) snapshot.SecretState {
	return snapshot.SecretState{Status: snapshot.SecretAbsent, Detail: "exists, but " + why}
}

func deniedGet(key snapshot.Key) string {
	return fmt.Sprintf("may not get it; bind a Role in namespace %s that allows get, list and watch on secrets", key.Namespace)
}

// failed has a read tried again, later each time.
func (f *fetcher) failed(key snapshot.Key, err error) {
	f.mu.Lock()
	f.failing[key] = struct{}{}
	f.sink.Failed(fetchTitle, classify(err, ""))
	f.mu.Unlock()
	pause := wait.Jitter(f.backoff.When(key), pauseJitter)
	f.queue.AddAfter(key, max(pause, retryAfter(err)))
}

// settled ends the failure of a read. The whole has recovered with the last one.
func (f *fetcher) settled(key snapshot.Key) {
	f.backoff.Forget(key)
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.failing[key]; !ok {
		return
	}
	delete(f.failing, key)
	if len(f.failing) == 0 {
		f.sink.Recovered(fetchTitle)
	}
}
