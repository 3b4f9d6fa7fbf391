package snapshot_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

var shopKey = snapshot.Key{Namespace: "shop", Name: "shop"}

func TestSecretIsIsolatedFromItsInput(t *testing.T) {
	value := []byte("value")
	data := map[string][]byte{"token": value}
	s := snapshot.NewSecret(snapshot.SecretMeta{Key: shopKey, UID: "u", Version: "1", Type: "Opaque"}, data)

	copy(value, "XXXXX")
	data["token"] = []byte("other")
	data["more"] = nil
	got, ok := s.Value("token")
	assert.True(t, ok)
	assert.Equal(t, "value", got)
	assert.Equal(t, []string{"token"}, s.Keys())

	s.Keys()[0] = "changed"
	assert.Equal(t, []string{"token"}, s.Keys())
}

func TestSecretTellsWhatItWasMadeFrom(t *testing.T) {
	s := snapshot.NewSecret(
		snapshot.SecretMeta{Key: shopKey, UID: "u", Version: "1", Type: "kubernetes.io/basic-auth"},
		map[string][]byte{"username": []byte("u"), "password": nil})
	assert.Equal(t, shopKey, s.Key())
	assert.Equal(t, "u", s.UID())
	assert.Equal(t, "1", s.Version())
	assert.Equal(t, "kubernetes.io/basic-auth", s.Type())
	assert.Equal(t, 2, s.Len())
	assert.Equal(t, []string{"password", "username"}, s.Keys())
	empty, ok := s.Value("password")
	assert.True(t, ok)
	assert.Empty(t, empty)
	_, ok = s.Value("token")
	assert.False(t, ok)
}

func TestSecretsAreEqualIfNothingDiffers(t *testing.T) {
	meta := snapshot.SecretMeta{Key: shopKey, UID: "u", Version: "1", Type: "Opaque"}
	data := map[string][]byte{"token": []byte("value")}
	s := snapshot.NewSecret(meta, data)
	assert.True(t, s.Equal(snapshot.NewSecret(meta, map[string][]byte{"token": []byte("value")})))

	var none *snapshot.Secret
	assert.True(t, none.Equal(nil))
	assert.False(t, none.Equal(s))
	assert.False(t, s.Equal(nil))
	for about, other := range map[string]*snapshot.Secret{
		"key":       snapshot.NewSecret(snapshot.SecretMeta{Key: registryKey, UID: "u", Version: "1", Type: "Opaque"}, data),
		"UID":       snapshot.NewSecret(snapshot.SecretMeta{Key: shopKey, UID: "v", Version: "1", Type: "Opaque"}, data),
		"version":   snapshot.NewSecret(snapshot.SecretMeta{Key: shopKey, UID: "u", Version: "2", Type: "Opaque"}, data),
		"type":      snapshot.NewSecret(snapshot.SecretMeta{Key: shopKey, UID: "u", Version: "1", Type: "other"}, data),
		"value":     snapshot.NewSecret(meta, map[string][]byte{"token": []byte("Value")}),
		"data keys": snapshot.NewSecret(meta, map[string][]byte{"token": []byte("value"), "more": nil}),
		"no data":   snapshot.NewSecret(meta, nil),
	} {
		assert.False(t, s.Equal(other), about)
		assert.False(t, snapshot.Present(s).Equal(snapshot.Present(other)), about)
	}
}

func TestSecretStatesAreEqualIfNothingDiffers(t *testing.T) {
	s := snapshot.Present(secret(shopKey, "1", nil))
	states := []snapshot.SecretState{
		{},
		snapshot.Absent(), snapshot.Forbidden("a"), snapshot.Forbidden("b"), s,
		snapshot.Present(secret(shopKey, "2", nil)),
	}
	for i, a := range states {
		for j, b := range states {
			assert.Equal(t, i == j, a.Equal(b), "%d and %d", i, j)
		}
	}
	assert.Equal(t, snapshot.SecretPending, snapshot.SecretState{}.Status, "the zero state is pending")
}

// twoKeys is a Registry that names two data keys of shop/shop, and none of
// edge/all.
func twoKeys(t testing.TB) *snapshot.Registry {
	ref := func(key string) entry { return entry{"namespace": "shop", "name": "shop", "key": key} }
	return registry(t,
		app("a", "a.example.com").with("secretRef", ref("token")),
		app("b", "b.example.com").with("secretRef", ref("auth")),
		app("c", "c.example.com").with("secretRef", entry{"name": "all"}))
}

func TestObjectsKeepOnlyTheDataKeysThatAreReferenced(t *testing.T) {
	reg := twoKeys(t)
	allKey := snapshot.Key{Namespace: "edge", Name: "all"}
	strange := snapshot.Key{Namespace: "shop", Name: "strange"}
	given := map[string]string{"token": "1", "large": "2", "auth": "3", "tls.key": "4"}
	states := map[snapshot.Key]snapshot.SecretState{
		shopKey: snapshot.Present(secret(shopKey, "1", given)),
		allKey:  snapshot.Present(secret(allKey, "1", given)),
		strange: snapshot.Present(secret(strange, "1", given)),
	}
	for about, o := range map[string]snapshot.Objects{
		"from nothing": snapshot.NewObjects(start, reg, states),
		"by a change":  snapshot.NewObjects(start, reg, nil).With(start, states),
	} {
		t.Run(about, func(t *testing.T) {
			kept := o.Secret(shopKey).Secret
			assert.Equal(t, []string{"auth", "token"}, kept.Keys())
			assert.Equal(t, shopKey, kept.Key())
			assert.Equal(t, "uid-shop", kept.UID())
			assert.Equal(t, "1", kept.Version())
			assert.Equal(t, "Opaque", kept.Type())
			assert.Equal(t, []string{"auth", "large", "tls.key", "token"}, o.Secret(allKey).Secret.Keys())
			assert.Equal(t, snapshot.SecretState{}, o.Secret(strange))
			assert.Equal(t, 4, states[shopKey].Secret.Len(), "the caller's Secret stays as it is")
		})
	}
}

func TestSecretsWithoutAnAnswerArePending(t *testing.T) {
	o := snapshot.NewObjects(start, twoKeys(t), nil)
	assert.Equal(t, snapshot.SecretPending, o.Secret(shopKey).Status)

	o = o.With(start, map[snapshot.Key]snapshot.SecretState{shopKey: snapshot.Absent()})
	assert.Equal(t, snapshot.SecretAbsent, o.Secret(shopKey).Status)
}

func TestObjectsAreIsolatedFromTheMapTheyWereMadeOf(t *testing.T) {
	reg := registry(t, shop)
	states := allPresent(reg)
	o := snapshot.NewObjects(start, reg, states)
	more := map[snapshot.Key]snapshot.SecretState{shopKey: snapshot.Forbidden("why")}
	next := o.With(start, more)
	clear(states)
	clear(more)
	assert.Equal(t, snapshot.SecretPresent, o.Secret(shopKey).Status)
	assert.Equal(t, snapshot.SecretForbidden, next.Secret(shopKey).Status)
}

func TestWithLeavesTheReceiverAsItIs(t *testing.T) {
	reg := registry(t, shop)
	o := snapshot.NewObjects(start, reg, allPresent(reg))
	later := start.Add(time.Hour)
	next := o.With(later, map[snapshot.Key]snapshot.SecretState{shopKey: snapshot.Absent()})

	assert.Equal(t, start, o.Now)
	assert.Equal(t, snapshot.SecretPresent, o.Secret(shopKey).Status)
	assert.Equal(t, later, next.Now)
	assert.Equal(t, snapshot.SecretAbsent, next.Secret(shopKey).Status)
	assert.Same(t, reg, next.Registry)

	same := next.With(start, nil)
	assert.Equal(t, start, same.Now)
	assert.Equal(t, snapshot.SecretAbsent, same.Secret(shopKey).Status)
	assert.Equal(t, later, next.Now)
}

func TestNewObjectsAreAllChanged(t *testing.T) {
	o := snapshot.NewObjects(start, registry(t, shop), nil)
	assert.Equal(t, snapshot.Changes{All: true}, o.Changes)
}

func TestChangesAreEmptyIfNothingDiffers(t *testing.T) {
	assert.True(t, snapshot.Changes{}.Empty())
	assert.True(t, snapshot.Changes{Secrets: map[snapshot.Key]struct{}{}}.Empty())
	assert.False(t, snapshot.Changes{All: true}.Empty())
	assert.False(t, snapshot.Changes{Registry: true}.Empty())
	assert.False(t, snapshot.Changes{Secrets: map[snapshot.Key]struct{}{shopKey: {}}}.Empty())
}

func TestRegistryIsIsolatedFromItsInput(t *testing.T) {
	text := []byte(jsonOf(t, shop))
	reg, err := snapshot.ParseRegistry(snapshot.NewSecret(snapshot.SecretMeta{Key: registryKey}, map[string][]byte{"registry.json": text}))
	require.NoError(t, err)
	for i := range text {
		text[i] = 'x'
	}
	assert.Equal(t, "shop", reg.Entries()[0].Name)
	assert.Equal(t, []string{"shop.example.com"}, reg.Entries()[0].Hostnames)
}
