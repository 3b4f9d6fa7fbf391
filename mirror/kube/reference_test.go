package kube

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

// startSynced starts a Source whose watch has begun: what is referenced from now
// on is read on its own.
func (b *bench) startSynced(t *testing.T, config *rest.Config, scope Scope) {
	t.Helper()
	b.put(t, "first", "one")
	b.start(t, config, scope)
	b.reference(t, "first")
	b.awaitValue(t, b.key("first"), "one")
}

func TestBecomingReferencedLater(t *testing.T) {
	b := newBench(t)
	b.create(t, labelledSecret("clients", map[string]string{"team": "web"}))
	b.create(t, labelledSecret("unlabelled", nil))
	b.create(t, typedSecret(corev1.SecretTypeServiceAccountToken))
	excluded := nameOf(corev1.SecretTypeServiceAccountToken)

	for name, scope := range scopes(b) {
		t.Run(name, func(t *testing.T) {
			b.recorder = newRecorder()
			scope.LabelSelector = "team in (web)"
			b.start(t, b.cluster.Admin(), scope)
			b.reference(t, "none")
			b.awaitStatus(t, b.key("none"), snapshot.SecretAbsent)
			b.reference(t, "none", "clients", "missing", "unlabelled", excluded)

			b.awaitValue(t, b.key("clients"), "value")
			b.awaitStatus(t, b.key("missing"), snapshot.SecretAbsent)
			b.awaitStatus(t, b.key("unlabelled"), snapshot.SecretAbsent)
			b.awaitStatus(t, b.key(excluded), snapshot.SecretAbsent)
			assert.Empty(t, b.state(b.key("missing")).Detail)
			assert.Equal(t, "exists, but its labels do not match label_selector team in (web); add the labels",
				b.state(b.key("unlabelled")).Detail)
			assert.Equal(t, "exists, but it is of type kubernetes.io/service-account-token, which is never watched; use a Secret of another type",
				b.state(b.key(excluded)).Detail)
			b.stop()
			assert.Empty(t, b.failures)
			assert.Empty(t, b.resyncs)
		})
	}
}

func TestSecretReferencedLaterIsWatchedFromThenOn(t *testing.T) {
	b := newBench(t)
	b.put(t, "clients", "one")
	b.startSynced(t, b.cluster.Admin(), b.shopScope())
	b.reference(t, "first", "clients", "missing")
	b.awaitValue(t, b.key("clients"), "one")
	b.awaitStatus(t, b.key("missing"), snapshot.SecretAbsent)

	b.put(t, "clients", "two")
	b.awaitValue(t, b.key("clients"), "two")
	b.put(t, "missing", "here")
	b.awaitValue(t, b.key("missing"), "here")
	b.delete(t, "clients")
	b.awaitStatus(t, b.key("clients"), snapshot.SecretAbsent)
}

func TestDereferencedAndReferencedAgain(t *testing.T) {
	b := newBench(t)
	b.put(t, "clients", "one")
	b.startSynced(t, b.cluster.Admin(), b.shopScope())
	b.reference(t, "first", "clients")
	b.awaitValue(t, b.key("clients"), "one")

	b.reference(t, "first")
	b.put(t, "clients", "two")
	b.put(t, "first", "marker") // its event comes after the one that nobody wants
	b.awaitValue(t, b.key("first"), "marker")
	assert.Equal(t, "one", b.held(b.key("clients")), "what is not referenced is not told")

	b.reference(t, "first", "clients")
	b.awaitValue(t, b.key("clients"), "two")
}

func TestManySecretsBecomeReferencedAtOnce(t *testing.T) {
	b := newBench(t)
	b.startSynced(t, b.cluster.Admin(), b.shopScope())
	const many = 300
	names := []string{"first"}
	for i := range many {
		name := fmt.Sprintf("clients-%d", i)
		names = append(names, name)
		if i%3 != 0 {
			b.put(t, name, name)
		}
	}
	b.reference(t, names...)
	b.await(t, "all are known", func() bool { return len(b.states) == many+1 })
	for i := range many {
		name := fmt.Sprintf("clients-%d", i)
		if i%3 == 0 {
			assert.Equal(t, snapshot.SecretAbsent, b.state(b.key(name)).Status)
			continue
		}
		assert.Equal(t, name, b.held(b.key(name)))
	}
}

func TestSecretsOutsideTheScopeAreForbidden(t *testing.T) {
	b := newBench(t)
	b.cluster.PutSecret(t, b.team, "clients", map[string]string{"token": "one"})
	far := snapshot.Key{Namespace: b.team, Name: "clients"}
	b.startSynced(t, b.cluster.Admin(), b.shopScope())
	b.source.Reference(map[snapshot.Key]snapshot.Reference{far: {All: true}})

	b.awaitStatus(t, far, snapshot.SecretForbidden)
	assert.Equal(t, "namespace "+b.team+` is outside the scope; add it to "scope namespaces"`, b.state(far).Detail,
		"the namespace of the Registry is no exception")
}

func TestSecretThatMayNotBeGotIsForbiddenAloneAndSaysWhatIsMissing(t *testing.T) {
	b := newBench(t)
	reader := b.cluster.User("no-get-" + b.shop)
	b.cluster.Grant(t, "no-get-"+b.shop, b.team, allowRegistry())
	b.cluster.Grant(t, "no-get-"+b.shop, b.shop, allowSecrets("list", "watch"))
	b.put(t, "clients", "one")
	b.startSynced(t, reader, b.shopScope())
	b.reference(t, "first", "clients")

	b.awaitStatus(t, b.key("clients"), snapshot.SecretForbidden)
	assert.Equal(t, "may not get it; bind a Role in namespace "+b.shop+" that allows get, list and watch on secrets",
		b.state(b.key("clients")).Detail)
	assert.Equal(t, "one", b.held(b.key("first")), "its neighbour is not touched")

	b.put(t, "clients", "two")
	b.awaitValue(t, b.key("clients"), "two")
	b.stop()
	assert.Empty(t, b.failures, "the watch is well")
}

func TestReadThatFailsIsTriedAgain(t *testing.T) {
	t.Parallel() // it waits, and leaves the cluster alone
	b := newBench(t)
	b.put(t, "clients", "one")
	broken := func(w http.ResponseWriter) { http.NotFound(w, nil) }
	faults := &refusing{answers: []func(http.ResponseWriter){broken, busy}}
	b.startSynced(t, faults.serve(t, b.cluster.Admin(), "/api/v1/namespaces/"+b.shop+"/secrets/clients"), b.shopScope())
	b.reference(t, "first", "clients")

	b.awaitValue(t, b.key("clients"), "one")
	b.await(t, "it recovers", func() bool { return b.recoveries[fetchTitle] == 1 })
	b.stop()
	require.Len(t, faults.asked, 3)
	assert.GreaterOrEqual(t, faults.asked[2].Sub(faults.asked[1]), 2*time.Second, "Retry-After is obeyed")
	assert.Equal(t, []mirror.Failure{
		{Kind: mirror.FailureContact, Detail: "the server answered 404 NotFound"},
		{Kind: mirror.FailureContact, Detail: "the server answered 429 TooManyRequests"},
	}, b.failures[fetchTitle])
}

func TestReadThatFailsEndsWhenTheSecretIsReferencedNoMore(t *testing.T) {
	b := newBench(t)
	faults := &refusing{}
	for range 100 {
		faults.answers = append(faults.answers, func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) })
	}
	b.startSynced(t, faults.serve(t, b.cluster.Admin(), "/api/v1/namespaces/"+b.shop+"/secrets/clients"), b.shopScope())
	b.reference(t, "first", "clients")
	b.awaitFailure(t, fetchTitle, 1)
	b.reference(t, "first")
	b.await(t, "it recovers", func() bool { return b.recoveries[fetchTitle] == 1 })
	b.stop()
	assert.NotContains(t, b.states, b.key("clients"))
}
