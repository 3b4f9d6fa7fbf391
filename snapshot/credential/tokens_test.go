package credential_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/assert"

	"github.com/authz-bridge/authz-bridge/snapshot/credential"
)

// signers has what each algorithm signs with, and another of the same kind.
func signers() map[string][2]any {
	other := []byte(strings.ToUpper(secret64))
	return map[string][2]any{
		"RS256": {rsaKey(), otherRSA()}, "RS384": {rsaKey(), otherRSA()}, "RS512": {rsaKey(), otherRSA()},
		"PS256": {rsaKey(), otherRSA()}, "PS384": {rsaKey(), otherRSA()}, "PS512": {rsaKey(), otherRSA()},
		"ES256": {p256Key(), otherEC()}, "ES384": {p384Key(), newEC("b", elliptic.P384())}, "ES512": {p521Key(), newEC("b", elliptic.P521())},
		"EdDSA": {edKey(), otherEd()},
		"HS256": {[]byte(secret64), other}, "HS384": {[]byte(secret64), other}, "HS512": {[]byte(secret64), other},
	}
}

func TestEveryAlgorithmIsAcceptedWhenRightAndRefusedWhenWrong(t *testing.T) {
	for algorithm, keys := range signers() {
		t.Run(algorithm, func(t *testing.T) {
			jwksKeys := readTokens(t, data{"jwks.json": jwks(with(keys[0], nil))}, credential.Spec{}, algorithm)
			token := sign(algorithm, keys[0], "", claims(nil))
			assert.Equal(t, "alice", verified(jwksKeys, token, pinned(algorithm)))
			assert.Equal(t, "unknown", verified(jwksKeys, sign(algorithm, keys[1], "", claims(nil)), pinned(algorithm)), "another key")
			for other := range signers() {
				if other != algorithm {
					assert.Equal(t, "unknown", verified(jwksKeys, token, pinned(other)), "pinned to %s", other)
				}
			}
			parts := strings.Split(token, ".")
			for i := range parts {
				changed := strings.Split(token, ".")
				changed[i] = flip(changed[i])
				assert.Equal(t, "unknown", verified(jwksKeys, strings.Join(changed, "."), pinned(algorithm)), "part %d", i)
			}
			if _, secret := keys[0].([]byte); !secret {
				pemKeys := readTokens(t, data{"key.pem": publicPEM(keys[0])}, credential.Spec{}, algorithm)
				assert.Equal(t, "alice", verified(pemKeys, token, pinned(algorithm)))
				assert.True(t, pemKeys.Equal(jwksKeys), "however it is written")
			}
		})
	}
}

// flip changes a bit in the middle.
func flip(part string) string {
	raw := must(base64.RawURLEncoding.DecodeString(part))
	raw[len(raw)/2] ^= 1
	return base64.RawURLEncoding.EncodeToString(raw)
}

func TestNoKeyIsUsedWithTheAlgorithmsOfAnotherKind(t *testing.T) {
	all := make([]string, 0, len(signers()))
	for algorithm := range signers() {
		all = append(all, algorithm)
	}
	rules := pinned(all...) // an App that pins everything
	set := jwks(with(rsaKey(), nil), with(p256Key(), nil), with(edKey(), nil))
	keys := readTokens(t, data{"x": set}, credential.Spec{}, all...)
	for name, secret := range map[string][]byte{
		"PEM text":         []byte(publicPEM(rsaKey())),
		"PEM text trimmed": []byte(strings.TrimSpace(publicPEM(rsaKey()))),
		"PKCS1 PEM":        []byte(inPEM("RSA PUBLIC KEY", x509.MarshalPKCS1PublicKey(&rsaKey().PublicKey))),
		"DER":              must(x509.MarshalPKIXPublicKey(rsaKey().Public())),
		"modulus":          rsaKey().N.Bytes(),
		"JWKS text":        []byte(set),
		"EC point":         must(p256Key().PublicKey.Bytes()),
		"Ed25519 key":      public(edKey()).(ed25519.PublicKey),
	} {
		assert.Equal(t, "unknown", verified(keys, forge(`{"alg":"HS256"}`, claims(nil), secret), rules), name)
	}
	assert.Equal(t, "alice", verified(keys, sign("PS384", rsaKey(), "", claims(nil)), rules))
}

func TestOnlyACompactTokenWithTheRightHeaderCounts(t *testing.T) {
	keys, rules := hmacKeys(t), pinned("HS256")
	right := forged(`{"alg":"HS256"}`, claims(nil))
	parts := strings.Split(right, ".")
	encrypter := must(jose.NewEncrypter(jose.A256GCM, jose.Recipient{Algorithm: jose.DIRECT, Key: []byte(secret64[:32])}, nil))
	for name, c := range map[string]struct{ token, want string }{
		"right":                 {right, "alice"},
		"more members":          {forged(`{"alg":"HS256","typ":"JWT","x":[{"a":1}],"kid":""}`, claims(nil)), "alice"},
		"white space in JSON":   {forged(` { "alg" : "HS256" } `, " "+claims(nil)+"\n"), "alice"},
		"empty":                 {"", "unknown"},
		"two dots":              {"..", "unknown"},
		"none":                  {forged(`{"alg":"none"}`, claims(nil)), "unknown"},
		"none without":          {encode(`{"alg":"none"}`) + "." + parts[1] + ".", "unknown"},
		"None":                  {forged(`{"alg":"nOnE"}`, claims(nil)), "unknown"},
		"HS256 without":         {parts[0] + "." + parts[1] + ".", "unknown"},
		"alg of another case":   {forged(`{"alg":"hs256"}`, claims(nil)), "unknown"},
		"no alg":                {forged(`{}`, claims(nil)), "unknown"},
		"Alg":                   {forged(`{"Alg":"HS256"}`, claims(nil)), "unknown"},
		"alg as a list":         {forged(`{"alg":["HS256"]}`, claims(nil)), "unknown"},
		"alg not pinned":        {sign("HS384", []byte(secret64), "", claims(nil)), "unknown"},
		"alg twice":             {forged(`{"alg":"HS256","alg":"HS256"}`, claims(nil)), "unknown"},
		"alg twice, escaped":    {forged(`{"alg":"HS256","\u0061lg":"none"}`, claims(nil)), "unknown"},
		"kid twice":             {forged(`{"alg":"HS256","kid":"a","kid":"a"}`, claims(nil)), "unknown"},
		"kid as a number":       {forged(`{"alg":"HS256","kid":1}`, claims(nil)), "unknown"},
		"crit of unknown":       {forged(`{"alg":"HS256","crit":["x"],"x":1}`, claims(nil)), "unknown"},
		"crit of b64":           {forged(`{"alg":"HS256","crit":["b64"],"b64":true}`, claims(nil)), "unknown"},
		"b64":                   {forged(`{"alg":"HS256","b64":false}`, claims(nil)), "unknown"},
		"empty crit":            {forged(`{"alg":"HS256","crit":[]}`, claims(nil)), "unknown"},
		"crit as a string":      {forged(`{"alg":"HS256","crit":"x"}`, claims(nil)), "unknown"},
		"header is no JSON":     {forged(`alg`, claims(nil)), "unknown"},
		"header is a list":      {forged(`["HS256"]`, claims(nil)), "unknown"},
		"header is null":        {forged(`null`, claims(nil)), "unknown"},
		"two headers":           {forged(`{"alg":"HS256"}{"alg":"HS256"}`, claims(nil)), "unknown"},
		"jku, x5u":              {forged(`{"alg":"HS256","jku":"https://evil.example","x5u":"https://evil.example"}`, claims(nil)), "alice"},
		"own key in jku":        {forge(`{"alg":"HS256","jku":"https://evil.example"}`, claims(nil), []byte("evil")), "unknown"},
		"jwk of another":        {forged(fmt.Sprintf(`{"alg":"HS256","jwk":%s}`, with(otherEC(), nil)), claims(nil)), "alice"},
		"x5c of another":        {forged(fmt.Sprintf(`{"alg":"HS256","x5c":[%q]}`, certificateDER(otherEC())), claims(nil)), "alice"},
		"JWE":                   {must(must(encrypter.Encrypt([]byte(claims(nil)))).CompactSerialize()), "unknown"},
		"nested":                {forged(`{"alg":"HS256","cty":"JWT"}`, right), "unknown"},
		"JSON serialization":    {fmt.Sprintf(`{"protected":%q,"payload":%q,"signature":%q}`, parts[0], parts[1], parts[2]), "unknown"},
		"two parts":             {parts[0] + "." + parts[1], "unknown"},
		"four parts":            {right + "." + parts[2], "unknown"},
		"detached":              {parts[0] + ".." + parts[2], "unknown"},
		"space in front":        {" " + right, "unknown"},
		"newline behind":        {right + "\n", "unknown"},
		"newline inside":        {parts[0] + "." + parts[1][:8] + "\n" + parts[1][8:] + "." + parts[2], "unknown"},
		"padding":               {right + "=", "unknown"},
		"spare bits at the end": {right[:len(right)-1] + string(nextDigit(right[len(right)-1])), "unknown"},
		"as large as permitted": {padded(16 << 10), "alice"},
		"too large":             {padded(16<<10 + 1), "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, verified(keys, c.token, rules))
		})
	}
}

// nextDigit returns the base64 digit that follows one with spare bits, which are
// then not all zero.
func nextDigit(digit byte) byte { return digit + 1 }

// padded returns a right token of so many bytes.
func padded(size int) string {
	for _, header := range []string{`{"alg":"HS256"}`, `{"alg":"HS256"} `, `{"alg":"HS256"}  `} {
		payload := claims(nil)
		spare := size - len(forged(header, payload))
		for _, pad := range []int{spare*3/4 - 1, spare * 3 / 4, spare*3/4 + 1} {
			if token := forged(header, payload+strings.Repeat(" ", pad)); len(token) == size {
				return token
			}
		}
	}
	panic("no padding gives the size")
}

func TestTheSubjectIsAnIdentity(t *testing.T) {
	keys := hmacKeys(t)
	longest := strings.Repeat("s", 253)
	for name, c := range map[string]struct {
		sub  any
		want string
	}{
		"a name":              {"alice", "alice"},
		"what ASCII has":      {"!|~:/@\"'<>", "!|~:/@\"'<>"},
		"as long as can be":   {longest, longest},
		"one byte longer":     {longest + "s", "unknown"},
		"missing":             {nil, "unknown"},
		"empty":               {"", "unknown"},
		"a space":             {"alice admin", "unknown"},
		"a newline":           {"alice\r\nX-Admin: 1", "unknown"},
		"a NUL":               {"alice\x00", "unknown"},
		"DEL":                 {"alice\x7f", "unknown"},
		"another script":      {"\u0430lice", "unknown"},
		"a number":            {1, "unknown"},
		"a list":              {[]string{"alice"}, "unknown"},
		"null":                {json.RawMessage("null"), "unknown"},
		"half a pair":         {json.RawMessage(`"\ud800"`), "unknown"},
		"an escaped new line": {json.RawMessage(`"a\u000ab"`), "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, verified(keys, forged(`{"alg":"HS256"}`, claims(map[string]any{"sub": c.sub})), pinned("HS256")))
		})
	}
	for name, payload := range map[string]string{
		"sub twice":          strings.Replace(claims(nil), "{", `{"sub":"root",`, 1),
		"sub twice, escaped": strings.Replace(claims(nil), "{", `{"s\u0075b":"root",`, 1),
		"exp twice":          strings.Replace(claims(nil), "{", `{"exp":9999999999,`, 1),
		"Sub":                claims(map[string]any{"sub": nil, "Sub": "alice"}),
		"EXP":                claims(map[string]any{"exp": nil, "EXP": 9999999999}),
		"no JSON":            "alice",
		"a list":             "[" + claims(nil) + "]",
		"null":               "null",
		"a string":           `"alice"`,
		"two objects":        claims(nil) + claims(nil),
		"cut off":            claims(nil)[:20],
		"deeply nested":      strings.Repeat("[", 10_000),
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, "unknown", verified(keys, forged(`{"alg":"HS256"}`, payload), pinned("HS256")))
		})
	}
}

func TestTimesAreJudgedWithLeewayAtBothEnds(t *testing.T) {
	keys := hmacKeys(t)
	at := func(offset time.Duration) any { return tokenNow.Add(offset).Unix() }
	const leeway = 30 * time.Second
	for name, c := range map[string]struct {
		claims map[string]any
		want   string
	}{
		"ends now":                    {map[string]any{"exp": at(0)}, "alice"},
		"ended within the leeway":     {map[string]any{"exp": at(-leeway + time.Second)}, "alice"},
		"ended by the leeway":         {map[string]any{"exp": at(-leeway)}, "expired"},
		"begins within the leeway":    {map[string]any{"nbf": at(leeway)}, "alice"},
		"begins beyond the leeway":    {map[string]any{"nbf": at(leeway + time.Second)}, "expired"},
		"issued within the leeway":    {map[string]any{"iat": at(leeway)}, "alice"},
		"issued beyond the leeway":    {map[string]any{"iat": at(leeway + time.Second)}, "expired"},
		"no nbf and iat":              {map[string]any{"nbf": nil, "iat": nil}, "alice"},
		"no exp":                      {map[string]any{"exp": nil}, "unknown"},
		"exp is null":                 {map[string]any{"exp": json.RawMessage("null")}, "unknown"},
		"nbf is null":                 {map[string]any{"nbf": json.RawMessage("null")}, "unknown"},
		"exp is a string":             {map[string]any{"exp": "9999999999"}, "unknown"},
		"nbf is a string":             {map[string]any{"nbf": "0"}, "unknown"},
		"iat is a string":             {map[string]any{"iat": "0"}, "unknown"},
		"exp is a bool":               {map[string]any{"exp": true}, "unknown"},
		"exp is a list":               {map[string]any{"exp": []int{1}}, "unknown"},
		"exp is a date":               {map[string]any{"exp": "2099-01-01T00:00:00Z"}, "unknown"},
		"exp with a fraction":         {map[string]any{"exp": float64(tokenNow.Unix()) + 0.5}, "alice"},
		"exp with an exponent":        {map[string]any{"exp": json.RawMessage("9e9")}, "alice"},
		"exp is zero":                 {map[string]any{"exp": 0}, "expired"},
		"exp is negative":             {map[string]any{"exp": -1}, "expired"},
		"exp is far in the past":      {map[string]any{"exp": json.RawMessage("-4e18")}, "expired"},
		"exp overflows the past":      {map[string]any{"exp": json.RawMessage("-9223372036854775809")}, "unknown"},
		"exp is far in the future":    {map[string]any{"exp": json.RawMessage("4e18")}, "alice"},
		"exp overflows":               {map[string]any{"exp": json.RawMessage("9223372036854775807")}, "unknown"},
		"exp overflows a float":       {map[string]any{"exp": json.RawMessage("1e400")}, "unknown"},
		"nbf is far in the future":    {map[string]any{"nbf": json.RawMessage("4e18")}, "expired"},
		"nbf overflows":               {map[string]any{"nbf": json.RawMessage("9223372036854775807")}, "unknown"},
		"nbf overflows a float":       {map[string]any{"nbf": json.RawMessage("1e400")}, "unknown"},
		"iat overflows":               {map[string]any{"iat": json.RawMessage("18446744073709551617")}, "unknown"},
		"nbf is negative":             {map[string]any{"nbf": -1}, "alice"},
		"nbf is far in the past":      {map[string]any{"nbf": json.RawMessage("-4e18")}, "alice"},
		"late iat beside an early nb": {map[string]any{"nbf": at(-leeway), "iat": at(time.Hour)}, "expired"},
		"late nbf beside early iat":   {map[string]any{"nbf": at(time.Hour), "iat": at(-leeway)}, "expired"},
	} {
		t.Run(name, func(t *testing.T) {
			rules := credential.TokenRules{Algorithms: []string{"HS256"}, Leeway: leeway}
			assert.Equal(t, c.want, verified(keys, forged(`{"alg":"HS256"}`, claims(c.claims)), rules))
		})
	}
	assert.Equal(t, "expired", verified(keys, forged(`{"alg":"HS256"}`, claims(map[string]any{"exp": at(0)})), pinned("HS256")), "no leeway")
	assert.Equal(t, "alice", verified(keys, forged(`{"alg":"HS256"}`, claims(map[string]any{"exp": at(time.Second)})), pinned("HS256")), "no leeway")
}

func TestIssuerAudienceAndClaims(t *testing.T) {
	keys := hmacKeys(t)
	audiences := func(names ...string) credential.TokenRules { return credential.TokenRules{Audiences: names} }
	claim := func(name string, values ...any) credential.TokenRules {
		return credential.TokenRules{Claims: []credential.Claim{{Name: name, Values: values}}}
	}
	for name, c := range map[string]struct {
		claims map[string]any
		rules  credential.TokenRules
		want   string
	}{
		"the issuer":              {nil, credential.TokenRules{Issuer: "https://id.example.com"}, "alice"},
		"the issuer with a slash": {nil, credential.TokenRules{Issuer: "https://id.example.com/"}, "unknown"},
		"an issuer in capitals":   {nil, credential.TokenRules{Issuer: "https://ID.example.com"}, "unknown"},
		"no issuer":               {map[string]any{"iss": nil}, credential.TokenRules{Issuer: "https://id.example.com"}, "unknown"},
		"two issuers":             {map[string]any{"iss": []string{"https://id.example.com"}}, credential.TokenRules{Issuer: "https://id.example.com"}, "unknown"},
		"any issuer":              {map[string]any{"iss": nil}, credential.TokenRules{}, "alice"},
		"the audience":            {nil, audiences("shop"), "alice"},
		"one of two":              {nil, audiences("web", "shop"), "alice"},
		"in a list":               {map[string]any{"aud": []string{"ops", "shop"}}, audiences("shop"), "alice"},
		"another audience":        {nil, audiences("ops"), "unknown"},
		"part of the audience":    {map[string]any{"aud": "shop ops"}, audiences("shop"), "unknown"},
		"no audience":             {map[string]any{"aud": nil}, audiences("shop"), "unknown"},
		"null for an audience":    {map[string]any{"aud": json.RawMessage("null")}, audiences("shop"), "unknown"},
		"an empty list":           {map[string]any{"aud": []string{}}, audiences("shop"), "unknown"},
		"a number in the list":    {map[string]any{"aud": []any{"shop", 1}}, audiences("shop"), "unknown"},
		"an object":               {map[string]any{"aud": map[string]any{"shop": true}}, audiences("shop"), "unknown"},
		"any audience":            {map[string]any{"aud": nil}, credential.TokenRules{}, "alice"},
		"a claim":                 {map[string]any{"team": "web"}, claim("team", "web", "ops"), "alice"},
		"a claim in a list":       {map[string]any{"team": []any{1, "x", "ops"}}, claim("team", "web", "ops"), "alice"},
		"another value":           {map[string]any{"team": "qa"}, claim("team", "web", "ops"), "denied"},
		"no such claim":           {nil, claim("team", "web"), "denied"},
		"a claim that is null":    {map[string]any{"team": json.RawMessage("null")}, claim("team", "web"), "denied"},
		"a claim with a space":    {map[string]any{"team": "web ops"}, claim("team", "web"), "denied"},
		"a name in capitals":      {map[string]any{"Team": "web"}, claim("team", "web"), "denied"},
		"a list of none":          {map[string]any{"team": []any{}}, claim("team", "web"), "denied"},
		"a list in a list":        {map[string]any{"team": []any{[]any{"web"}}}, claim("team", "web"), "denied"},
		"an object for a claim":   {map[string]any{"team": map[string]any{"web": true}}, claim("team", "web"), "denied"},
		"a number for a claim":    {map[string]any{"team": 1}, claim("team", "1"), "denied"},
		"true":                    {map[string]any{"verified": true}, claim("verified", true), "alice"},
		"false":                   {map[string]any{"verified": false}, claim("verified", true), "denied"},
		"true as a string":        {map[string]any{"verified": "true"}, claim("verified", true), "denied"},
		"a bool in a list":        {map[string]any{"verified": []any{true}}, claim("verified", true), "alice"},
		"no value permitted":      {map[string]any{"team": "web"}, claim("team"), "denied"},
		"repeated in the claim":   {map[string]any{"team": json.RawMessage(`{"a":1,"a":1}`)}, claim("team", "web"), "denied"},
		"both claims": {
			map[string]any{"team": "web", "verified": true},
			credential.TokenRules{Claims: []credential.Claim{{Name: "team", Values: []any{"web"}}, {Name: "verified", Values: []any{true}}}},
			"alice",
		},
		"one of both claims": {
			map[string]any{"team": "web"},
			credential.TokenRules{Claims: []credential.Claim{{Name: "team", Values: []any{"web"}}, {Name: "verified", Values: []any{true}}}},
			"denied",
		},
		"time before claims":   {map[string]any{"exp": 1}, claim("team", "web"), "expired"},
		"audience before time": {map[string]any{"exp": 1}, audiences("ops"), "unknown"},
		"sub before time":      {map[string]any{"exp": 1, "sub": ""}, credential.TokenRules{}, "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			c.rules.Algorithms = []string{"HS256"}
			assert.Equal(t, c.want, verified(keys, forged(`{"alg":"HS256"}`, claims(c.claims)), c.rules))
			wrong := forge(`{"alg":"HS256"}`, claims(c.claims), []byte(strings.ToUpper(secret64)))
			assert.Equal(t, "unknown", verified(keys, wrong, c.rules), "another secret")
		})
	}
}

func TestTheKidChoosesAmongKeys(t *testing.T) {
	rules := pinned("RS256", "EdDSA", "ES256")
	set := jwks(
		with(rsaKey(), map[string]any{"kid": "old"}), with(otherRSA(), map[string]any{"kid": "new"}),
		with(edKey(), nil), with(p256Key(), map[string]any{"kid": "ec"}),
	)
	keys := readTokens(t, data{"jwks.json": set}, credential.Spec{}, rules.Algorithms...)
	for name, c := range map[string]struct{ token, want string }{
		"the old key":                   {sign("RS256", rsaKey(), "old", claims(nil)), "alice"},
		"the new key":                   {sign("RS256", otherRSA(), "new", claims(nil)), "alice"},
		"the kid of another key":        {sign("RS256", rsaKey(), "new", claims(nil)), "unknown"},
		"the kid of another kind":       {sign("RS256", rsaKey(), "ec", claims(nil)), "unknown"},
		"a kid in capitals":             {sign("RS256", rsaKey(), "OLD", claims(nil)), "unknown"},
		"an unknown kid":                {sign("RS256", rsaKey(), "next", claims(nil)), "unknown"},
		"no kid, the first":             {sign("RS256", rsaKey(), "", claims(nil)), "alice"},
		"no kid, the second":            {sign("RS256", otherRSA(), "", claims(nil)), "alice"},
		"any kid for a key without":     {sign("EdDSA", edKey(), "any", claims(nil)), "alice"},
		"another key with a kid of its": {sign("EdDSA", otherEd(), "any", claims(nil)), "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, verified(keys, c.token, rules))
		})
	}
	rotated := readTokens(t, data{"jwks.json": jwks(with(otherRSA(), map[string]any{"kid": "new"}))}, credential.Spec{}, "RS256")
	assert.Equal(t, "unknown", verified(rotated, sign("RS256", rsaKey(), "old", claims(nil)), rules))
	assert.Equal(t, "unknown", verified(rotated, sign("RS256", rsaKey(), "", claims(nil)), rules))
}

func TestFourKeysAreTriedAtMost(t *testing.T) {
	keys := make([]string, 6)
	tokens := make([]string, 6)
	for i := range keys {
		private := newEd(strconv.Itoa(i))
		keys[i] = with(private, nil)
		tokens[i] = sign("EdDSA", private, "last", claims(nil))
	}
	last := newEd("last")
	keys = append(keys, with(last, map[string]any{"kid": "last"}))
	read := readTokens(t, data{"jwks.json": jwks(keys...)}, credential.Spec{}, "EdDSA")
	want := []string{"alice", "alice", "alice", "unknown", "unknown", "unknown"}
	for i, token := range tokens {
		assert.Equal(t, want[i], verified(read, token, pinned("EdDSA")), "key %d", i+1)
	}
	assert.Equal(t, "alice", verified(read, sign("EdDSA", last, "last", claims(nil)), pinned("EdDSA")), "the kid comes first")
	assert.Equal(t, "unknown", verified(read, sign("EdDSA", last, "", claims(nil)), pinned("EdDSA")))
}

func TestAKeyForOneAlgorithmIsForNoOther(t *testing.T) {
	rules := pinned("RS256", "PS256")
	keys := readTokens(t, data{"jwks.json": jwks(with(rsaKey(), map[string]any{"alg": "PS256"}))}, credential.Spec{}, rules.Algorithms...)
	assert.Equal(t, "alice", verified(keys, sign("PS256", rsaKey(), "", claims(nil)), rules))
	assert.Equal(t, "unknown", verified(keys, sign("RS256", rsaKey(), "", claims(nil)), rules))
}

func sha256Of(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

func TestASignatureOfES256HasOneForm(t *testing.T) {
	keys := readTokens(t, data{"k.pem": publicPEM(p256Key())}, credential.Spec{}, "ES256")
	text := strings.Join(strings.Split(sign("ES256", p256Key(), "", claims(nil)), ".")[:2], ".")
	asn1 := must(ecdsa.SignASN1(rand.Reader, p256Key(), sha256Of(text)))
	assert.Equal(t, "unknown", verified(keys, text+"."+encode(string(asn1)), pinned("ES256")), "ASN.1")
	zero := make([]byte, 64)
	assert.Equal(t, "unknown", verified(keys, text+"."+encode(string(zero)), pinned("ES256")), "zeros")
	order := p256Key().Params().N.FillBytes(make([]byte, 32))
	one := big.NewInt(1).FillBytes(make([]byte, 32))
	assert.Equal(t, "unknown", verified(keys, text+"."+encode(string(order)+string(one)), pinned("ES256")), "the order")
}
