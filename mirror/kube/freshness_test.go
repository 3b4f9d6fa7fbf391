package kube

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// often has the API server send its bookmarks often: 2 s before a watch is to end.
func often(seconds string) *tap {
	return &tap{change: func(query url.Values) { query.Set("timeoutSeconds", seconds) }}
}

func TestFreshnessAdvancesInGoodHealthWithoutAnyChangeOfASecret(t *testing.T) {
	b := newBrisk(t)
	b.startWith(t, often("3").on(b.cluster.Admin()), "clients")
	calls := b.look(func() int { return b.registryCalls + b.secretCalls })
	for range 2 {
		b.move(t)
		b.awaitAsOf(t, time.Now())
	}
	b.stop()
	assert.Equal(t, calls, b.registryCalls+b.secretCalls, "nothing was told but the age")
	assert.Empty(t, b.failures)
	assert.Empty(t, b.resyncs)
}

func TestFreshnessComesWithChangesAtOnce(t *testing.T) {
	b := newBrisk(t)
	b.startWith(t, b.cluster.Admin(), "clients")
	begin := time.Now()
	for range 3 {
		b.awaitHealth(t)
	}
	assert.Less(t, time.Since(begin), 10*time.Second, "no bookmark was waited for")
	assert.Contains(t, b.titles(), b.lastFresh().Oldest)
}

// An API server whose etcd is dead would answer any other list from its memory.
func TestRow4WatchThatStartsOverAsksForTheNewest(t *testing.T) {
	b := newBrisk(t)
	proxy := b.proxy(t)
	seen := &tap{}
	b.startWith(t, seen.on(via(b.cluster.Admin(), proxy)), "clients")
	proxy.Cut()
	b.awaitOutage(t)
	proxy.Pass()
	b.awaitRecovery(t)
	b.awaitRenewal(t)
	b.stop()

	beginnings := seen.requests(isBeginning)
	require.GreaterOrEqual(t, len(beginnings), 4)
	for _, request := range beginnings {
		assert.Empty(t, request.URL.Query().Get("resourceVersion"), request.URL)
	}
}

// After a connection that was refused client-go would go on from the last version.
func TestRow6WatchThatWasRefusedStartsOver(t *testing.T) {
	b := newBrisk(t)
	seen := &tap{politely: true}
	b.startWith(t, seen.on(b.cluster.Admin()), "clients")
	b.awaitHealth(t) // client-go goes on where it was if a watch has brought something
	require.NoError(t, b.cluster.KillAPIServer())
	b.awaitOutage(t)
	require.NoError(t, b.cluster.StartAPIServer())
	b.awaitRenewal(t)
	b.stop()

	resumed := func(r *http.Request) bool { return isWatch(r) && r.URL.Query().Get("resourceVersion") != "" }
	assert.LessOrEqual(t, len(seen.requests(resumed)), len(b.titles()), "each has tried to go on once")
}
