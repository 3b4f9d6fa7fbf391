package kube

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/authz-bridge/authz-bridge/mirror"
)

// streaming is a stream over a fake connection, whose attempt comes after one
// that failed.
type streaming struct {
	*recorder
	server *watch.FakeWatcher
	stream *stream
	got    []watch.Event
	ended  chan struct{}
}

func newStreaming(ctx context.Context, initial bool) *streaming {
	a, r := newTestAttempts()
	a.fail(ctx, "watch", errRefused)
	s := &streaming{recorder: r, server: watch.NewFake(), ended: make(chan struct{})}
	s.stream = newStream(s.server, initial, a)
	go s.stream.run(ctx)
	go func() {
		for event := range s.stream.ResultChan() {
			s.got = append(s.got, event)
		}
		close(s.ended)
	}()
	return s
}

func initialEnd() *corev1.Secret {
	s := secret("", "", "10")
	s.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	return s
}

func (s *streaming) recovered() bool {
	return s.look(func() int { return s.recoveries["watch"] }) == 1
}

// failuresSince are those of the attempt itself.
func (s *streaming) failuresSince() []mirror.Failure { return s.failures["watch"][1:] }

func TestStreamOfNewsCountsAsContact(t *testing.T) {
	tests := map[string]func(*streaming){
		"with its first event":    func(s *streaming) { s.server.Modify(secret("a", "uid", "11")) },
		"with its first bookmark": func(s *streaming) { s.server.Action(watch.Bookmark, secret("", "", "11")) },
		"when it has held for 1s": func(*streaming) { time.Sleep(holdTime) },
	}
	for name, happen := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStreaming(t.Context(), false)
				synctest.Wait()
				assert.False(t, s.recovered(), "being accepted is not enough")
				happen(s)
				synctest.Wait()
				assert.True(t, s.recovered())
				s.server.Stop()
				<-s.ended
				assert.Empty(t, s.failuresSince(), "its end is everyday")
			})
		})
	}
}

func TestStreamThatBeginsWithEverythingCountsWhenAllHasCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStreaming(t.Context(), true)
		for range 10 {
			time.Sleep(silenceTime - 1)
			s.server.Add(secret("a", "uid", "5"))
		}
		synctest.Wait()
		assert.False(t, s.recovered())
		s.server.Action(watch.Bookmark, initialEnd())
		synctest.Wait()
		assert.True(t, s.recovered())
		s.server.Stop()
		<-s.ended
		assert.Len(t, s.got, 11)
		assert.Empty(t, s.failuresSince())
	})
}

func TestStreamThatEndsTooEarlyIsAFailure(t *testing.T) {
	tests := map[string]struct {
		initial bool
		happen  func(*streaming)
	}{
		"at once":                    {happen: func(*streaming) {}},
		"before everything had come": {initial: true, happen: func(s *streaming) { s.server.Add(secret("a", "uid", "5")) }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStreaming(t.Context(), test.initial)
				test.happen(s)
				s.server.Stop()
				<-s.ended
				assert.Equal(t, []mirror.Failure{{Kind: mirror.FailureContact, Detail: errEndedAtOnce.Error()}}, s.failuresSince())
			})
		})
	}
}

func TestStreamThatBeginsWithEverythingAndFallsSilentIsAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStreaming(t.Context(), true)
		s.server.Add(secret("a", "uid", "5"))
		<-s.ended
		assert.Equal(t, []mirror.Failure{{Kind: mirror.FailureContact, Detail: errSilent.Error()}}, s.failuresSince())
		assert.True(t, s.server.IsStopped())
	})
}

func TestStreamMayBeQuietOnceAllHasCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStreaming(t.Context(), true)
		s.server.Action(watch.Bookmark, initialEnd())
		time.Sleep(time.Hour)
		s.server.Modify(secret("a", "uid", "11"))
		s.server.Stop()
		<-s.ended
		assert.Len(t, s.got, 2)
		assert.Empty(t, s.failuresSince())
	})
}

func TestErrorInAStreamIsAFailureAndPassedOn(t *testing.T) {
	status := apierrors.NewInternalError(errRefused).Status()
	synctest.Test(t, func(t *testing.T) {
		s := newStreaming(t.Context(), false)
		s.server.Modify(secret("a", "uid", "11"))
		s.server.Error(&status)
		s.server.Stop()
		<-s.ended
		assert.Len(t, s.failuresSince(), 1)
		assert.Equal(t, watch.Error, s.got[1].Type)
	})
}

func TestExpiredVersionInAStreamIsNoFailure(t *testing.T) {
	status := apierrors.NewResourceExpired("too old").Status()
	synctest.Test(t, func(t *testing.T) {
		s := newStreaming(t.Context(), false)
		s.server.Error(&status)
		s.server.Stop()
		<-s.ended
		assert.Empty(t, s.failuresSince())
		assert.False(t, s.recovered())
	})
}

func TestStoppedStreamReportsNothingAndClosesTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStreaming(t.Context(), true)
		synctest.Wait()
		s.stream.Stop()
		s.stream.Stop()
		<-s.ended
		synctest.Wait()
		assert.True(t, s.server.IsStopped())
		assert.Empty(t, s.failuresSince())
	})
}

func TestStreamNobodyReadsEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		a, _ := newTestAttempts()
		server := watch.NewFake()
		s := newStream(server, false, a)
		ended := make(chan struct{})
		go func() { s.run(ctx); close(ended) }()
		server.Add(secret("a", "uid", "5"))
		synctest.Wait()
		cancel()
		<-ended
	})
}
