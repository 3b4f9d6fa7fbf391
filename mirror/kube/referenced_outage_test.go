package kube

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

// numbered are names.
func numbered(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("clients-%03d", i)
	}
	return names
}

// putAll writes Secrets, each with its name as token.
func (b *bench) putAll(t *testing.T, names []string) {
	t.Helper()
	for _, name := range names {
		b.put(t, name, name)
	}
}

func (b *bench) awaitAll(t *testing.T, names []string) {
	t.Helper()
	for _, name := range names {
		b.awaitValue(t, b.key(name), name)
	}
}

func TestOutageOfAllNamedWatchesAndTheirRecovery(t *testing.T) {
	t.Parallel() // it waits, and leaves the cluster alone
	b := newBrisk(t)
	proxy := b.proxy(t)
	names := numbered(30)
	b.putAll(t, names)
	_, config := b.least(t, append(names, "later")...)
	b.start(t, via(config, proxy), referenced())
	b.reference(t, names...)
	b.awaitAll(t, names)

	proxy.Cut()
	assert.Equal(t, mirror.FailureContact, b.awaitFailure(t, commonTitle, 1).Kind)
	b.awaitFailing(t, len(names))
	for _, name := range names {
		assert.Equal(t, name, b.held(b.key(name)), "the last good stays")
	}
	b.reference(t, append(names[1:], "later")...) // one goes and one comes meanwhile
	b.awaitFailing(t, len(names))                 // the one that comes in place of the one that goes
	b.put(t, names[1], "changed")
	b.delete(t, names[2])
	b.put(t, "later", "here")
	proxy.Pass()

	b.awaitValue(t, b.key(names[1]), "changed")
	b.awaitStatus(t, b.key(names[2]), snapshot.SecretAbsent)
	b.awaitValue(t, b.key("later"), "here")
	b.await(t, "all recover", func() bool { return b.recoveries[commonTitle] == 1 })
	assert.Zero(t, b.source.failing())
	b.stop()
	assert.Equal(t, 1, b.recoveries[commonTitle], "once")
	for _, name := range append(names, "later") {
		assert.Empty(t, b.failures[titleOf(b.key(name))], "it is not %s's own trouble", name)
	}
}

// awaitFailing looks without the recorder's lock, which is taken after the ledger's.
func (b *bench) awaitFailing(t *testing.T, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return b.source.failing() == n }, patience, 10*time.Millisecond)
}

// failing counts the watches of single Secrets that do for the reason of all.
func (s *Source) failing() int {
	s.ledger.mu.Lock()
	defer s.ledger.mu.Unlock()
	return len(s.ledger.common.failing)
}

// restoredByName is what TestClusterRestoredToAnOlderState shows of a watch for each
// Secret, on the same cluster.
type restoredByName struct{ *bench }

// startByName begins before the cluster is put back, with rights that it has then too.
func startByName(t *testing.T, other *bench, config *rest.Config) restoredByName {
	t.Helper()
	b := restoredByName{&bench{recorder: newRecorder(), cluster: other.cluster, team: other.team, shop: other.shop, pace: brisk()}}
	b.start(t, config, referenced())
	b.reference(t, "clients", "young", "revoked")
	b.awaitValue(t, b.key("clients"), "new-49")
	b.awaitValue(t, b.key("young"), "one")
	return b
}

func (b restoredByName) follows(t *testing.T) {
	t.Helper()
	b.awaitValue(t, b.key("clients"), "old")
	b.awaitStatus(t, b.key("young"), snapshot.SecretAbsent)
	b.awaitStatus(t, b.key("revoked"), snapshot.SecretAbsent)
	b.reference(t, "clients", "young", "later")
	b.awaitStatus(t, b.key("later"), snapshot.SecretAbsent)
	b.put(t, "later", "here")
	b.awaitValue(t, b.key("later"), "here")
}

func TestRenewalStartsTheNamedWatchesThatThereAreThen(t *testing.T) {
	b := newBrisk(t)
	b.put(t, "other", "one")
	faults := &tap{}
	b.start(t, faults.on(b.cluster.Admin()), referenced())
	b.reference(t, "clients", "other")
	b.awaitValue(t, b.key("clients"), "one")
	b.awaitValue(t, b.key("other"), "one")
	faults.setAnswer(goneBack)
	for _, title := range []string{b.registryTitle(), titleOf(b.key("clients")), titleOf(b.key("other"))} {
		b.await(t, title+" starts over", func() bool { return b.resyncs[title] >= 2 })
	}
	b.reference(t, "clients", "missing")
	b.awaitStatus(t, b.key("missing"), snapshot.SecretAbsent)
	faults.setAnswer(nil)
	b.awaitHealth(t)
	b.stop()
	assert.Empty(t, b.failures)
}

func TestNamedWatchesLeaveNoGoroutine(t *testing.T) {
	names := numbered(60)
	for what, happens := range map[string]func(*testing.T, *bench){
		"after all was well": func(t *testing.T, b *bench) {
			b.await(t, "all are in sync", func() bool { return len(b.states) == len(names) })
		},
		"while they begin": func(t *testing.T, b *bench) {
			b.await(t, "some are in sync", func() bool { return len(b.states) > 0 })
		},
		"while the connection is cut": func(t *testing.T, b *bench) {
			b.proxied.Cut()
			b.awaitFailure(t, commonTitle, 0)
		},
		"while the connection is frozen and they wait for their turn": func(t *testing.T, b *bench) {
			b.proxied.Freeze()
			b.reference(t, numbered(100)...)
		},
	} {
		t.Run(what, func(t *testing.T) {
			require.Empty(t, goroutines(), "left by another test")
			b := newBench(t)
			b.proxied = b.proxy(t)
			b.start(t, via(b.cluster.Admin(), b.proxied), referenced())
			b.reference(t, names...)
			happens(t, b)
			begin := time.Now()
			b.stop()
			assert.Less(t, time.Since(begin), 2*time.Second, "Run returns at once")
			assert.EventuallyWithT(t, func(c *assert.CollectT) { assert.Empty(c, goroutines()) }, 2*lastPause, 10*time.Millisecond)
			b.proxied.Pass() // a frozen one does not see the end
			assert.Eventually(t, func() bool { return b.proxied.Open() == 0 }, patience, 10*time.Millisecond, "no connection is left")
		})
	}
}
