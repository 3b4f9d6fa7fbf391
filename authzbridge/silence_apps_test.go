package authzbridge_test

import (
	"cmp"
	"crypto/sha1"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// watched is an App whose callers and Secret are full of canaries.
type watched struct {
	name     string
	at       string            // the first label of its hostname; the name if empty
	key      string            // of secretRef; empty for any
	rest     string            // of the entry
	data     map[string]string // of the Secret; nil for none
	labelled bool              // for injection
	asks     []asked
}

// asked is a request, and its answer.
type asked struct {
	header http.Header
	status int
}

func (a *watched) host() string { return cmp.Or(a.at, a.name) + ".example.com" }

func (a *watched) entry() string {
	ref := "name: " + a.name
	if a.key != "" {
		ref += ", key: " + a.key
	}
	return "name: " + a.name + "\nhostnames: [" + a.host() + "]\nsecretRef: {" + ref + "}" + a.rest
}

// askAll puts each credential where it is looked for.
func askAll(status int, carry carrier, credentials ...string) []asked {
	var all []asked
	for _, credential := range credentials {
		all = append(all, asked{carry(credential), status})
	}
	return all
}

var asKey = inHeader("X-API-Key", "")

func watchedKeys(c canaries) []watched {
	token, inject := c.plant("token"), c.plant("inject")
	alice, bob, shared := c.plant("line of alice"), c.plant("line of bob"), c.plant("shared by two")
	fresh, late := c.plant("keyset"), c.plant("keyset expired")
	const ofAll = "\nidentityHeader: X-Auth-Client\npreflight: pass\npublic: [{path: /healthz}]"
	return []watched{
		{name: "token", key: "token", rest: byKey + ofAll, data: map[string]string{"token": "Bearer " + token + "\n"}, asks: slices.Concat(
			askAll(200, asKey, token), askAll(200, asBearer, token), askAll(200, inCookie("key"), token),
			askAll(401, asKey, c.plant("wrong key"), token+"x", "Bearer "+token),
			askAll(401, asBearer, c.plant("wrong bearer")), askAll(401, inCookie("key"), c.plant("wrong cookie")),
			askAll(401, asBasic, c.plant("user for a key")+":"+token),
			[]asked{
				{http.Header{"X-Api-Key": {token, token}}, 401},
				{http.Header{"X-Api-Key": {token}, "Cookie": {"key=" + c.plant("another cookie")}}, 401},
				{http.Header{"Authorization": {"Bearer " + token + ", Bearer " + c.plant("second in a line")}}, 401},
			},
		)},
		{
			name: "lines", key: "token", rest: "\nanyOf: [{apiKey: {from: [{header: X-API-Key}], format: lines}}]\nstrip: false",
			data: clients("alice " + alice + "\nbob " + bob + " " + c.plant("rest of a line") + "\n" + shared + "\neve " + shared + "\n" + c.plant("odd client") + "\x7f x\n"),
			asks: slices.Concat(askAll(200, asKey, alice), askAll(401, asKey, bob, shared, bob+" "+c.plant("rest of a line"))),
		},
		{
			name: "map", rest: byKey + "\nstrip: false",
			data: map[string]string{"alice": alice, "bob": shared, "eve": shared + "\n", "dan": c.plant("control") + "\x00"},
			asks: slices.Concat(askAll(200, asKey, alice), askAll(200, asBearer, alice), askAll(401, asKey, shared)),
		},
		{
			name: "keyset", key: "token", rest: byKey,
			data: clients(keyset(keyItem("alice", fresh, ""), keyItem("old", late, `,"notAfter":"2020-01-01T00:00:00Z"`),
				`{"id":"bad","sha256":"`+c.plant("no digest")+`"}`, `"`+c.plant("no item")+`"`)),
			asks: slices.Concat(askAll(200, asKey, fresh), askAll(401, asKey, late)),
		},
		{
			name: "given", key: "token", labelled: true,
			rest: byKey + "\ninject: {header: Authorization, scheme: Bearer, key: upstream}",
			data: map[string]string{"token": token, "upstream": inject + "\n"}, asks: slices.Concat(askAll(200, asKey, token), askAll(401, asKey, inject)),
		},
		{
			name: "baked", key: "token", labelled: true, rest: byKey + "\ninject: {cookie: session, key: upstream}",
			data: map[string]string{"token": token, "upstream": inject}, asks: askAll(200, asBearer, token),
		},
	}
}

func watchedPasswords(t *testing.T, c canaries) []watched {
	t.Helper()
	bcrypted, apr1, sha := c.plant("bcrypt"), c.plant("apr1"), c.plant("sha")
	slow := c.keep("slow hash", "$2a$10$Al97Ts3x6OB2hdFReoAxgOaIG8375oUP9Z8NzXO.TB5M.Zjsy/jTO")
	apr1Hash := c.keep("apr1 hash", "$apr1$saltsalt$CTY4AJLcHUxcPYTXcky8Q0")
	digest := sha1.Sum([]byte(sha))
	shaHash := c.keep("sha hash", base64.StdEncoding.EncodeToString(digest[:]))
	line := passwordLine(t, "alice", bcrypted)
	_, hash, _ := strings.Cut(strings.TrimSpace(line), ":")
	c.keep("bcrypt hash", hash)
	plain, long := c.plant("plain text"), c.plant("long password")+strings.Repeat("p", 10_000)
	user, password := c.plant("username"), c.plant("password")
	return []watched{
		{
			name: "htpasswd", key: "auth", rest: "\nanyOf: [{basic: {}}]",
			data: map[string]string{"auth": line + "bob:" + apr1Hash + "\neve:{SHA}" + shaHash + "\n" + c.plant("no colon") + "\n" +
				"dan:" + plain + "\nfay:" + hash[:40] + "\ngus:$6$salt$" + c.plant("crypt") + "\n"},
			asks: slices.Concat(
				askAll(200, asBasic, "alice:"+bcrypted, "bob:"+apr1, "eve:"+sha, "alice:"+bcrypted),
				askAll(401, asBasic, "alice:"+c.plant("wrong password"), "nobody:"+bcrypted, "dan:"+plain, bcrypted+":alice",
					"alice:"+bcrypted+"\x00", "alice:"+long, long+":x", c.plant("no colon either"), "alice:"+hash),
				askAll(401, inHeader("Authorization", "Basic"), c.plant("no base64"), bcrypted),
			),
		},
		{
			name: "pair", rest: "\nanyOf: [{basic: {}}]", data: map[string]string{"username": "alice", "password": password + "\n"},
			asks: slices.Concat(askAll(200, asBasic, "alice:"+password), askAll(401, asBasic, "alice:"+user, user+":"+password)),
		},
		{
			name: "badpair", rest: "\nanyOf: [{basic: {}}]", data: map[string]string{"username": user + ":", "password": password},
			asks: askAll(503, asBasic, user+":"+password),
		},
		{name: "slow", key: "auth", rest: "\nanyOf: [{basic: {}}]", data: map[string]string{"auth": "alice:" + slow}},
		{
			name: "weak", key: "auth", rest: "\nanyOf: [{basic: {}}]", data: map[string]string{"auth": "alice:" + password + "\n"},
			asks: askAll(503, asBasic, "alice:"+password),
		},
	}
}

func watchedTokens(t *testing.T, c canaries) []watched {
	t.Helper()
	const team, ofHMAC = ", claims: {team: [web]}", "hmac secret of thirty two bytes at least"
	rs, es, ed := newIssuer(t, "RS256", firstIssuer).withKid("one"), newIssuer(t, "ES256", firstIssuer), newIssuer(t, "EdDSA", firstIssuer)
	hs := issuer{tb: t, algorithm: "HS256", private: []byte(c.plant(ofHMAC))}
	oct := issuer{tb: t, algorithm: "HS256", kid: "two", private: []byte(c.plant("oct secret of thirty two bytes at least"))}
	for _, i := range []issuer{rs, es, ed, oct} {
		c.keepParts("jwk", i.jwk(), `{}[]":,`)
	}
	badPEM := pemBlock("PUBLIC KEY", []byte(c.plant("no key in PEM")))
	c.keepParts("PEM", es.publicPEM()+badPEM, "-\n")
	badJWK := `{"kty":"RSA","e":"AQAB","n":"` + c.plant("no modulus") + `"}`
	apps := []watched{
		{name: "jwks", rest: byToken("RS256, EdDSA", team), data: clients(jwksWith(badJWK, rs.jwk(), ed.jwk())), asks: tokensInAllStates(c, rs)},
		{name: "ed", rest: byToken("RS256, EdDSA", team), data: clients(jwksOf(rs, ed)), asks: tokensInAllStates(c, ed)},
		{name: "pem", rest: byToken("ES256", team), data: clients(es.publicPEM() + badPEM), asks: tokensInAllStates(c, es)},
		{name: "hmac", rest: byToken("HS256", team+", format: hmac"), data: clients(c.plant(ofHMAC) + "\n"), asks: tokensInAllStates(c, hs)},
		{name: "oct", rest: byToken("HS256", team), data: clients(jwksOf(oct)), asks: tokensInAllStates(c, oct)},
		{name: "nojwks", rest: byToken("RS256", ", format: jwks"), data: clients(c.plant("no jwks")), asks: askAll(503, asBearer, c.plant("token for no jwks"))},
	}
	for i := range apps {
		apps[i].key, apps[i].rest = "token", "\nanyOf: "+apps[i].rest
	}
	return apps
}

// tokensInAllStates are right, late, early, for somebody else, and no tokens at all.
func tokensInAllStates(c canaries, i issuer) []asked {
	i.tb.Helper()
	right := c.keepParts("token", i.token(nil), ".")
	expired := c.keepParts("token", i.token(claimMap{"exp": inSeconds(-time.Hour)}), ".")
	early := c.keepParts("token", i.token(claimMap{"nbf": inSeconds(time.Hour)}), ".")
	denied := c.keepParts("token", i.token(claimMap{"team": c.plant("another team")}), ".")
	other := c.keepParts("token", i.token(claimMap{"aud": c.plant("another audience"), "sub": c.plant("another subject")}), ".")
	header, rest, _ := strings.Cut(right, ".")
	return slices.Concat(
		askAll(200, asBearer, right), askAll(403, asBearer, denied),
		askAll(401, asBearer, expired, early, other, tampered(i.tb, right), header+"x."+rest, right+"."+rest, rest, c.plant("no token")),
	)
}

// watchedRefusals are answered the same whatever is presented.
func watchedRefusals(c canaries) []watched {
	token := clients(c.plant("token of a closed App"))
	apps := []watched{
		{name: "ambiguous", rest: byKey, data: map[string]string{"token": c.plant("ambiguous"), "other": c.plant("ambiguous too")}},
		{name: "reserved", key: "auth", rest: byKey, data: map[string]string{"auth": c.plant("a reserved key")}},
		{name: "several", key: "token", rest: byKey, data: clients(c.plant("first line") + "\n" + c.plant("second line"))},
		{
			name: "unlabelled", key: "token", rest: byKey + "\ninject: {header: Authorization, key: up}",
			data: map[string]string{"token": token["token"], "up": c.plant("what is not given away")},
		},
		{
			name: "uncooked", key: "token", labelled: true, rest: byKey + "\ninject: {cookie: s, key: up}",
			data: map[string]string{"token": token["token"], "up": c.plant("no cookie") + ";"},
		},
		{name: "keyless", key: "missing", rest: byKey, data: token},
		{name: "absent", key: "token", rest: byKey},
		{name: "wrong", key: "token", rest: byKey + "\nunheard: of", data: token},
		{name: "expired", key: "token", rest: byKey + "\nexpiresAt: 2020-01-01T00:00:00Z", data: token},
		{name: "elsewhere", key: "token", rest: byKey + "\nallowCIDRs: [10.0.0.0/8]", data: token},
		{name: "twin", key: "token", rest: byKey, data: token},
		{name: "other-twin", at: "twin", key: "token", rest: byKey, data: token},
	}
	for i := range apps {
		status := http.StatusServiceUnavailable
		if apps[i].name == "expired" || apps[i].name == "elsewhere" {
			status = http.StatusForbidden
		}
		apps[i].asks = refusedAnyway(c, apps[i].name, status)
	}
	return apps
}

// refusedAnyway presents something of every kind at every place.
func refusedAnyway(c canaries, name string, status int) []asked {
	credential := c.plant("sent to " + name)
	return slices.Concat(
		askAll(status, asKey, credential), askAll(status, asBearer, credential), askAll(status, inCookie("key"), credential),
		askAll(status, asBasic, "alice:"+credential, credential+":x"),
	)
}
