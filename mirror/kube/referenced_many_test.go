package kube

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"k8s.io/client-go/rest"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

// crowd counts the watches that have been asked for and not been answered.
type crowd struct {
	mu        sync.Mutex // guards the rest
	now, most int
}

func (c *crowd) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now += n
	c.most = max(c.most, c.now)
}

func (c *crowd) on(config *rest.Config) *rest.Config {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(request *http.Request) (*http.Response, error) {
			if isBeginning(request) && !strings.Contains(request.URL.RawQuery, registryName) {
				c.add(1)
				defer c.add(-1)
			}
			return next.RoundTrip(request)
		})
	})
	return config
}

func Test250NamedWatchesAreWarnedOfAndCloseAtOnce(t *testing.T) {
	require.Empty(t, goroutines(), "left by another test")
	const many = 250
	b := newBrisk(t)
	b.awaitWatches(t, 0) // of others
	core, logs := observer.New(zapcore.WarnLevel)
	asked := &crowd{}
	b.start(t, asked.on(b.cluster.Admin()), referenced())
	b.source.ledger.mu.Lock()
	b.source.ledger.quota.logger = zap.New(core)
	b.source.ledger.mu.Unlock()
	b.reference(t, "clients")
	b.awaitValue(t, b.key("clients"), "one")
	one := len(goroutines())

	begin := time.Now()
	b.reference(t, append(numbered(many), "clients")...)
	b.await(t, "all are known", func() bool { return len(b.states) == many+1 })
	t.Logf("%d watches began in %v; each takes %.1f goroutines", many, time.Since(begin).Round(time.Millisecond),
		float64(len(goroutines())-one)/many)
	assert.LessOrEqual(t, asked.most, mostTurns)
	assert.Equal(t, 1+many+1, b.watches(t))
	require.Equal(t, 1, logs.Len())
	assert.Equal(t, "many secrets have a watch of their own; scope namespaces or scope cluster takes less of the API server", logs.All()[0].Message)

	begin = time.Now()
	b.reference(t, "clients")
	assert.EventuallyWithT(t, func(c *assert.CollectT) { assert.LessOrEqual(c, len(goroutines()), one) }, patience, 5*time.Millisecond)
	b.awaitWatches(t, 2)
	assert.Less(t, time.Since(begin), 5*time.Second, "closing is prompt")
	b.put(t, "clients", "two")
	b.awaitValue(t, b.key("clients"), "two")
	b.reference(t, numbered(many)...)
	b.stop()
	assert.Equal(t, 2, logs.Len(), "once more")
	assert.Empty(t, b.failures)
}

// apps is a Registry with Apps whose Secrets are in the shop's namespace.
func (b *bench) apps(t *testing.T, names ...string) {
	t.Helper()
	entries := make([]string, len(names))
	for i, name := range names {
		entries[i] = fmt.Sprintf(`{"name":%q,"hostnames":["%s.example.com"],"secretRef":{"namespace":%q,"name":%q}}`, name, name, b.shop, name)
	}
	document := `{"version":1,"apps":[` + strings.Join(entries, ",") + `]}`
	b.cluster.PutSecret(t, b.team, registryName, map[string]string{"registry.json": document})
}

func TestSecretsBeyondTheMostCloseTheirAppsAloneUntilOthersGo(t *testing.T) {
	t.Parallel() // it leaves the cluster alone
	b := newBench(t)
	key := snapshot.Key{Namespace: b.team, Name: registryName}
	_, config := b.least(t, "a", "b", "c", "d", "e")
	source, err := New(Options{Registry: key, Config: config, Scope: referenced()})
	require.NoError(t, err)
	source.ledger.quota.most = 2
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		b.put(t, name, name)
	}
	b.apps(t, "d", "e")
	s := serveFrom(t, key, source)
	s.await(t, "d.example.com", snapshot.ReasonAllowed)
	s.await(t, "e.example.com", snapshot.ReasonAllowed)

	b.apps(t, "a", "b", "c", "d", "e")
	s.await(t, "a.example.com", snapshot.ReasonSecretForbidden)
	apps, _ := snapshot.ViewAt[*snapshot.Apps](s.mirror.Current(), s.slot)
	for _, host := range []string{"d", "e"} {
		_, reason := apps.Lookup(host + ".example.com")
		assert.Equal(t, snapshot.ReasonAllowed, reason, "the last good stays")
	}
	app, _ := apps.Lookup("a.example.com")
	assert.Equal(t, "secret "+b.shop+"/a: it is beyond the 2 that scope referenced watches; use scope namespaces or scope cluster", app.Detail)
	conditions := s.mirror.Status().Conditions
	require.Len(t, conditions, 1)
	assert.Equal(t, mirror.TooManyWatches, conditions[0].Type)
	assert.Equal(t, "5 secrets are referenced, and scope referenced watches 2 at most; use scope namespaces or scope cluster", conditions[0].Message)
	b.put(t, "e", "changed") // and stays watched
	b.delete(t, "d")
	s.await(t, "d.example.com", snapshot.ReasonSecretAbsent)

	b.apps(t, "b", "c", "e")
	s.await(t, "b.example.com", snapshot.ReasonAllowed)
	assert.Len(t, s.mirror.Status().Conditions, 1)
	b.apps(t, "c", "e")
	s.await(t, "c.example.com", snapshot.ReasonAllowed)
	assert.Empty(t, s.mirror.Status().Conditions)
}
