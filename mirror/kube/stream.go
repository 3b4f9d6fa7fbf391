package kube

import (
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// holdTime is how long a stream without events must hold to count as contact:
// client-go turns some refusals into streams that end at once.
const holdTime = time.Second

var errEndedAtOnce = errors.New("the connection ended before the watch had begun")

// stream passes the events of one watch request on and judges the attempt by
// them: the Reflector drops what a stream ends with.
type stream struct {
	inner    watch.Interface
	initial  bool // it begins with all that is there
	attempts *attempts
	begun    func() // called when all that was there has come, and at the end
	events   chan watch.Event

	stop    sync.Once
	stopped chan struct{}

	proven bool // the attempt has succeeded; run's alone
}

func newStream(inner watch.Interface, initial bool, a *attempts) *stream {
	return &stream{
		inner:    inner,
		initial:  initial,
		attempts: a,
		begun:    func() {},
		events:   make(chan watch.Event),
		stopped:  make(chan struct{}),
	}
}

// ResultChan implements watch.Interface.
func (s *stream) ResultChan() <-chan watch.Event { return s.events }

// Stop implements watch.Interface.
func (s *stream) Stop() { s.stop.Do(func() { close(s.stopped) }) }

// run returns when the stream has ended, was stopped or ctx is done.
func (s *stream) run(ctx context.Context) {
	defer s.begun()
	defer close(s.events)
	defer s.inner.Stop()
	quiet := time.NewTimer(s.patience())
	defer quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.stopped:
			return
		case <-quiet.C:
			if s.isStuck(ctx) {
				return
			}
		case event, ok := <-s.inner.ResultChan():
			if !ok {
				s.end(ctx)
				return
			}
			s.judge(ctx, event)
			if !s.pass(ctx, event) {
				return
			}
			quiet.Reset(s.patience())
		}
	}
}

// patience is how long quiet says nothing.
func (s *stream) patience() time.Duration {
	if s.initial {
		return silenceTime
	}
	return holdTime
}

// isStuck judges a stream that has been quiet. News may be rare; of what is
// there, one must follow the other.
func (s *stream) isStuck(ctx context.Context) bool {
	if s.initial && !s.proven {
		s.attempts.fail(ctx, "watch", errSilent)
		return true
	}
	s.contact(true)
	return false
}

func (s *stream) pass(ctx context.Context, event watch.Event) bool {
	select {
	case s.events <- event:
		return true
	case <-s.stopped:
	case <-ctx.Done():
	}
	return false
}

func (s *stream) judge(ctx context.Context, event watch.Event) {
	if event.Type == watch.Error {
		s.proven = true // the end adds nothing to it
		s.attempts.fail(ctx, "watch", apierrors.FromObject(event.Object))
		return
	}
	s.contact(!s.initial || isInitialEnd(event))
}

func (s *stream) contact(enough bool) {
	if enough && !s.proven {
		s.proven = true
		s.begun()
		s.attempts.succeed()
	}
}

func (s *stream) end(ctx context.Context) {
	if !s.proven {
		s.attempts.fail(ctx, "watch", errEndedAtOnce)
	}
}

// isInitialEnd reports whether all that was there has been sent.
func isInitialEnd(event watch.Event) bool {
	if event.Type != watch.Bookmark {
		return false
	}
	object, err := meta.Accessor(event.Object)
	return err == nil && object.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
}
