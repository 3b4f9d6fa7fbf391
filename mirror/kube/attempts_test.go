package kube

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/authz-bridge/authz-bridge/mirror"
)

var errRefused = errors.New("connection refused")

func newTestAttempts() (*attempts, *recorder) {
	r := newRecorder()
	t := registryTarget(shopKey("registry"))
	return newAttempts(&registry{title: "watch", sink: r}, t), r
}

// pause returns how long the next attempt has to wait.
func pause(t *testing.T, a *attempts) time.Duration {
	t.Helper()
	begin := time.Now()
	require.NoError(t, a.await(t.Context()))
	return time.Since(begin)
}

func TestFirstAttemptIsMadeAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := newTestAttempts()
		assert.Zero(t, pause(t, a))
	})
}

func TestPausesGrowTo5sAndNeverBeyond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, r := newTestAttempts()
		for i := range 200 {
			a.fail(t.Context(), "watch", errRefused)
			got := pause(t, a)
			assert.GreaterOrEqual(t, got, min(firstPause<<min(i, 10), lastPause), "attempt %d", i)
			assert.LessOrEqual(t, got, 2*min(firstPause<<min(i, 10), lastPause), "attempt %d", i)
			assert.LessOrEqual(t, got, 5*time.Second)
		}
		assert.Len(t, r.failures["watch"], 200, "every attempt is reported")
	})
}

func TestWatchThatDropsAfterALongTimeIsTriedAgainSoon(t *testing.T) {
	for name, up := range map[string]time.Duration{"a second": time.Second, "an hour": time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, r := newTestAttempts()
				for range 20 {
					a.fail(t.Context(), "watch", errRefused)
					pause(t, a)
				}
				a.succeed()
				time.Sleep(up)
				assert.Equal(t, 1, r.recoveries["watch"])
				assert.Zero(t, pause(t, a))
				a.fail(t.Context(), "watch", errRefused)
				assert.LessOrEqual(t, pause(t, a), 2*firstPause)
			})
		})
	}
}

func TestRetryAfterIsObeyed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, r := newTestAttempts()
		a.fail(t.Context(), "watch", apierrors.NewTooManyRequests("busy", 30))
		assert.Equal(t, 30*time.Second, pause(t, a))
		assert.Equal(t, mirror.FailureContact, r.failures["watch"][0].Kind)
	})
}

func TestPauseEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := newTestAttempts()
		a.fail(t.Context(), "watch", apierrors.NewTooManyRequests("busy", 3600))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		assert.ErrorIs(t, a.await(ctx), context.DeadlineExceeded)
	})
}

func TestEndOfTheContextIsNoFailure(t *testing.T) {
	a, r := newTestAttempts()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a.fail(ctx, "watch", context.Canceled)
	assert.Empty(t, r.failures)
}

func TestOutdatedVersionIsPacedButNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, r := newTestAttempts()
		a.fail(t.Context(), "watch", apierrors.NewResourceExpired("too old"))
		assert.Positive(t, pause(t, a))
		a.succeed()
		assert.Empty(t, r.failures)
		assert.Empty(t, r.recoveries)
	})
}

func TestRecoveryIsToldOnceAndOnlyAfterAFailure(t *testing.T) {
	a, r := newTestAttempts()
	a.succeed()
	assert.Zero(t, r.recoveries["watch"])
	a.fail(t.Context(), "watch", errRefused)
	a.succeed()
	a.succeed()
	assert.Equal(t, 1, r.recoveries["watch"])
}

func TestWantOfAPermissionIsTriedAgainWhenItsTimeHasCome(t *testing.T) {
	forbidden := apierrors.NewForbidden(corev1.Resource("secrets"), "clients", nil)
	synctest.Test(t, func(t *testing.T) {
		a, _ := newTestAttempts()
		a.share = func(err error) time.Duration {
			if apierrors.IsForbidden(err) {
				return 20 * time.Second
			}
			return 0
		}
		a.fail(t.Context(), "watch", forbidden)
		got := pause(t, a)
		assert.GreaterOrEqual(t, got, 20*time.Second)
		assert.LessOrEqual(t, got, 40*time.Second)
		a.fail(t.Context(), "watch", errRefused)
		assert.LessOrEqual(t, pause(t, a), 2*lastPause, "another failure is another matter")
	})
	synctest.Test(t, func(t *testing.T) {
		a, _ := newTestAttempts()
		a.share = func(error) time.Duration { return 0 }
		a.fail(t.Context(), "watch", forbidden)
		assert.GreaterOrEqual(t, pause(t, a), firstPause)
	})
}
