package snapshot_test

import (
	"encoding/base64"
	"maps"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

func byPassword(user, password string) headers {
	return headers{"Authorization": {"Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))}}
}

func hashOf(t *testing.T, password string) string {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	require.NoError(t, err)
	return string(hash)
}

const hmacKey = "a-placeholder-of-more-than-32-bytes"

func tokenOf(t *testing.T, claims object) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.HS256, Key: []byte(hmacKey)}, nil)
	require.NoError(t, err)
	token, err := jwt.Signed(signer).Claims(claims).Serialize()
	require.NoError(t, err)
	return token
}

func signed(t *testing.T, claims object) headers {
	t.Helper()
	return headers{"Authorization": {"Bearer " + tokenOf(t, claims)}}
}

// TestTheFirstWayThatProvesTheCallerWins has one Secret for three kinds.
func TestTheFirstWayThatProvesTheCallerWins(t *testing.T) {
	basic := object{"basic": object{"realm": "the shop", "key": "auth"}}
	token := object{"jwt": object{"key": "signing", "format": "hmac", "algorithms": list{"HS256"}, "claims": object{"team": list{"web"}}}}
	apps := guarded(t, list{object{"apiKey": object{"from": list{inHeader, inBearer}, "key": "token"}}, basic, token}, map[string]string{
		"token":   "a",
		"auth":    "bob:" + hashOf(t, "b"),
		"signing": hmacKey,
	})
	exp := start.Unix() + 60
	for about, c := range map[string]struct {
		header headers
		reason snapshot.Reason
		who    string
	}{
		"a key":                      {headers{"X-Api-Key": {"a"}}, snapshot.ReasonAllowed, "shop"},
		"a key as Bearer":            {headers{"Authorization": {"Bearer a"}}, snapshot.ReasonAllowed, "shop"},
		"a password":                 {byPassword("bob", "b"), snapshot.ReasonAllowed, "bob"},
		"a wrong password":           {byPassword("bob", "c"), snapshot.ReasonCredentialsInvalid, ""},
		"an unknown user":            {byPassword("eve", "b"), snapshot.ReasonCredentialsInvalid, ""},
		"no base64":                  {headers{"Authorization": {"Basic bob:b"}}, snapshot.ReasonCredentialsInvalid, ""},
		"a password after a NUL":     {byPassword("bob", "b\x00b"), snapshot.ReasonCredentialsInvalid, ""},
		"a token":                    {signed(t, object{"sub": "carol", "exp": exp, "team": "web"}), snapshot.ReasonAllowed, "carol"},
		"a token of another team":    {signed(t, object{"sub": "carol", "exp": exp, "team": "ops"}), snapshot.ReasonClaimsDenied, ""},
		"a token of yesterday":       {signed(t, object{"sub": "carol", "exp": exp - 120, "team": "web"}), snapshot.ReasonCredentialsExpired, ""},
		"a token without an end":     {signed(t, object{"sub": "carol", "team": "web"}), snapshot.ReasonCredentialsInvalid, ""},
		"two headers":                {headers{"Authorization": {"Bearer a", "Bearer a"}}, snapshot.ReasonCredentialsInvalid, ""},
		"a wrong key beside a right": {headers{"X-Api-Key": {"b"}, "Authorization": byPassword("bob", "b")["Authorization"]}, snapshot.ReasonAllowed, "bob"},
		"nothing":                    {nil, snapshot.ReasonCredentialsMissing, ""},
	} {
		t.Run(about, func(t *testing.T) {
			d := ask(apps, c.header)
			assert.Equal(t, c.reason.String(), d.Reason.String())
			assert.Equal(t, c.who, d.Identity)
		})
	}
	assert.Equal(t, []string{`Bearer realm="restricted"`, `Basic realm="the shop", charset="UTF-8"`}, apps.At(0).Challenges())
}

func TestWithoutAHasherNoPasswordIsRight(t *testing.T) {
	apps := guarded(t, list{object{"basic": object{}}}, map[string]string{"auth": "bob:" + hashOf(t, "b")})
	d := decider(start)
	d.Hasher = nil
	got := d.Decide(publish(apps), snapshot.Request{Host: "shop.example.com", Header: byPassword("bob", "b")})
	assert.Equal(t, snapshot.ReasonOverloaded, got.Reason)
}

func TestAUserAndAPasswordAsKubernetesHasThem(t *testing.T) {
	for about, way := range map[string]object{"auto": {}, "explicit": {"format": "basic"}} {
		t.Run(about, func(t *testing.T) {
			apps := guarded(t, list{object{"basic": way}}, map[string]string{"username": "bob", "password": "b"})
			assert.Equal(t, "bob", ask(apps, byPassword("bob", "b")).Identity)
			assert.Equal(t, snapshot.ReasonCredentialsInvalid, ask(apps, byPassword("bob", "")).Reason)
		})
	}
	reg := registry(t, shop.with("anyOf", list{object{"basic": object{"format": "basic"}}}))
	assert.Equal(t, []string{"password", "token", "username"}, reg.References()[snapshot.Key{Namespace: "shop", Name: "shop"}].Keys,
		"nothing else of the Secret is kept")
}

func TestAWayThatCannotBeReadClosesTheApp(t *testing.T) {
	apps := guarded(t, list{apiKey(inHeader), object{"basic": object{"key": "auth"}}}, map[string]string{"auth": "bob:plain"})
	assert.Equal(t, snapshot.ReasonSecretInvalid, apps.At(0).Reason)
	apps = guarded(t, list{object{"apiKey": object{"from": list{inHeader}, "key": "a"}}, object{"basic": object{"key": "auth"}}},
		map[string]string{"a": "b", "auth": "bob:plain"})
	assert.Equal(t, snapshot.ReasonSecretInvalid, apps.At(0).Reason)
	assert.Contains(t, apps.At(0).Detail, `basic: key "auth"`)
	apps = guarded(t, list{object{"basic": object{"key": "auth"}}}, map[string]string{"a": "b"})
	assert.Equal(t, snapshot.ReasonSecretKeyAbsent, apps.At(0).Reason)
}

// labelled opens an App of which the Secret's owner lets bytes be given away.
func labelled(t *testing.T, may bool, e entry, data map[string][]byte) *snapshot.Apps {
	t.Helper()
	reg := registry(t, e)
	require.NoError(t, reg.Entries()[0].Err)
	key := snapshot.Key{Namespace: "shop", Name: "shop"}
	s := snapshot.NewSecret(snapshot.SecretMeta{Key: key, Version: "1", MayInject: may}, data)
	return build(t, snapshot.NewObjects(start, reg, map[snapshot.Key]snapshot.SecretState{key: snapshot.Present(s)}))
}

func TestTheAppBehindIsGivenWhatTheSecretsOwnerLetsGo(t *testing.T) {
	data := map[string][]byte{"token": []byte("a"), "up": []byte("stored\n"), "bearer": []byte("Bearer stored"), "bad": []byte("a\nb"), "lost": []byte("Bearer "), "semi": []byte("a;b")}
	inject := func(fields ...any) entry {
		e := object{}
		for i := 0; i < len(fields); i += 2 {
			e[fields[i].(string)] = fields[i+1]
		}
		return shop.with("anyOf", list{apiKey(inHeader, inBearer)}).with("public", list{object{"path": "/open"}}).with("inject", e)
	}
	t.Run("not unless it is labelled", func(t *testing.T) {
		apps := labelled(t, false, inject("header", "Authorization", "key", "up"), data)
		assert.Equal(t, snapshot.ReasonSecretInvalid, apps.At(0).Reason)
		assert.Contains(t, apps.At(0).Detail, `is not labelled authz-bridge/inject: "true"`)
	})
	t.Run("nor what no header can carry", func(t *testing.T) {
		for _, e := range []entry{
			inject("header", "Authorization", "key", "bad"), inject("cookie", "c", "key", "semi"),
			inject("header", "Authorization", "scheme", "Bearer", "key", "lost"),
		} {
			assert.Equal(t, snapshot.ReasonSecretInvalid, labelled(t, true, e, data).At(0).Reason)
		}
		apps := labelled(t, true, inject("header", "Authorization", "key", "none"), data)
		assert.Equal(t, snapshot.ReasonSecretKeyAbsent, apps.At(0).Reason)
	})
	for about, c := range map[string]struct {
		entry       entry
		header, out headers
		public      headers
	}{
		"in Authorization": {
			inject("header", "Authorization", "scheme", "Bearer", "key", "up"),
			headers{"X-Api-Key": {"a"}, "Authorization": {"Basic of-the-caller"}, "Accept": {"*/*"}},
			headers{"Authorization": {"Bearer stored"}, "Accept": {"*/*"}},
			headers{"Accept": {"*/*"}},
		},
		"where the caller's was": {
			inject("header", "Authorization", "scheme", "Bearer", "key", "bearer"),
			headers{"Authorization": {"Bearer a"}},
			headers{"Authorization": {"Bearer stored"}},
			headers{},
		},
		"in a cookie": {
			inject("cookie", "session", "key", "up"),
			headers{"X-Api-Key": {"a"}, "Cookie": {"x=y; session=of-the-caller; ses%73ion=1; SESSION[a]=2", "z=1"}},
			headers{"Cookie": {"session=stored; x=y; z=1"}},
			headers{"Cookie": {"x=y", "z=1"}},
		},
	} {
		t.Run(about, func(t *testing.T) {
			apps := labelled(t, true, c.entry, data)
			d := ask(apps, c.header)
			require.Equal(t, snapshot.ReasonAllowed, d.Reason)
			open := clone(c.header)
			apps.Guards().Prepare(c.header, d)
			assert.Equal(t, c.out, c.header)

			apps.Guards().Prepare(open, snapshot.Decision{App: d.App, Reason: snapshot.ReasonPublic})
			assert.Equal(t, c.public, open, "on a public path nobody is given anything")
		})
	}
}

func TestTheAppBehindIsToldWhoTheCallerIsByNobodyElse(t *testing.T) {
	reg := registry(t,
		shop.with("anyOf", list{apiKey(inHeader)}).with("identityHeader", "x-auth-client"),
		app("blog", "blog.example.com").with("anyOf", list{apiKey(object{"header": "X-Auth-Client"})}),
		app("open", "open.example.com"),
	)
	apps := build(t, snapshot.NewObjects(start, reg, allPresent(reg)))
	forged := headers{"X-Auth-Client": {"root"}, "X_auth_client": {"root"}, "X.Auth.Client": {"root"}, "x-AUTH_client": {"root"}, "Connection": {"X-Auth-Client, close"}}
	send := func(host string, more headers) (headers, snapshot.Decision) {
		h := clone(forged)
		maps.Copy(h, more)
		apps.Guards().RemoveAliases(h)
		d := decider(start).Decide(publish(apps), snapshot.Request{Host: host, Header: h})
		if d.Outcome() == snapshot.Allow {
			apps.Guards().Prepare(h, d)
		}
		return h, d
	}
	h, d := send("shop.example.com", headers{"X-Api-Key": {"value"}})
	require.Equal(t, "shop", d.Identity)
	assert.Equal(t, headers{"X-Auth-Client": {"shop"}, "Connection": {"close"}}, h)

	h, d = send("open.example.com", nil)
	require.Equal(t, snapshot.ReasonAllowed, d.Reason)
	assert.Equal(t, headers{"Connection": {"close"}}, h, "nobody is told")

	_, d = send("blog.example.com", headers{"X-Auth-Client": {"value"}})
	assert.Equal(t, snapshot.ReasonAllowed, d.Reason, "what is an identity elsewhere may be a key here")

	h, d = send("shop.example.com", nil)
	require.Equal(t, snapshot.ReasonCredentialsMissing, d.Reason)
	apps.Guards().ScrubAll(h)
	assert.Equal(t, headers{"Connection": {"close"}}, h)

	h, _ = send("unknown.example.com", nil)
	apps.Guards().ScrubIdentities(h)
	assert.Equal(t, headers{"Connection": {"close"}}, h)
}

func clone(h headers) headers {
	cloned := make(headers, len(h))
	for name, values := range h {
		cloned[name] = append([]string(nil), values...)
	}
	return cloned
}

func TestAppsThatAreWrittenAlikeShareTheirPolicy(t *testing.T) {
	same := func(name string) entry {
		return app(name, name+".example.com").with("anyOf", list{apiKey(inHeader)}).with("strip", false)
	}
	reg := registry(t, same("a"), same("b"), same("c").with("strip", true), same("d").with("secretRef", entry{"name": "d", "key": "other"}))
	e := reg.Entries()
	assert.Same(t, e[0].Policy, e[1].Policy)
	assert.NotSame(t, e[0].Policy, e[2].Policy)
	assert.Equal(t, "other", e[3].AnyOf[0].DataKey)
}

func TestAKeyIsNoClientBecauseItIsThere(t *testing.T) {
	published := `{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB"}]}`
	data := map[string]string{"alice": "a", "bob": "b", "one": "root:{SHA}qUqP5cyxm6YcTAhz05Hph5gvu9M=", "two": published, "up": "upstream", "signing": hmacKey}
	for _, format := range []string{"auto", "map"} {
		e := shop.with("secretRef", object{"name": "shop", "namespace": "shop"}).
			with("anyOf", list{
				object{"apiKey": object{"from": list{inHeader}, "format": format}},
				object{"jwt": object{"key": "signing", "format": "hmac", "algorithms": list{"HS256"}}},
			}).
			with("inject", object{"header": "Authorization", "key": "up"})
		values := make(map[string][]byte)
		for k, v := range data {
			values[k] = []byte(v)
		}
		apps := labelled(t, true, e, values)
		require.Equal(t, snapshot.ReasonAllowed, apps.At(0).Reason, apps.At(0).Detail)
		for name, value := range data {
			want := snapshot.ReasonCredentialsInvalid
			if name == "alice" || name == "bob" {
				want = snapshot.ReasonAllowed
			}
			assert.Equal(t, want, ask(apps, headers{"X-Api-Key": {value}}).Reason, "%s, format %s", name, format)
		}
	}
}

func TestACallerThatHasProvedItselfNeedNotDoSoAgain(t *testing.T) {
	apps := guarded(t, list{apiKey(inHeader)}, map[string]string{"alice": "a", "bob": "b"})
	first := ask(apps, headers{"X-Api-Key": {"a"}})
	second := func(before snapshot.Decision, h headers) snapshot.Decision {
		return decider(start).Decide(publish(apps), snapshot.Request{Host: "shop.example.com", Header: h, Before: before})
	}
	assert.Equal(t, first, second(first, nil))
	assert.Equal(t, "alice", second(first, headers{"X-Api-Key": {"b"}}).Identity, "whatever is there now")
	assert.Equal(t, snapshot.ReasonCredentialsMissing, second(snapshot.Decision{App: first.App, Reason: snapshot.ReasonPublic}, nil).Reason)
	other := guarded(t, list{apiKey(inHeader)}, map[string]string{"alice": "a"})
	assert.Equal(t, snapshot.ReasonCredentialsMissing, second(ask(other, headers{"X-Api-Key": {"a"}}), nil).Reason, "for another App")
}

func TestNoTunnelIsOpenedPastTheChecks(t *testing.T) {
	apps := guarded(t, list{apiKey(inHeader)}, map[string]string{"alice": "a"})
	for upgrade, c := range map[string]struct{ allowed, public bool }{
		"websocket": {true, true}, "WebSocket": {true, true}, "SPDY/3.1": {true, false},
		"h2c": {}, "H2C": {}, "websocket, h2c": {}, "TLS/1.3": {}, "HTTP/2.0": {},
	} {
		for reason, stays := range map[snapshot.Reason]bool{snapshot.ReasonAllowed: c.allowed, snapshot.ReasonPublic: c.public, snapshot.ReasonPreflight: c.public} {
			h := headers{"Upgrade": {upgrade}, "Http2-Settings": {"x"}}
			apps.Guards().Prepare(h, snapshot.Decision{App: apps.At(0), Reason: reason})
			assert.Equal(t, stays, len(h["Upgrade"]) > 0, "%s %s", upgrade, reason)
		}
	}
	h := headers{"Upgrade": {"websocket", "h2c"}}
	apps.Guards().Prepare(h, snapshot.Decision{App: apps.At(0), Reason: snapshot.ReasonAllowed})
	assert.Empty(t, h)
}

func TestHeadersWithAMeaningOfTheirOwnAreNoIdentity(t *testing.T) {
	for _, name := range []string{"Accept", "Sec-WebSocket-Key", "Origin", "Content-Encoding", "If-Match", "range", "X-Csrf-Token", "user-agent", "X-Real-IP", "Upgrade"} {
		reg := registry(t, shop.with("anyOf", list{apiKey(inHeader)}).with("identityHeader", name))
		assert.ErrorContains(t, reg.Entries()[0].Err, "has another meaning", name)
	}
	reg := registry(t, shop.with("anyOf", list{apiKey(inHeader)}).with("identityHeader", "X-Forwarded-User"))
	assert.NoError(t, reg.Entries()[0].Err)
}
