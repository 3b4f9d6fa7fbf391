package snapshot_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

// FuzzHeaders reads Authorization headers and cookies as net/http does as well: what
// opens the App is there for it too, and what is scrubbed is there for nobody.
func FuzzHeaders(f *testing.F) {
	const value = "the-key"
	reg := registry(f, shop.with("secretRef", object{"name": "clients"}).with("anyOf", list{
		object{"apiKey": object{"from": list{inBearer, inCookie}, "key": "token"}},
		object{"basic": object{"format": "basic"}},
	}))
	require.NoError(f, reg.Entries()[0].Err)
	key := snapshot.Key{Namespace: registryKey.Namespace, Name: "clients"}
	apps := build(f, snapshot.NewObjects(start, reg, map[snapshot.Key]snapshot.SecretState{
		key: snapshot.Present(secret(key, "1", map[string]string{"token": value, "username": "bob", "password": "b"})),
	}))
	require.Equal(f, snapshot.ReasonAllowed, apps.At(0).Reason)
	for _, seed := range [][2]string{
		{"Bearer the-key", ""},
		{"bearer\tthe-key", "key=the-key"},
		{"", `key="the-key"; x=y`},
		{"Basic Ym9iOmI=", ""},
		{"Basic x, Bearer the-key", "a=b, key=the-key"},
		{"", "KEY=the-key; key=the-key"},
		{"Bearer", "k%65y=the-key; key[a]=1"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, authorization, cookie string) {
		r := &http.Request{Header: http.Header{"Authorization": {authorization}, "Cookie": {cookie}}}
		d := ask(apps, r.Header)
		if d.Reason == snapshot.ReasonAllowed {
			user, password, _ := r.BasicAuth()
			_, token, _ := strings.Cut(strings.TrimSpace(authorization), " ")
			assert.True(t, user == "bob" && password == "b" || strings.Contains(token+authorization, value) || strings.Contains(cookie, value))
			assert.Contains(t, []string{"bob", "shop"}, d.Identity)
		}
		for _, scrub := range []func(){func() {
			apps.Guards().Prepare(r.Header, snapshot.Decision{App: apps.At(0), Reason: snapshot.ReasonPublic})
		}, func() { apps.Guards().ScrubAll(r.Header) }} {
			again := &http.Request{Header: http.Header{"Authorization": {authorization}, "Cookie": {cookie}}}
			r.Header = again.Header
			scrub()
			_, _, basic := r.BasicAuth()
			assert.False(t, basic)
			assert.Empty(t, r.CookiesNamed("key"))
			assert.Equal(t, snapshot.ReasonCredentialsMissing, ask(apps, r.Header).Reason)
		}
	})
}
