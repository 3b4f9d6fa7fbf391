package kube

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

// scopes are those that see the namespace of the Secrets.
func scopes(b *bench) map[string]Scope {
	return map[string]Scope{
		"scope cluster":    {Kind: ScopeCluster},
		"scope namespaces": b.shopScope(),
	}
}

// scopesAndNamed has the scope with a watch for each Secret as well.
func scopesAndNamed(b *bench) map[string]Scope {
	all := scopes(b)
	all["scope referenced"] = Scope{Kind: ScopeReferenced}
	return all
}

func TestFreshStartAnswersForEveryReferencedSecret(t *testing.T) {
	b := newBench(t)
	b.cluster.PutSecret(t, b.team, registryName, map[string]string{"registry.yaml": "version: 1"})
	b.put(t, "clients", "one")
	b.put(t, "unreferenced", "two")
	for name, scope := range scopes(b) {
		t.Run(name, func(t *testing.T) {
			b.recorder = newRecorder()
			b.start(t, b.cluster.Admin(), scope)
			b.reference(t, "clients", "missing")

			b.awaitValue(t, b.key("clients"), "one")
			b.awaitStatus(t, b.key("missing"), snapshot.SecretAbsent)
			b.stop()
			text, _ := b.registry.Value("registry.yaml")
			assert.Equal(t, "version: 1", text)
			assert.NotContains(t, b.states, b.key("unreferenced"))
			assert.Equal(t, 1, b.secretCalls, "the first list is one call")
			assert.Empty(t, b.failures)
			assert.Empty(t, b.resyncs)
		})
	}
}

func TestSecretIsTakenWithItsIdentity(t *testing.T) {
	b := newBench(t)
	b.start(t, b.cluster.Admin(), b.shopScope())
	b.put(t, "clients", "one")
	b.reference(t, "clients")
	b.awaitValue(t, b.key("clients"), "one")

	stored, err := b.cluster.AdminClient().CoreV1().Secrets(b.shop).Get(t.Context(), "clients", metav1.GetOptions{})
	require.NoError(t, err)
	got := b.state(b.key("clients")).Secret
	assert.Equal(t, b.key("clients"), got.Key())
	assert.Equal(t, string(stored.UID), got.UID())
	assert.Equal(t, stored.ResourceVersion, got.Version())
	assert.Equal(t, string(corev1.SecretTypeOpaque), got.Type())
}

func TestChangesOfASecretArrive(t *testing.T) {
	b := newBench(t)
	b.put(t, "clients", "one")
	for name, scope := range scopesAndNamed(b) {
		t.Run(name, func(t *testing.T) {
			b.recorder = newRecorder()
			b.start(t, b.cluster.Admin(), scope)
			b.reference(t, "clients")
			b.awaitStatus(t, b.key("clients"), snapshot.SecretPresent)

			b.put(t, "clients", "updated")
			b.awaitValue(t, b.key("clients"), "updated")
			first := b.state(b.key("clients")).Secret

			b.delete(t, "clients")
			b.awaitStatus(t, b.key("clients"), snapshot.SecretAbsent)

			b.put(t, "clients", "recreated")
			b.awaitValue(t, b.key("clients"), "recreated")
			assert.NotEqual(t, first.UID(), b.state(b.key("clients")).Secret.UID())

			b.cluster.PutSecret(t, b.shop, "clients", map[string]string{"other": "key"})
			b.await(t, "the key is another one", func() bool {
				_, ok := b.states[b.key("clients")].Secret.Value("other")
				return ok
			})
			_, ok := b.state(b.key("clients")).Secret.Value("token")
			assert.False(t, ok, "the old key is gone")
			b.stop()
		})
	}
}

func TestRegistryIsAbsentThenCreatedThenDeleted(t *testing.T) {
	b := newBench(t)
	b.start(t, b.cluster.Admin(), Scope{})
	b.await(t, "it is known to be absent", func() bool { return b.registryCalls == 1 && b.registry == nil })

	b.cluster.PutSecret(t, b.team, registryName, map[string]string{"registry.yaml": "one"})
	b.await(t, "it is created", func() bool { return b.registry != nil })

	b.cluster.PutSecret(t, b.team, registryName, map[string]string{"registry.yaml": "two"})
	b.await(t, "it is updated", func() bool { text, _ := b.registry.Value("registry.yaml"); return text == "two" })

	b.cluster.DeleteSecret(t, b.team, registryName)
	b.await(t, "it is deleted", func() bool { return b.registry == nil })
}

func TestAnotherSecretInTheRegistrysNamespaceIsNotTheRegistry(t *testing.T) {
	b := newBench(t)
	b.cluster.PutSecret(t, b.team, "aaa-another", map[string]string{"registry.yaml": "wrong"})
	b.start(t, b.cluster.Admin(), Scope{})
	b.await(t, "the registry is known to be absent", func() bool { return b.registryCalls > 0 })
	b.cluster.PutSecret(t, b.team, "aaa-another", map[string]string{"registry.yaml": "wrong again"})
	b.cluster.PutSecret(t, b.team, registryName, map[string]string{"registry.yaml": "right"})

	b.await(t, "the registry is created", func() bool { return b.registry != nil })
	b.stop()
	assert.Equal(t, registryName, b.registry.Key().Name)
	assert.Equal(t, 2, b.registryCalls)
}

func TestExcludedSecretsAreAbsentOnAFreshStart(t *testing.T) {
	b := newBench(t)
	for _, kind := range excludedTypes() {
		b.create(t, typedSecret(kind))
	}
	b.create(t, labelledSecret("labelled", map[string]string{"team": "web"}))
	b.create(t, labelledSecret("unlabelled", nil))
	for name, scope := range scopesAndNamed(b) {
		t.Run(name, func(t *testing.T) {
			b.recorder = newRecorder()
			scope.LabelSelector = "team=web"
			b.start(t, b.cluster.Admin(), scope)
			b.reference(t, "labelled", "unlabelled", nameOf(excludedTypes()[0]), nameOf(excludedTypes()[1]))

			b.awaitValue(t, b.key("labelled"), "value")
			b.awaitStatus(t, b.key("unlabelled"), snapshot.SecretAbsent)
			for _, kind := range excludedTypes() {
				b.awaitStatus(t, b.key(nameOf(kind)), snapshot.SecretAbsent)
			}
			b.stop()
		})
	}
}

// The API server must know the field "type", or the selector would be refused or
// show everything.
func TestExcludedTypesAreNotSentByTheServer(t *testing.T) {
	b := newBench(t)
	b.create(t, labelledSecret("plain", nil))
	for _, kind := range excludedTypes() {
		b.create(t, typedSecret(kind))
	}
	var all corev1.SecretList
	api, err := newClient(clientConfig(b.cluster.Admin()))
	require.NoError(t, err)
	defer api.close()
	listed := b.shopScope().targets()[0]
	require.NoError(t, listed.request(api, metav1.ListOptions{}).Do(t.Context()).Into(&all))

	require.Len(t, all.Items, 1)
	assert.Equal(t, "plain", all.Items[0].Name)
}

func TestLabelTakenAwayHidesASecretAndPutBackShowsIt(t *testing.T) {
	b := newBench(t)
	b.create(t, labelledSecret("clients", map[string]string{"team": "web"}))
	scope := b.shopScope()
	scope.LabelSelector = "team=web"
	b.start(t, b.cluster.Admin(), scope)
	b.reference(t, "clients")
	b.awaitStatus(t, b.key("clients"), snapshot.SecretPresent)

	b.update(t, labelledSecret("clients", nil))
	b.awaitStatus(t, b.key("clients"), snapshot.SecretAbsent)

	b.update(t, labelledSecret("clients", map[string]string{"team": "web"}))
	b.awaitStatus(t, b.key("clients"), snapshot.SecretPresent)
}

func (b *bench) create(t *testing.T, secret *corev1.Secret) {
	t.Helper()
	_, err := b.cluster.AdminClient().CoreV1().Secrets(b.shop).Create(t.Context(), secret, metav1.CreateOptions{})
	require.NoError(t, err)
}

func (b *bench) update(t *testing.T, secret *corev1.Secret) {
	t.Helper()
	_, err := b.cluster.AdminClient().CoreV1().Secrets(b.shop).Update(t.Context(), secret, metav1.UpdateOptions{})
	require.NoError(t, err)
}

func labelledSecret(name string, labels map[string]string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Data:       map[string][]byte{"token": []byte("value")},
	}
}

func typedSecret(kind corev1.SecretType) *corev1.Secret {
	secret := labelledSecret(nameOf(kind), map[string]string{"team": "web"})
	secret.Type = kind
	secret.Annotations = map[string]string{corev1.ServiceAccountNameKey: "someone"}
	return secret
}

// nameOf makes a name of a type.
func nameOf(kind corev1.SecretType) string {
	return strings.NewReplacer("/", "-", ".", "-").Replace(string(kind))
}
