package kube

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/mirror"
)

// goneBack is the answer to a probe of data that is older than all that was seen.
func goneBack(request *http.Request) *http.Response {
	if !isProbe(request) {
		return nil
	}
	return page(request, http.StatusOK, "application/json", `{"metadata":{"resourceVersion":"1"}}`)
}

func TestRenewalsLeaveNoGoroutine(t *testing.T) {
	const renewals = 20
	b := newBrisk(t)
	faults := &tap{}
	b.startWith(t, faults.on(b.cluster.Admin()), "clients")
	before := len(goroutines())
	faults.setAnswer(goneBack)
	b.await(t, "enough renewals", func() bool { return b.resyncs[b.shopTitle()] >= renewals })
	faults.setAnswer(nil)
	b.awaitHealth(t)
	assert.EventuallyWithT(t, func(c *assert.CollectT) { assert.LessOrEqual(c, len(goroutines()), before) },
		2*lastPause, 10*time.Millisecond)
	b.stop()
	assert.Empty(t, b.failures)
	assert.EventuallyWithT(t, func(c *assert.CollectT) { assert.Empty(c, goroutines()) }, 2*lastPause, 10*time.Millisecond)
}

func TestConditionOfAWatchEndsAfterARenewal(t *testing.T) {
	b := newBrisk(t)
	refused := func(request *http.Request) *http.Response {
		if !isWatch(request) || !strings.Contains(request.URL.Path, "/"+b.shop+"/") {
			return nil
		}
		return page(request, http.StatusInternalServerError, "text/plain", "")
	}
	faults := &tap{answer: refused}
	b.start(t, faults.on(b.cluster.Admin()), b.shopScope())
	b.reference(t, "clients")
	f := b.awaitFailure(t, b.shopTitle(), 1)
	assert.Equal(t, mirror.Failure{Kind: mirror.FailureContact, Detail: "the server answered 500 InternalError"}, f)

	renewed := b.look(func() int { return b.resyncs[b.registryTitle()] })
	require.Zero(t, renewed)
	faults.setAnswer(func(request *http.Request) *http.Response {
		if response := goneBack(request); response != nil {
			return response
		}
		return refused(request)
	})
	b.await(t, "the watches are renewed", func() bool { return b.resyncs[b.registryTitle()] >= 1 })
	assert.Zero(t, b.look(func() int { return b.recoveries[b.shopTitle()] }), "a renewal alone is no recovery")
	faults.setAnswer(nil)
	b.awaitValue(t, b.key("clients"), "one")
	b.await(t, "it recovers", func() bool { return b.recoveries[b.shopTitle()] == 1 })
	b.awaitHealth(t)
}

func TestStopWhileTheWatchesStartAnew(t *testing.T) {
	b := newBrisk(t)
	faults := &tap{}
	b.startWith(t, faults.on(b.cluster.Admin()), "clients")
	faults.setAnswer(goneBack)
	b.await(t, "a renewal", func() bool { return b.resyncs[b.registryTitle()] >= 1 })
	begin := time.Now()
	b.stop()
	assert.Less(t, time.Since(begin), 2*time.Second)
	calls := b.look(func() int { return b.registryCalls + b.secretCalls + len(b.fresh) })
	assert.EventuallyWithT(t, func(c *assert.CollectT) { assert.Empty(c, goroutines()) }, 2*lastPause, 10*time.Millisecond)
	assert.Equal(t, calls, b.registryCalls+b.secretCalls+len(b.fresh))
}
