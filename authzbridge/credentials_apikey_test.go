package authzbridge_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

const (
	inXAPIKey  = "{header: X-API-Key}"
	inAnyPlace = "{header: X-API-Key}, {header: Authorization, scheme: Bearer}, {cookie: key}"
)

// keyRotations has every format of API keys, and every place.
func keyRotations() []rotation {
	all := append(singleKeys(), keySets()...)
	for i := range all {
		r := &all[i]
		r.wrong = append(r.wrong, "wrong-key", "old-ke", "old-keys", "OLD-KEY", strings.Repeat("old-key", 2000))
		r.old.credential, r.fresh.credential = "old-key", "new-key"
		if r.old.identity == "" {
			r.old.identity, r.fresh.identity = r.app, r.app
		}
	}
	return all
}

func byKeyFrom(places, more string) string {
	return fmt.Sprintf("[{apiKey: {from: [%s]%s}}]", places, more)
}

// singleKeys are those of Secrets that hold one value.
func singleKeys() []rotation {
	all := []rotation{
		oneKey("token-explicit", "value", "value", byKeyFrom(inXAPIKey, ", format: token"), inHeader("X-API-Key", "")),
		oneKey("token-of-a-named-key", "value", "value", byKeyFrom(inAnyPlace, ""), inHeader("X-API-Key", "")),
		oneKey("token-of-the-kind-s-own-key", "other", "value", byKeyFrom(inAnyPlace, ", key: value"), inCookie("key")),
		oneKey("token-under-token", "", "token", byKeyFrom(inAnyPlace, ""), asBearer),
		oneKey("token-under-api-key", "", "api-key", byKeyFrom("{header: Authorization}", ""), inHeader("Authorization", "")),
		oneKey("token-under-api-key-of-kong", "", "api_key", byKeyFrom("{header: X-API-Key, scheme: Key}", ""), inHeader("X-API-Key", "key")),
		oneKey("token-under-key", "", "key", byKeyFrom("{cookie: session.id}", ""), inCookie("session.id")),
		oneKey("token-in-a-typed-secret", "password", "password", byKeyFrom(inXAPIKey, ", format: token"), inHeader("X-API-Key", "")),
	}
	all[len(all)-1].kind = "kubernetes.io/basic-auth"
	return append(all, rotation{
		app:    "tokens-of-two-items",
		anyOf:  fmt.Sprintf("[{apiKey: {from: [%s], key: blue}}, {apiKey: {from: [%s], key: green}}]", inAnyPlace, inAnyPlace),
		carry:  asBearer,
		before: map[string]string{"blue": "old-key", "green": "old-key"},
		during: map[string]string{"blue": "old-key", "green": "new-key"},
		after:  map[string]string{"blue": "new-key", "green": "new-key"},
	})
}

// oneKey has something else beside it where the App names a key.
func oneKey(name, secretKey, holds, anyOf string, carry carrier) rotation {
	r := rotation{app: name, secretKey: secretKey, anyOf: anyOf, carry: carry}
	r.before, r.after = map[string]string{holds: "old-key"}, map[string]string{holds: "new-key"}
	if secretKey != "" {
		r.before["other"], r.after["other"] = "wrong-key", "wrong-key"
	}
	return r
}

// keySets are those of Secrets that hold several values.
func keySets() []rotation {
	alice, bob := caller{identity: "alice"}, caller{identity: "bob"}
	return []rotation{
		{
			app: "lines-with-clients", secretKey: "keys", carry: inHeader("X-API-Key", ""), old: alice, fresh: bob,
			anyOf:  byKeyFrom(inAnyPlace, ", format: lines"),
			before: map[string]string{"keys": "alice old-key\n"},
			during: map[string]string{"keys": "# callers\r\nalice old-key\r\n\r\nbob\tnew-key\r\n"},
			after:  map[string]string{"keys": "bob new-key"},
		},
		{
			app: "lines-without-clients", carry: inCookie("key"),
			anyOf:  byKeyFrom(inAnyPlace, ", key: keys, format: lines"),
			before: map[string]string{"keys": "old-key", "token": "wrong-key"},
			during: map[string]string{"keys": "old-key\nnew-key", "token": "wrong-key"},
			after:  map[string]string{"keys": "new-key", "token": "wrong-key"},
		},
		{
			app: "map-of-clients", carry: asBearer, old: alice, fresh: bob, anyOf: byKeyFrom(inAnyPlace, ""),
			before: map[string]string{"alice": "old-key"},
			during: map[string]string{"alice": "old-key", "bob": "new-key"},
			after:  map[string]string{"bob": "new-key"},
		},
		{
			app: "map-explicit", carry: asBearer, old: caller{identity: "token"}, fresh: bob,
			anyOf:  byKeyFrom(inAnyPlace, ", format: map"),
			before: map[string]string{"token": "old-key", "users": "wrong-key"},
			during: map[string]string{"token": "old-key", "users": "wrong-key", "bob": "new-key"},
			after:  map[string]string{"users": "wrong-key", "bob": "new-key"},
		},
		{
			app: "keyset", secretKey: "keys.json", carry: inHeader("X-API-Key", ""), old: alice, fresh: bob,
			anyOf:  byKeyFrom(inAnyPlace, ""),
			before: map[string]string{"keys.json": keyset(keyItem("alice", "old-key", ""))},
			during: map[string]string{"keys.json": keyset(keyItem("alice", "old-key", ""), keyItem("bob", "new-key", ""))},
			after:  map[string]string{"keys.json": keyset(keyItem("bob", "new-key", ""))},
		},
		keysetWithTimes(alice, bob),
	}
}

// keysetWithTimes takes keys away by their dates, without a change of others.
func keysetWithTimes(alice, bob caller) rotation {
	const past, future = `"2001-01-01T00:00:00Z"`, `"2201-01-01T00:00:00Z"`
	never := []string{
		keyItem("ended", "ended-key", `,"notAfter":`+past),
		keyItem("coming", "coming-key", `,"notBefore":`+future),
	}
	old := keyItem("alice", "old-key", `,"notBefore":`+past+`,"notAfter":`+future)
	ended := keyItem("alice", "old-key", `,"notAfter":`+past)
	fresh := keyItem("bob", "new-key", `,"notBefore":`+past)
	return rotation{
		app: "keyset-with-times", carry: inCookie("key"), old: alice, fresh: bob, wrong: []string{"ended-key", "coming-key"},
		anyOf:  byKeyFrom(inAnyPlace, ", key: keys.json, format: keyset"),
		before: map[string]string{"keys.json": keyset(append(never, old)...)},
		during: map[string]string{"keys.json": keyset(append(never, old, fresh)...)},
		after:  map[string]string{"keys.json": keyset(append(never, ended, fresh)...)},
	}
}

func keyset(items ...string) string { return jwksWith(items...) }

// keyItem is an item of a keyset, with more members.
func keyItem(id, key, more string) string {
	sum := sha256.Sum256([]byte(key))
	return fmt.Sprintf(`{"id":%q,"sha256":%q%s}`, id, hex.EncodeToString(sum[:]), more)
}

func TestAKeysetChangesOverByItsDates(t *testing.T) {
	w := newTown(t)
	r := rotation{
		app: "keyset", secretKey: "keys.json", anyOf: byKeyFrom(inXAPIKey, ""), carry: inHeader("X-API-Key", ""),
		old: caller{"old-key", "alice"}, fresh: caller{"new-key", "bob"},
	}
	r.put(w, map[string]string{"keys.json": keyset(keyItem("alice", "old-key", ""))})
	w.registry(document(r.entry()))
	d := keyed(t, w)
	d.becomes(r.host(), http.StatusUnauthorized)
	served := rotated{&r, t, d}
	served.accepts(r.old)

	at := time.Now().Add(time.Second).Format(time.RFC3339Nano)
	r.put(w, map[string]string{"keys.json": keyset(
		keyItem("alice", "old-key", `,"notAfter":"`+at+`"`), keyItem("bob", "new-key", `,"notBefore":"`+at+`"`),
	)})
	served.becomesValid(r.fresh)
	served.refuses("old-key")
	served.accepts(r.fresh)
	assert.Positive(t, d.metric(`authz_bridge_decisions_total{app="keyset",reason="credentials_expired"}`))
}
