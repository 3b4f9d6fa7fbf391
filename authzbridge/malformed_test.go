package authzbridge_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/authzbridge"
)

// spoilt is an App of whose credentials one is malformed.
type spoilt struct {
	rotation
	bad  string   // what the malformed one would be, were it read
	says []string // of the warnings, one for each, what follows the name of the Secret
}

func spoiltKeys() []spoilt {
	digest := keyItem("alice", "old-key", "")
	return []spoilt{
		{
			rotation{
				app: "lines", secretKey: "keys", anyOf: byKeyFrom(inAnyPlace, ", format: lines"), carry: asBearer,
				before: map[string]string{"keys": "# callers\nalice old-key\nbad b4d-key more\nbob new-key\nbob@[] b4d-key\n"},
			},
			"b4d-key",
			[]string{`key "keys": line 3: `, `key "keys": line 5: `},
		},
		{
			rotation{
				app: "map", anyOf: byKeyFrom(inAnyPlace, ""), carry: asBearer,
				before: map[string]string{"alice": "old-key", "bad": "b4d-\x00key", "empty": "", "bob": "new-key"},
			},
			"b4d-",
			[]string{`key "bad": `, `key "empty": `},
		},
		{
			rotation{
				app: "keyset", secretKey: "keys.json", anyOf: byKeyFrom(inAnyPlace, ""), carry: asBearer,
				before: map[string]string{"keys.json": keyset(digest, keyItem("bad", "b4d-key", `,"notAfter":"soon"`), keyItem("bob", "new-key", ""),
					`{"id":"bad","sha256":"b4d-key"}`, `"b4d-key"`)},
			},
			"b4d-key",
			[]string{`key "keys.json": item 2: `, `key "keys.json": item 4: sha256: `, `key "keys.json": item 5: `},
		},
	}
}

func spoiltPasswords() []spoilt {
	hash := passwordHashes["bcrypt-2a"].old
	return []spoilt{
		{
			rotation{
				app: "htpasswd", anyOf: "[{basic: {}}]", carry: asBasic,
				before: map[string]string{"auth": "alice:" + hash + "\nb4d:" + hash[:50] + "\n\nb4d:b4d-password\nb4d\nbob:" + passwordHashes["apr1"].fresh},
			},
			"b4d:b4d-password",
			[]string{`key "auth": line 2: `, `key "auth": line 4: `, `key "auth": line 5: `},
		},
	}
}

func spoiltTokenKeys(t *testing.T) []spoilt {
	t.Helper()
	set, a, b := tokensOf(t, "jwks", "ES256", byToken("ES256", ""))
	bad := newIssuer(t, "ES256", foreignIssuer).withKid("b4d")
	broken := strings.Replace(bad.jwk(), `"y":`, `"Y":`, 1)
	set.before = map[string]string{"jwks.json": jwksWith(a.jwk(), broken, b.jwk(), `{"kty":"b4d"}`, `"b4d"`)}

	blocks, c, d := tokensOf(t, "pem", "EdDSA", byToken("EdDSA", ", key: key.pem"))
	worse := newIssuer(t, "EdDSA", foreignIssuer)
	text := worse.publicPEM()
	blocks.before = map[string]string{"key.pem": c.publicPEM() + text[:40] + "\n" + d.publicPEM() + strings.ReplaceAll(text, "PUBLIC KEY", "B4D KEY")}
	return []spoilt{
		{set, bad.token(nil), []string{`key "jwks.json": item 2: `, `key "jwks.json": item 4: kty: `, `key "jwks.json": item 5: `}},
		{blocks, worse.token(nil), []string{`key "key.pem": item 2: `, `key "key.pem": item 4: `}},
	}
}

func TestRow15WhatIsMalformedSpoilsItselfAloneAndIsReported(t *testing.T) {
	w := newTown(t)
	all := append(append(spoiltKeys(), spoiltPasswords()...), spoiltTokenKeys(t)...)
	entries := make([]string, len(all))
	for i := range all {
		all[i].put(w, all[i].before)
		entries[i] = all[i].entry()
	}
	w.registry(document(entries...))
	d := keyed(t, w)
	d.becomes(all[0].host(), http.StatusUnauthorized)
	st := d.bridge().Apps
	require.Empty(t, st.NotServing)

	for _, c := range all {
		t.Run(c.app, func(t *testing.T) {
			for _, good := range c.good() {
				got := d.send(c.host(), c.carry(good.credential))
				assert.Equal(t, http.StatusOK, got.status)
				assert.True(t, strings.HasPrefix(got.body, c.app+" "+good.identity+" "), got.body)
			}
			assert.Equal(t, http.StatusUnauthorized, d.send(c.host(), c.carry(c.bad)).status)
			assertWarnings(t, st.Warnings, c.app, "secret "+w.namespace+"/"+c.app+": ", c.says)
		})
	}
	text, err := json.Marshal(st)
	require.NoError(t, err)
	assert.NotContains(t, strings.ToLower(string(text)), "b4d", "no warning says what is wrong in its own words")
}

// good are the callers of the credentials beside the malformed one.
func (c spoilt) good() []caller {
	switch {
	case c.old.credential != "":
		return []caller{c.old, c.fresh}
	case c.app == "htpasswd":
		return []caller{{"alice:old-password", "alice"}, {"bob:new-password", "bob"}}
	}
	return []caller{{"old-key", "alice"}, {"new-key", "bob"}}
}

// assertWarnings asks for exactly these warnings about an App.
func assertWarnings(t *testing.T, all []authzbridge.AppWarning, app, prefix string, says []string) {
	t.Helper()
	var found []string
	for _, w := range all {
		if w.App == app {
			found = append(found, w.Warning)
		}
	}
	require.Len(t, found, len(says), found)
	for i, want := range says {
		assert.True(t, strings.HasPrefix(found[i], prefix+want), "%s\nis not about %s", found[i], want)
		assert.True(t, strings.HasSuffix(found[i], "; it is left out"), found[i])
	}
}

func TestAnAppWithNothingLeftSaysWhere(t *testing.T) {
	w := newTown(t)
	cases := map[string]struct {
		anyOf, text, says string
	}{
		"lines":    {byKeyFrom(inXAPIKey, ", key: it, format: lines"), "a b c\n", "apiKey"},
		"keyset":   {byKeyFrom(inXAPIKey, ", key: it, format: keyset"), `{"keys":[{"id":"a"}]}`, "apiKey"},
		"htpasswd": {"[{basic: {key: it}}]", "alice:plain\n", "basic"},
		"jwks":     {byToken("RS256", ", key: it"), `{"keys":[{"kty":"RSA"}]}`, "jwt"},
		"pem":      {byToken("RS256", ", key: it, format: pem"), "-----BEGIN PUBLIC KEY-----\n", "jwt"},
		"hmac":     {byToken("HS256", ", key: it, format: hmac"), "too short", "jwt"},
	}
	var entries []string
	for name, c := range cases {
		r := rotation{app: name, anyOf: c.anyOf}
		r.put(w, map[string]string{"it": c.text})
		entries = append(entries, r.entry())
	}
	w.registry(document(append(entries, app("shop", "shop.example.com"))...))
	w.secret("shop", someToken())
	d := keyed(t, w)
	d.becomes("shop.example.com", http.StatusOK)

	problems := map[string]authzbridge.AppProblem{}
	for _, p := range d.bridge().Apps.NotServing {
		problems[p.App] = p
	}
	require.Len(t, problems, len(cases))
	for name, c := range cases {
		assert.Equal(t, http.StatusServiceUnavailable, d.status(name+".example.com"), name)
		assert.Equal(t, "secret_invalid", problems[name].Reason, name)
		assert.Contains(t, problems[name].Detail, fmt.Sprintf(`secret %s/%s: %s: key "it": `, w.namespace, name, c.says))
	}
}
