package kube

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/authz-bridge/authz-bridge/mirror"
)

// attempts paces the attempts of one watch and reports how they end. client-go's
// own pacing sleeps without a context, forgets an outage only every two minutes,
// and does not know Retry-After.
type attempts struct {
	denied    func(verb string) string
	failed    func(mirror.Failure)
	recovered func()
	// share is the least pause after an error, where many watches share what they ask
	// of the API server; nil for none.
	share func(error) time.Duration

	mu        sync.Mutex // guards the fields below, and keeps the reports in order
	backoff   wait.Backoff
	notBefore time.Time
	failing   bool
}

func newAttempts(h handler, t target) *attempts {
	return &attempts{
		denied:    t.denied,
		failed:    h.failed,
		recovered: h.recovered,
		backoff:   newBackoff(),
	}
}

// await returns when the next attempt may be made, or the error of ctx.
func (a *attempts) await(ctx context.Context) error {
	a.mu.Lock()
	pause := time.Until(a.notBefore)
	a.mu.Unlock()
	return sleep(ctx, pause)
}

// fail takes the error of an attempt. One that the end of ctx caused says
// nothing about the server.
func (a *attempts) fail(ctx context.Context, verb string, err error) {
	if ctx.Err() != nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.notBefore = time.Now().Add(max(a.backoff.Step(), retryAfter(err), a.leastPause(err)))
	if isOutdated(err) {
		return
	}
	a.failing = true
	a.failed(classify(err, a.denied(verb)))
}

func (a *attempts) leastPause(err error) time.Duration {
	if a.share == nil {
		return 0
	}
	return wait.Jitter(a.share(err), pauseJitter)
}

// succeed ends the pauses, and the failure if there was one.
func (a *attempts) succeed() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.backoff, a.notBefore = newBackoff(), time.Time{}
	if a.failing {
		a.failing = false
		a.recovered()
	}
}
