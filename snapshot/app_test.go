package snapshot_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

func TestSecretReadyAndItsReason(t *testing.T) {
	const noKey = ""
	key := snapshot.Key{Namespace: "shop", Name: "shop"}
	present := func(data map[string]string) snapshot.SecretState {
		return snapshot.Present(secret(key, "12", data))
	}
	tests := []struct {
		about   string
		dataKey string
		state   snapshot.SecretState
		want    snapshot.Reason
		detail  string
	}{
		{"not answered for", "token", snapshot.SecretState{}, snapshot.ReasonPending, "secret shop/shop: not read yet"},
		{"absent", "token", snapshot.Absent(), snapshot.ReasonSecretAbsent, "secret shop/shop: does not exist; create it"},
		{"forbidden", "token", snapshot.Forbidden("outside the scope"), snapshot.ReasonSecretForbidden, "secret shop/shop: outside the scope"},
		{"without data", "token", present(nil), snapshot.ReasonSecretKeyAbsent, `secret shop/shop: key "token": does not exist; add it, or name another in secretRef.key`},
		{"without the key", "token", present(map[string]string{"Token": "v"}), snapshot.ReasonSecretKeyAbsent, `key "token": does not exist`},
		{"key with an empty value", "token", present(map[string]string{"token": "", "other": "v"}), snapshot.ReasonSecretInvalid, `secret shop/shop: key "token": is empty; give it a value`},
		{"key with a value", "token", present(map[string]string{"token": "v"}), snapshot.ReasonAllowed, ""},
		{"key with a value, others empty", "token", present(map[string]string{"token": "v", "other": ""}), snapshot.ReasonAllowed, ""},

		{"no key named, not answered for", noKey, snapshot.SecretState{}, snapshot.ReasonPending, "not read yet"},
		{"no key named, absent", noKey, snapshot.Absent(), snapshot.ReasonSecretAbsent, "does not exist"},
		{"no key named, without data", noKey, present(nil), snapshot.ReasonSecretKeyAbsent, "secret shop/shop: has no data; add a key"},
		{"no key named, every value empty", noKey, present(map[string]string{"a": "", "b": ""}), snapshot.ReasonSecretInvalid, "secret shop/shop: every value is empty; give one a value"},
		{"no key named, one value", noKey, present(map[string]string{"a": "", "b": "v"}), snapshot.ReasonAllowed, ""},
	}
	for _, tt := range tests {
		t.Run(tt.about, func(t *testing.T) {
			ref := entry{"namespace": "shop", "name": "shop"}
			if tt.dataKey != noKey {
				ref["key"] = tt.dataKey
			}
			reg := registry(t, shop.with("secretRef", ref), app("blog", "blog.example.com"))
			states := allPresent(reg)
			states[key] = tt.state
			apps := build(t, snapshot.NewObjects(start, reg, states))

			got := apps.At(0)
			assert.Equal(t, tt.want, got.Reason)
			assert.Equal(t, tt.want == snapshot.ReasonAllowed, got.SecretReady)
			assert.Contains(t, got.Detail, tt.detail)
			assert.Equal(t, tt.detail == "", got.Detail == "")
			assert.Equal(t, "shop: "+tt.want.String(), answer(apps, "shop.example.com"))
			assert.Equal(t, "blog: allowed", answer(apps, "blog.example.com"))

			if tt.state.Secret == nil {
				assert.Empty(t, got.SecretUID+got.SecretVersion)
				return
			}
			assert.Equal(t, "uid-shop", got.SecretUID)
			assert.Equal(t, "12", got.SecretVersion)
		})
	}
}

func TestAppsOfOneSecretAreJudgedEachByItsOwnKey(t *testing.T) {
	ref := func(key string) entry { return entry{"name": "shared", "key": key} }
	reg := registry(t,
		app("a", "a.example.com").with("secretRef", ref("a")),
		app("b", "b.example.com").with("secretRef", ref("b")),
		app("any", "any.example.com").with("secretRef", entry{"name": "shared"}),
	)
	key := snapshot.Key{Namespace: "edge", Name: "shared"}
	apps := build(t, snapshot.NewObjects(start, reg, map[snapshot.Key]snapshot.SecretState{
		key: snapshot.Present(secret(key, "1", map[string]string{"b": "value"})),
	}))
	assert.Equal(t, "a: secret_key_absent", answer(apps, "a.example.com"))
	assert.Equal(t, "b: allowed", answer(apps, "b.example.com"))
	assert.Equal(t, "any: allowed", answer(apps, "any.example.com"))
}

func TestAppTellsWhatTheRegistrySaysOfIt(t *testing.T) {
	apps := open(t, app("blog", "blog.example.com"), shop.with("expiresAt", "2028-01-01T00:00:00Z"))
	a := apps.At(1)
	assert.Equal(t, 1, a.Index)
	assert.Equal(t, snapshot.Entry{
		Name:      "shop",
		Hostnames: []string{"shop.example.com"},
		SecretRef: snapshot.SecretRef{Secret: snapshot.Key{Namespace: "shop", Name: "shop"}, DataKey: "token"},
		ExpiresAt: time.Date(2028, 1, 1, 0, 0, 0, 0, time.UTC),
		Policy:    &snapshot.Policy{Strip: true},
	}, *a.Entry)
	assert.Same(t, a.Entry.Policy, a.Policy)
	assert.True(t, a.SecretReady)
	assert.Equal(t, snapshot.ReasonAllowed, a.Reason)
	assert.Equal(t, "uid-shop", a.SecretUID)
	assert.Equal(t, "1", a.SecretVersion)
	assert.Empty(t, a.Warnings)
	assert.Equal(t, 2, apps.Len())
	assert.Equal(t, 2, apps.Hostnames())
}

func TestAppExpires(t *testing.T) {
	at := start.Add(time.Hour)
	reg := registry(t, shop.with("expiresAt", at.Format(time.RFC3339)))
	for _, tt := range []struct {
		about string
		now   time.Time
		want  string
		due   time.Time
	}{
		{"before", start, "shop: allowed", at},
		{"a nanosecond before", at.Add(-1), "shop: allowed", at},
		{"at the time", at, "shop: app_expired", time.Time{}},
		{"after", at.Add(time.Hour), "shop: app_expired", time.Time{}},
	} {
		t.Run(tt.about, func(t *testing.T) {
			apps := build(t, snapshot.NewObjects(tt.now, reg, allPresent(reg)))
			assert.Equal(t, tt.want, answer(apps, "shop.example.com"))
			assert.True(t, apps.NextChange().Equal(tt.due), apps.NextChange())
		})
	}
	t.Run("goes before the state of the Secret, which is told all the same", func(t *testing.T) {
		apps := build(t, snapshot.NewObjects(at, reg, nil))
		assert.Equal(t, "shop: app_expired", answer(apps, "shop.example.com"))
		assert.False(t, apps.At(0).SecretReady)
		apps = build(t, snapshot.NewObjects(at, reg, allPresent(reg)))
		assert.True(t, apps.At(0).SecretReady)
		assert.Equal(t, "expired at 2027-03-01T13:00:00Z", apps.At(0).Detail)
	})
}

func TestNextChangeIsTheNextExpiry(t *testing.T) {
	in := func(d time.Duration) string { return start.Add(d).Format(time.RFC3339) }
	reg := registry(t,
		app("never", "never.example.com"),
		app("second", "second.example.com").with("expiresAt", in(2*time.Hour)),
		app("first", "first.example.com").with("expiresAt", in(time.Hour)),
		app("past", "past.example.com").with("expiresAt", in(-time.Hour)),
		app("wrong", "wrong.example.com").with("expiresAt", in(time.Minute)).with("anyOf", 1),
	)
	b := snapshot.NewAppsBuilder()
	o := snapshot.NewObjects(start, reg, allPresent(reg))
	apps := buildWith(t, b, o)
	var timed snapshot.Timed = apps
	assert.Equal(t, start.Add(time.Hour), timed.NextChange())

	for _, d := range []time.Duration{2 * time.Hour, 0} {
		o = o.With(apps.NextChange(), nil)
		o.Changes = snapshot.Changes{}
		apps = buildWith(t, b, o)
		if d == 0 {
			assert.True(t, apps.NextChange().IsZero(), "nothing is due any more")
			continue
		}
		assert.Equal(t, start.Add(d), apps.NextChange())
	}
	require.Equal(t, "never: allowed", answer(apps, "never.example.com"))
}

func TestDetailsAndErrorsHoldNoByteOfASecret(t *testing.T) {
	const bytes = "hunter2-hunter2"
	reg := registry(t, shop, app("blog", "blog.example.com").with("secretRef", entry{"name": "blog"}))
	shopKey, blogKey := snapshot.Key{Namespace: "shop", Name: "shop"}, snapshot.Key{Namespace: "edge", Name: "blog"}
	apps := build(t, snapshot.NewObjects(start, reg, map[snapshot.Key]snapshot.SecretState{
		shopKey: snapshot.Present(secret(shopKey, "1", map[string]string{"other": bytes})),
		blogKey: snapshot.Present(secret(blogKey, "1", map[string]string{bytes: ""})),
	}))
	for i := range apps.Len() {
		require.NotEmpty(t, apps.At(i).Detail)
		assert.NotContains(t, apps.At(i).Detail, bytes)
	}
}
