package snapshot_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

var shop = app("shop", "shop.example.com")

func TestWrongEntryKeepsItsHostnamesAndTouchesNoOther(t *testing.T) {
	null := json.RawMessage("null")
	ref := func(field string, value any) entry {
		return shop.with("secretRef", shop["secretRef"].(entry).with(field, value))
	}
	tests := []struct {
		about string
		entry entry
		want  string
	}{
		{"field of a later release", shop.with("quota", []any{}), `unknown field "quota"; remove it, or upgrade authz-bridge`},
		{"field of a later release, null", shop.with("quota", null), `unknown field "quota"`},
		{"field in another case", shop.with("Name", "shop"), `unknown field "Name"`},
		{"field spelt otherwise", shop.with("expires_at", "2027-03-01T00:00:00Z"), `unknown field "expires_at"`},
		{"empty field name", shop.with("", 1), `unknown field ""`},
		{"unknown field in secretRef", ref("optional", true), `unknown field "secretRef.optional"`},
		{"unknown field beside a wrong time", shop.with("quota", 1).with("expiresAt", null), `unknown field "quota"`},

		{"secretReady a string", shop.with("secretReady", "true"), "secretReady: found string; write true or false"},
		{"secretReady a number", shop.with("secretReady", 1), "secretReady: found number; write true or false"},

		{"expiresAt null", shop.with("expiresAt", null), "expiresAt: null is no time; write it as in 2027-03-01T00:00:00Z, or leave the field out"},
		{"expiresAt empty", shop.with("expiresAt", ""), `expiresAt: "" is no time`},
		{"expiresAt a date", shop.with("expiresAt", "2027-03-01"), `expiresAt: "2027-03-01" is no time`},
		{"expiresAt without a zone", shop.with("expiresAt", "2027-03-01T00:00:00"), "is no time"},
		{"expiresAt with a space", shop.with("expiresAt", "2027-03-01 00:00:00Z"), "is no time"},
		{"expiresAt a number", shop.with("expiresAt", 1803859200), "expiresAt: 1803859200 is no time"},
		{"expiresAt a mapping", shop.with("expiresAt", entry{"at": 1}), `expiresAt: {"at":1} is no time`},
		{"expiresAt the zero time", shop.with("expiresAt", "0001-01-01T00:00:00Z"), "is no time"},
		{"expiresAt a day that is none", shop.with("expiresAt", "2027-02-29T00:00:00Z"), "is no time"},

		{"secretRef null", shop.with("secretRef", null), "secretRef: missing; name the Secret"},
		{"secretRef a string", shop.with("secretRef", "shop/shop"), "secretRef: found string; write a mapping"},
		{"secretRef a list", shop.with("secretRef", []any{}), "secretRef: found array; write a mapping"},
		{"secretRef empty", shop.with("secretRef", entry{}), `secretRef.name: "" is no name of a Secret`},
		{"secretRef.name null", ref("name", null), `secretRef.name: "" is no name`},
		{"secretRef.name a number", ref("name", 5), "secretRef.name: found number; write a string"},
		{"secretRef.name upper case", ref("name", "Shop"), `secretRef.name: "Shop" is no name`},
		{"secretRef.name with a slash", ref("name", "shop/shop"), "secretRef.name: "},
		{"secretRef.namespace null", ref("namespace", null), "secretRef.namespace: null is no namespace; leave the field out"},
		{"secretRef.namespace empty", ref("namespace", ""), `secretRef.namespace: "" is no namespace`},
		{"secretRef.namespace a number", ref("namespace", 5), "secretRef.namespace: 5 is no namespace"},
		{"secretRef.namespace with a dot", ref("namespace", "shop.eu"), "secretRef.namespace: "},
		{"secretRef.key null", ref("key", null), "secretRef.key: null is no key of a Secret; leave the field out"},
		{"secretRef.key empty", ref("key", ""), `secretRef.key: "" is no key of a Secret`},
		{"secretRef.key false", ref("key", false), "secretRef.key: false is no key"},
		{"secretRef.key with a slash", ref("key", "a/b"), `secretRef.key: "a/b" is no key`},
		{"secretRef.key of a mounted volume", ref("key", "..data"), "secretRef.key: "},
		{"secretRef the Registry itself", shop.with("secretRef", entry{"name": "registry"}), "secretRef: names the Registry itself"},
		{"secretRef the Registry itself, in full", shop.with("secretRef", entry{"namespace": "edge", "name": "registry", "key": "registry.yaml"}), "secretRef: names the Registry itself"},

		{"one hostname malformed", shop.with("hostnames", []string{"shop.example.com", "shop_.-example.com"}), `hostnames: "shop_.-example.com" is no hostname`},
		{"one hostname empty", shop.with("hostnames", []string{"", "shop.example.com"}), `hostnames: "" is no hostname`},
		{"one hostname null", shop.with("hostnames", []any{"shop.example.com", null}), `hostnames: "" is no hostname`},
		{"one hostname a star", shop.with("hostnames", []string{"*", "shop.example.com"}), `hostnames: "*" is no hostname`},
	}
	for _, tt := range tests {
		t.Run(tt.about, func(t *testing.T) {
			reg := registry(t, app("before", "before.example.com"), tt.entry, app("wild", "*.example.com"))
			wrong := reg.Entries()[1]
			require.ErrorContains(t, wrong.Err, tt.want)
			requireReadable(t, wrong.Err)
			assert.Equal(t, "shop", wrong.Name)
			assert.Equal(t, []string{"shop.example.com"}, wrong.Hostnames)
			assert.Zero(t, wrong.SecretRef)
			assert.NotContains(t, reg.References(), snapshot.Key{Namespace: "shop", Name: "shop"})

			apps := build(t, snapshot.NewObjects(start, reg, allPresent(reg)))
			assert.Equal(t, "shop: app_invalid", answer(apps, "shop.example.com"), "the wildcard must not capture it")
			assert.Equal(t, wrong.Err.Error(), apps.At(1).Detail)
			assert.False(t, apps.At(1).SecretReady)
			assert.Equal(t, "before: allowed", answer(apps, "before.example.com"))
			assert.Equal(t, "wild: allowed", answer(apps, "other.example.com"))
		})
	}
}

func TestEntryWithoutAValidNameIsCalledByItsPosition(t *testing.T) {
	for about, name := range map[string]any{
		"empty":           "",
		"null":            nil,
		"number":          5,
		"number too long": json.Number("1e999"),
		"mapping":         entry{"a": 1},
		"upper case":      "Shop",
		"underscore":      "shop_1",
		"dot":             "shop.eu",
		"64 bytes":        label64,
		"like a position": "apps[0]",
	} {
		t.Run(about, func(t *testing.T) {
			reg := registry(t, app("before", "before.example.com"), shop.with("name", name))
			wrong := reg.Entries()[1]
			require.ErrorContains(t, wrong.Err, "name: ")
			requireReadable(t, wrong.Err)
			assert.Equal(t, "apps[1]", wrong.Name)
			assert.Equal(t, []string{"shop.example.com"}, wrong.Hostnames)
			require.NoError(t, reg.Entries()[0].Err)
		})
	}
}

func TestEntryWithNothingToReserveIsInvalidAllTheSame(t *testing.T) {
	tests := []struct{ about, text, want string }{
		{"null", `null`, "name: "},
		{"empty mapping", `{}`, "name: "},
		{"hostnames left out", `{"name": "shop", "secretRef": {"name": "shop"}}`, "hostnames: missing; list at least one"},
		{"hostnames null", `{"name": "shop", "hostnames": null, "secretRef": {"name": "shop"}}`, "hostnames: missing"},
		{"hostnames empty", `{"name": "shop", "hostnames": [], "secretRef": {"name": "shop"}}`, "hostnames: missing"},
		{"hostnames in another case", `{"name": "shop", "Hostnames": ["shop.example.com"], "secretRef": {"name": "shop"}}`, `unknown field "Hostnames"`},
		{"secretRef left out", `{"name": "shop", "hostnames": ["shop.example.com"]}`, "secretRef: missing"},
	}
	for _, tt := range tests {
		t.Run(tt.about, func(t *testing.T) {
			reg, err := parseText("registry.json", `{"version": 1, "apps": [`+tt.text+`]}`)
			require.NoError(t, err)
			require.Len(t, reg.Entries(), 1)
			require.ErrorContains(t, reg.Entries()[0].Err, tt.want)
		})
	}
}

func TestSecretRefDefaults(t *testing.T) {
	tests := []struct {
		about string
		ref   entry
		want  snapshot.SecretRef
	}{
		{
			"name alone",
			entry{"name": "shop"},
			snapshot.SecretRef{Secret: snapshot.Key{Namespace: "edge", Name: "shop"}},
		},
		{
			"namespace",
			entry{"name": "shop", "namespace": "shop"},
			snapshot.SecretRef{Secret: snapshot.Key{Namespace: "shop", Name: "shop"}},
		},
		{
			"key",
			entry{"name": "shop.clients", "key": ".htpasswd"},
			snapshot.SecretRef{Secret: snapshot.Key{Namespace: "edge", Name: "shop.clients"}, DataKey: ".htpasswd"},
		},
		{
			"the Registry's name in another namespace",
			entry{"name": "registry", "namespace": "shop"},
			snapshot.SecretRef{Secret: snapshot.Key{Namespace: "shop", Name: "registry"}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.about, func(t *testing.T) {
			e := registry(t, shop.with("secretRef", tt.ref)).Entries()[0]
			require.NoError(t, e.Err)
			assert.Equal(t, tt.want, e.SecretRef)
		})
	}
}

func TestEscapedStringsAreReadAsAnyOther(t *testing.T) {
	reg, err := parseText("registry.json", `{"version": 1, "apps": [{"name": "sh\u006fp", "hostnames": ["sh\u006fp.example.com"],
		"expiresAt": "2027-03-01T00\u003a00:00Z", "secretRef": {"name": "sh\u006fp", "namespace": "sh\u006fp", "key": "t\u006fken"}}]}`)
	require.NoError(t, err)
	e := reg.Entries()[0]
	require.NoError(t, e.Err)
	assert.Equal(t, snapshot.SecretRef{Secret: snapshot.Key{Namespace: "shop", Name: "shop"}, DataKey: "token"}, e.SecretRef)
	assert.Equal(t, time.Date(2027, 3, 1, 0, 0, 0, 0, time.UTC), e.ExpiresAt)
	assert.Equal(t, []string{"shop.example.com"}, e.Hostnames)
}

func TestExpiresAt(t *testing.T) {
	want := time.Date(2027, 3, 1, 0, 0, 0, 0, time.UTC)
	for _, written := range []string{"2027-03-01T00:00:00Z", "2027-03-01T01:30:00+01:30", "2027-03-01T00:00:00.000Z"} {
		e := registry(t, shop.with("expiresAt", written)).Entries()[0]
		require.NoError(t, e.Err)
		assert.True(t, e.ExpiresAt.Equal(want), "%s is %s", written, e.ExpiresAt)
	}
	t.Run("left out means never", func(t *testing.T) {
		assert.True(t, registry(t, shop).Entries()[0].ExpiresAt.IsZero())
	})
	t.Run("YAML, quoted or not", func(t *testing.T) {
		for _, written := range []string{"2027-03-01T00:00:00Z", `"2027-03-01T00:00:00Z"`, "!!timestamp 2027-03-01T00:00:00Z"} {
			reg, err := parseText("registry.yaml", "version: 1\napps:\n- name: shop\n  hostnames: [shop.example.com]\n"+
				"  secretRef: {name: shop}\n  expiresAt: "+written+"\n")
			require.NoError(t, err)
			require.NoError(t, reg.Entries()[0].Err, written)
			assert.True(t, reg.Entries()[0].ExpiresAt.Equal(want), written)
		}
	})
}

func TestHostnameTwiceInOneAppIsAWarningOnly(t *testing.T) {
	apps := open(t, app("shop", "shop.example.com", "SHOP.example.com.", "*.shop.example.com", "*.Shop.example.com:443"))
	shop := apps.At(0)
	assert.Equal(t, []string{"shop.example.com", "*.shop.example.com"}, shop.Hostnames)
	assert.Equal(t, []string{`hostnames: 2 repeats, the last "*.shop.example.com"; remove them`}, shop.Warnings)
	assert.Equal(t, "shop: allowed", answer(apps, "shop.example.com"))
	assert.Equal(t, "shop: allowed", answer(apps, "a.shop.example.com"))
	assert.Empty(t, apps.Conflicts())
}

func TestManyHostnamesOfOneApp(t *testing.T) {
	hostnames := make([]string, 1000)
	for i := range hostnames {
		hostnames[i] = fmt.Sprintf("host-%d.example.com", i)
	}
	e := registry(t, app("shop", append(hostnames, hostnames...)...)).Entries()[0]
	require.NoError(t, e.Err)
	assert.Equal(t, hostnames, e.Hostnames)
	assert.Len(t, e.Warnings, 1)
}

func TestWritersSecretReadyIsReadAndDropped(t *testing.T) {
	key := snapshot.Key{Namespace: "shop", Name: "shop"}
	for _, written := range []any{true, false, nil} {
		reg := registry(t, shop.with("secretReady", written))
		require.NoError(t, reg.Entries()[0].Err)

		for about, state := range map[string]snapshot.SecretState{
			"pending":    {},
			"absent":     snapshot.Absent(),
			"forbidden":  snapshot.Forbidden("outside the scope"),
			"without it": snapshot.Present(secret(key, "1", map[string]string{"other": "value"})),
		} {
			apps := build(t, snapshot.NewObjects(start, reg, map[snapshot.Key]snapshot.SecretState{key: state}))
			_, reason := apps.Lookup("shop.example.com")
			assert.Equal(t, snapshot.Unavailable, reason.Outcome(), "%v, %s", written, about)
			assert.False(t, apps.At(0).SecretReady, "%v, %s", written, about)
		}
		apps := build(t, snapshot.NewObjects(start, reg, allPresent(reg)))
		assert.True(t, apps.At(0).SecretReady, "whatever the writer says: %v", written)
	}
}

func TestRegistryErrorsQuoteNoMoreThanTheyMust(t *testing.T) {
	e := registry(t, app("shop", strings.Repeat("x", 1000))).Entries()[0]
	require.ErrorContains(t, e.Err, `"`+strings.Repeat("x", 64)+`"... is no hostname`)
}
