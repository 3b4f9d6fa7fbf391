package kube

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

func referenced() Scope { return Scope{Kind: ScopeReferenced} }

func titleOf(key snapshot.Key) string { return "secret " + key.String() }

// allowNames is the least that a watch by name takes.
func allowNames(names ...string) rbacv1.PolicyRule {
	rule := allowSecrets("list", "watch")
	rule.ResourceNames = names
	return rule
}

// least returns a user who may read the Registry and the Secrets by their names, and
// nothing else.
func (b *bench) least(t *testing.T, names ...string) (user string, config *rest.Config) {
	t.Helper()
	user, config = b.reader(t)
	b.cluster.Grant(t, user, b.shop, allowNames(names...))
	return user, config
}

// refer does what a Mirror does once it knows the Registry, for any namespace.
func (b *bench) refer(t *testing.T, keys ...snapshot.Key) {
	t.Helper()
	b.await(t, "the registry is known", func() bool { return b.registryCalls > 0 })
	refs := make(map[snapshot.Key]snapshot.Reference)
	for _, key := range keys {
		refs[key] = snapshot.Reference{All: true}
	}
	b.source.Reference(refs)
}

// watches counts those of single Secrets that the API server has open.
func (b *bench) watches(t *testing.T) int {
	t.Helper()
	text, err := b.cluster.AdminClient().CoreV1().RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	require.NoError(t, err)
	found := 0
	for line := range strings.Lines(string(text)) {
		series, value, _ := strings.Cut(strings.TrimSpace(line), "} ")
		if strings.HasPrefix(series, "apiserver_longrunning_requests{") &&
			strings.Contains(series, `resource="secrets",scope="resource"`) && strings.Contains(series, `verb="WATCH"`) {
			n, err := strconv.Atoi(value)
			require.NoError(t, err)
			found += n
		}
	}
	return found
}

// awaitWatches returns when the API server has so many open.
func (b *bench) awaitWatches(t *testing.T, n int) {
	t.Helper()
	require.EventuallyWithT(t, func(c *assert.CollectT) { assert.Equal(c, n, b.watches(t)) }, patience, 10*time.Millisecond)
}

// isByName knows a request for one Secret of a namespace by its name.
func isByName(request *http.Request) bool {
	return strings.HasPrefix(request.URL.Path, "/api/v1/namespaces/") && strings.HasSuffix(request.URL.Path, "/secrets") &&
		strings.HasPrefix(request.URL.Query().Get("fieldSelector"), "metadata.name=")
}

// isIdentity knows the question which cluster it is, which nobody need answer.
func isIdentity(request *http.Request) bool {
	parts := strings.Split(request.URL.Path, "/")
	return len(parts) == 5 && parts[3] == "namespaces"
}

// inThree makes a namespace more, and returns one Secret in each: beside the
// Registry, among others and alone.
func (b *bench) inThree(t *testing.T) []snapshot.Key {
	t.Helper()
	return []snapshot.Key{
		{Namespace: b.team, Name: "clients"},
		{Namespace: b.shop, Name: "clients"},
		{Namespace: b.cluster.Namespace(t, "blog"), Name: "clients"},
	}
}

func (b *bench) putAt(t *testing.T, key snapshot.Key, token string) {
	t.Helper()
	b.cluster.PutSecret(t, key.Namespace, key.Name, map[string]string{"token": token})
}

func TestRolesByNameInThreeNamespacesAreEnough(t *testing.T) {
	b := newBrisk(t)
	b.awaitWatches(t, 0) // of others
	user, config := b.reader(t)
	keys := b.inThree(t)
	for _, key := range keys {
		b.cluster.Grant(t, user, key.Namespace, allowNames(key.Name))
		b.putAt(t, key, "one")
	}
	b.put(t, "neighbour", "one")
	seen := &tap{}
	b.start(t, seen.on(config), referenced())
	b.refer(t, keys...)
	for _, key := range keys {
		b.awaitValue(t, key, "one")
		b.putAt(t, key, "two")
		b.awaitValue(t, key, "two")
		b.cluster.DeleteSecret(t, key.Namespace, key.Name)
		b.awaitStatus(t, key, snapshot.SecretAbsent)
		b.putAt(t, key, "three")
		b.awaitValue(t, key, "three")
	}
	b.awaitWatches(t, 1+len(keys))

	b.refer(t, keys[1:]...)
	b.awaitWatches(t, len(keys))
	b.putAt(t, keys[0], "four")
	b.putAt(t, keys[1], "four")
	b.awaitValue(t, keys[1], "four")
	assert.Equal(t, "three", b.held(keys[0]), "what is not referenced is not told")
	b.refer(t, keys...)
	b.awaitValue(t, keys[0], "four")
	b.awaitWatches(t, 1+len(keys))
	b.awaitContact(t, time.Now()) // a probe
	b.stop()
	b.awaitWatches(t, 0)

	assert.Empty(t, b.failures)
	assert.Empty(t, b.resyncs)
	for _, request := range seen.requests(func(r *http.Request) bool { return !isIdentity(r) }) {
		assert.True(t, isByName(request), "%s is not one Secret by its name", request.URL)
	}
}

func TestRow9NamedSecretThatMayNotBeReadIsItsOwnTroubleUntilItMay(t *testing.T) {
	b := newBrisk(t)
	user, config := b.least(t, "clients")
	b.put(t, "denied", "one")
	b.start(t, config, referenced())
	b.reference(t, "clients", "denied")
	b.awaitValue(t, b.key("clients"), "one")
	b.awaitStatus(t, b.key("denied"), snapshot.SecretForbidden)
	assert.Equal(t, "may not watch secret "+b.shop+"/denied; bind a Role in namespace "+b.shop+
		" that allows list and watch on secrets with resourceNames denied", b.state(b.key("denied")).Detail)
	begin := time.Now()
	b.awaitAsOf(t, begin) // the age does not wait for it
	b.put(t, "clients", "two")
	b.awaitValue(t, b.key("clients"), "two")

	b.cluster.Grant(t, user, b.shop, allowNames("denied"))
	granted := time.Now()
	b.awaitValue(t, b.key("denied"), "one")
	assert.Less(t, time.Since(granted), 2*lastPause+2*time.Second)
	b.put(t, "denied", "two")
	b.awaitValue(t, b.key("denied"), "two")
	b.stop()
	assert.Empty(t, b.failures, "the Source was well all the time")
	assert.Empty(t, b.recoveries)
}

func TestNamedSecretWhoseRightsAreTakenAwayKeepsTheLastGoodAndSaysSo(t *testing.T) {
	t.Parallel() // it waits, and leaves the cluster alone
	b := newBrisk(t)
	user, config := b.reader(t)
	revoke := b.cluster.Grant(t, user, b.shop, allowNames("clients"))
	b.start(t, often("3").on(config), referenced())
	b.reference(t, "clients")
	b.awaitValue(t, b.key("clients"), "one")
	revoke()
	f := b.awaitFailure(t, titleOf(b.key("clients")), 0) // when its watch ends
	assert.Equal(t, mirror.FailureForbidden, f.Kind)
	assert.Equal(t, "one", b.held(b.key("clients")))
	b.reference(t)
	b.await(t, "the condition ends with the reference", func() bool { return b.recoveries[titleOf(b.key("clients"))] == 1 })
}

func TestExcludedAndHiddenSecretsByName(t *testing.T) {
	b := newBench(t)
	var names []string
	for _, kind := range excludedTypes() {
		b.create(t, typedSecret(kind))
		names = append(names, nameOf(kind))
	}
	b.create(t, labelledSecret("labelled", map[string]string{"team": "web"}))
	b.create(t, labelledSecret("unlabelled", nil))
	scope := referenced()
	scope.LabelSelector = "team=web"
	_, config := b.least(t, append(slices.Clone(names), "labelled", "unlabelled")...)
	b.start(t, config, scope)
	b.reference(t, append(names, "labelled", "unlabelled")...)

	b.awaitValue(t, b.key("labelled"), "value")
	b.awaitStatus(t, b.key("unlabelled"), snapshot.SecretAbsent)
	assert.Contains(t, b.state(b.key("unlabelled")).Detail, "its labels do not match label_selector team=web")
	for _, kind := range excludedTypes() {
		b.awaitStatus(t, b.key(nameOf(kind)), snapshot.SecretAbsent)
		assert.Equal(t, "exists, but it is of type "+string(kind)+", which is never watched; use a Secret of another type",
			b.state(b.key(nameOf(kind))).Detail)
	}
	b.update(t, labelledSecret("unlabelled", map[string]string{"team": "web"}))
	b.awaitValue(t, b.key("unlabelled"), "value")
}
