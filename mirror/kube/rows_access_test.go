package kube

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/authz-bridge/authz-bridge/mirror"
)

// tokens puts the token that is in use now into each request, as client-go does,
// which reads a file of it once a minute.
type tokens struct{ now atomic.Value }

func (k *tokens) on(config *rest.Config) *rest.Config {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(request *http.Request) (*http.Response, error) {
			request = request.Clone(request.Context())
			request.Header.Set("Authorization", "Bearer "+k.now.Load().(string))
			return next.RoundTrip(request)
		})
	})
	return config
}

func (b *bench) account(t *testing.T, name string) (token string) {
	t.Helper()
	user := "system:serviceaccount:" + b.team + ":" + name
	b.cluster.Grant(t, user, b.team, allowRegistry())
	b.cluster.Grant(t, user, b.shop, allowSecrets("get", "list", "watch"))
	return b.cluster.ServiceAccountToken(t, b.team, name)
}

func TestRow7TokenThatIsRevokedAndThenReplaced(t *testing.T) {
	b := newBrisk(t)
	first, revoked, last := b.account(t, "first"), b.account(t, "revoked"), b.account(t, "last")
	accounts := b.cluster.AdminClient().CoreV1().ServiceAccounts(b.team)
	require.NoError(t, accounts.Delete(t.Context(), "revoked", metav1.DeleteOptions{}))
	used := &tokens{}
	used.now.Store(first)
	b.startWith(t, used.on(b.cluster.TokenUser("")), "clients")
	b.awaitContact(t, time.Now())
	assert.Zero(t, b.look(func() int { return len(b.failures) }))

	used.now.Store(revoked)
	swapped := time.Now()
	f := b.awaitFailure(t, b.probeTitle(), 1)
	assert.Equal(t, mirror.Failure{Kind: mirror.FailureUnauthorized, Detail: unauthorizedDetail}, f)
	assert.False(t, b.lastFresh().AsOf.After(swapped), "known as of after the token was revoked")
	assert.Equal(t, "one", b.held(b.key("clients")), "the last good stays")

	used.now.Store(last)
	b.awaitProbes(t)
	b.stop()
	assert.Equal(t, 1, b.recoveries[b.probeTitle()])
	for _, f := range b.failures[b.probeTitle()] {
		assert.NotContains(t, f.Detail, revoked)
	}
}

func TestRow7TokenThatIsNotAcceptedAtTheStart(t *testing.T) {
	b := newBrisk(t)
	good := b.account(t, "bridge")
	used := &tokens{}
	used.now.Store("st4le")
	b.start(t, used.on(b.cluster.TokenUser("")), b.shopScope())
	for _, title := range []string{b.registryTitle(), b.probeTitle()} {
		assert.Equal(t, mirror.FailureUnauthorized, b.awaitFailure(t, title, 1).Kind, title)
	}
	used.now.Store(good)
	b.reference(t, "clients")
	b.awaitValue(t, b.key("clients"), "one")
	for _, title := range []string{b.registryTitle(), b.probeTitle()} {
		b.await(t, title+" recovers", func() bool { return b.recoveries[title] == 1 })
	}
}

// The watch that runs is not asked again, so that the probe alone tells.
func TestRow8RightsTakenAway(t *testing.T) {
	b := newBrisk(t)
	name := "reader-" + b.shop
	revoke := b.cluster.Grant(t, name, b.team, allowRegistry())
	b.cluster.Grant(t, name, b.shop, allowSecrets("get", "list", "watch"))
	b.startWith(t, b.cluster.User(name), "clients")

	revoke()
	revoked := time.Now()
	assert.Equal(t, mirror.Failure{
		Kind: mirror.FailureForbidden,
		Detail: "may not list secret " + b.team + "/registry; bind a Role in namespace " + b.team +
			" that allows list and watch on secrets with resourceNames registry",
	}, b.awaitFailure(t, b.probeTitle(), 1))
	assert.False(t, b.lastFresh().AsOf.After(revoked), "nothing is known as of later")
	assert.Equal(t, 1, b.look(func() int { return b.registryCalls }), "the last good stays")
	b.put(t, "clients", "two")
	b.awaitValue(t, b.key("clients"), "two")

	b.cluster.Grant(t, name, b.team, allowRegistry())
	b.await(t, "it recovers", func() bool { return b.recoveries[b.probeTitle()] == 1 })
	b.stop()
	assert.Empty(t, b.failures[b.registryTitle()])
	assert.Empty(t, b.failures[b.shopTitle()])
}
