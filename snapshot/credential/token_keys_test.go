package credential_test

import (
	"crypto"
	"crypto/ecdh"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/snapshot/credential"
)

func TestEveryFormatOfTokenKeysIsFound(t *testing.T) {
	set := jwks(with(rsaKey(), nil))
	spki := publicPEM(rsaKey())
	for name, c := range map[string]struct {
		secret data
		spec   credential.Spec
	}{
		"JWKS by its looks":           {data{"jwks.json": set, "README": "hello"}, credential.Spec{}},
		"explicit auto":               {data{"jwks.json": set}, credential.Spec{Format: credential.Auto}},
		"NGINX":                       {data{"jwk": set}, credential.Spec{}},
		"NGINX Gateway Fabric":        {data{"auth": set}, credential.Spec{}},
		"auth by its name":            {data{"auth": set, "jwk": spki}, credential.Spec{DataKey: "auth"}},
		"a named key":                 {data{"a": set, "b": jwks(with(otherRSA(), nil))}, credential.Spec{DataKey: "a"}},
		"JWKS by its format":          {data{"a": set, "b": publicPEM(otherRSA())}, credential.Spec{Format: credential.JWKS}},
		"JWKS with unknown members":   {data{"a": `{"x":{"keys":1},"keys":[` + with(rsaKey(), map[string]any{"ext": true, "x5c": []string{"?"}, "x5t": "?", "x5u": ":"}) + `]}`}, credential.Spec{}},
		"first of a bad one":          {data{"a": jwks("1", with(rsaKey(), nil))}, credential.Spec{DataKey: "a", Format: credential.JWKS}},
		"for verifying":               {data{"a": jwks(with(rsaKey(), map[string]any{"use": "sig", "key_ops": []string{"verify"}, "alg": "RS256"}))}, credential.Spec{}},
		"PEM by its looks":            {data{"a": spki, "tls.crt": publicPEM(otherRSA())}, credential.Spec{}},
		"PEM by its format":           {data{"a": spki, "b": set}, credential.Spec{Format: credential.PEM}},
		"PEM beside a private key":    {data{"a": spki, "b": inPEM("PRIVATE KEY", []byte("?"))}, credential.Spec{}},
		"PKCS1":                       {data{"a": inPEM("RSA PUBLIC KEY", x509.MarshalPKCS1PublicKey(&rsaKey().PublicKey))}, credential.Spec{}},
		"a certificate, out of date":  {data{"a": certificatePEM(rsaKey())}, credential.Spec{}},
		"a reserved key, by format":   {data{"tls.crt": certificatePEM(rsaKey()), "tls.key": "?"}.ofType("kubernetes.io/tls"), credential.Spec{DataKey: "tls.crt", Format: credential.PEM}},
		"PEM with CRLF":               {data{"a": strings.ReplaceAll(spki, "\n", "\r\n")}, credential.Spec{}},
		"PEM in a text":               {data{"a": "Key of the issuer:\n" + spki + "\n\nthe old one:\n" + publicPEM(otherRSA())}, credential.Spec{}},
		"PEM without a newline":       {data{"a": strings.TrimSpace(spki)}, credential.Spec{}},
		"PEM, private key of another": {data{"a": jwks(with(rsaKey(), nil)), "b": inPEM("RSA PRIVATE KEY", nil)}, credential.Spec{}},
	} {
		t.Run(name, func(t *testing.T) {
			keys := readTokens(t, c.secret, c.spec, "RS256")
			assert.Equal(t, "alice", verified(keys, sign("RS256", rsaKey(), "", claims(nil)), pinned("RS256")))
		})
	}
	for name, c := range map[string]struct {
		secret data
		spec   credential.Spec
	}{
		"a named value":      {data{"x": secret64, "token": "?"}, credential.Spec{DataKey: "x", Format: credential.HMAC}},
		"a value by a name":  {data{"api-key": secret64, "x": "?"}, credential.Spec{Format: credential.HMAC}},
		"a trailing newline": {data{"x": secret64 + "\n"}, credential.Spec{DataKey: "x", Format: credential.HMAC}},
		"a trailing CRLF":    {data{"x": secret64 + "\r\n"}, credential.Spec{DataKey: "x", Format: credential.HMAC}},
		"oct in a JWKS":      {data{"x": jwks(with([]byte(secret64), nil))}, credential.Spec{}},
	} {
		t.Run(name, func(t *testing.T) {
			keys := readTokens(t, c.secret, c.spec, "HS512")
			assert.Equal(t, "alice", verified(keys, sign("HS512", []byte(secret64), "", claims(nil)), pinned("HS512")))
		})
	}
}

func TestTokenKeysThatCouldBeReadInTwoWaysAreRefusedWithTheFix(t *testing.T) {
	set, spki := jwks(with(rsaKey(), nil)), publicPEM(rsaKey())
	explicit := func(format credential.Format) credential.Spec { return credential.Spec{DataKey: "x", Format: format} }
	for name, c := range map[string]struct {
		secret data
		spec   credential.Spec
		want   string
	}{
		"two that look right":   {data{"a": set, "b": spki}, credential.Spec{}, `keys "a" and "b" both look like keys for tokens; name one in key`},
		"two of one format":     {data{"a": set, "b": set}, credential.Spec{Format: credential.JWKS}, "both look like keys"},
		"none that looks right": {data{"a": "x"}, credential.Spec{}, "name the key in key, and write format: hmac if it is a secret value"},
		"nothing":               {data{}, credential.Spec{}, "holds neither a JWKS nor a public key"},
		"a pull secret":         {data{".dockerconfigjson": "{}"}, credential.Spec{}, "holds only keys that are reserved"},
		"TLS":                   {data{"tls.crt": certificatePEM(edKey()), "tls.key": "?"}, credential.Spec{}, "name one in key and write its format"},
		"htpasswd in auth":      {data{"auth": "a:$2y$05$x"}, credential.Spec{}, "holds neither a JWKS"},
		"a reserved name":       {data{"tls.crt": certificatePEM(edKey())}, credential.Spec{DataKey: "tls.crt"}, `key "tls.crt": is reserved for something else than the keys of tokens; write format: jwks, pem or hmac`},
		"a secret value":        {data{"x": secret64}, credential.Spec{DataKey: "x"}, `key "x": is neither a JWKS nor a public key or certificate in PEM; write format: hmac if it is a secret value`},
		"a keyset":              {data{"x": `{"keys":[{"id":"a","sha256":"00"}]}`}, credential.Spec{DataKey: "x"}, "is neither a JWKS"},
		"a JWK alone":           {data{"x": with(rsaKey(), nil)}, explicit(credential.JWKS), `is no JWK Set; write {"keys":[{"kty":"..."}]}`},
		"keys twice":            {data{"x": `{"keys":[],"keys":[` + with(rsaKey(), nil) + `]}`}, explicit(credential.JWKS), "is no JWK Set"},
		"keys in capitals":      {data{"x": `{"KEYS":[` + with(rsaKey(), nil) + `]}`}, explicit(credential.JWKS), "is no JWK Set"},
		"keys that are null":    {data{"x": `{"keys":null}`}, explicit(credential.JWKS), "is no JWK Set"},
		"more behind the set":   {data{"x": set + "x"}, explicit(credential.JWKS), "is no JWK Set"},
		"no keys":               {data{"x": `{"keys":[]}`}, explicit(credential.JWKS), "holds no key that can be used"},
		"too many JWKs":         {data{"x": jwks(strings.Repeat("1,", 100) + "1")}, explicit(credential.JWKS), "holds more than 100 keys"},
		"too many blocks":       {data{"x": strings.Repeat("-----BEGIN PUBLIC KEY-----\n", 101)}, explicit(credential.PEM), "holds more than 100 keys"},
		"no block":              {data{"x": "x"}, explicit(credential.PEM), "holds no key that can be used"},
		"an indented block":     {data{"x": "  " + strings.ReplaceAll(spki, "\n", "\n  ")}, credential.Spec{}, "holds no key that can be used"},
		"a private key":         {data{"x": inPEM("PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(rsaKey())))}, credential.Spec{DataKey: "x"}, `key "x": holds a private key; remove it, the bridge needs the public key only`},
		"a private key too":     {data{"x": spki + inPEM("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(rsaKey()))}, credential.Spec{}, "holds a private key; remove it"},
		"a private key, CRLF":   {data{"x": strings.ReplaceAll(spki+inPEM("EC PRIVATE KEY", nil), "\n", "\r\n")}, credential.Spec{}, "holds a private key; remove it"},
		"an encrypted one":      {data{"x": spki + inPEM("ENCRYPTED PRIVATE KEY", nil)}, credential.Spec{}, "holds a private key; remove it"},
		"no such key":           {data{"x": set}, credential.Spec{DataKey: "y"}, `key "y": does not exist; add it`},
		"no such key, explicit": {data{"x": set}, credential.Spec{DataKey: "y", Format: credential.JWKS}, `key "y": does not exist; add it`},
		"a format of API keys":  {data{"x": set}, explicit(credential.Token), "format token is not for tokens; write jwks, pem or hmac"},
		"no value by a name":    {data{"x": secret64}, credential.Spec{Format: credential.HMAC}, "has none of the keys token, api_key, api-key, key; name the one with the value in key"},
		"two values by a name":  {data{"token": secret64, "key": secret64}, credential.Spec{Format: credential.HMAC}, `keys "key" and "token" may both be the value`},
		"a short value":         {data{"x": secret64[:31]}, explicit(credential.HMAC), `key "x": is shorter than 32 bytes; write a longer random value`},
		"short but for a line":  {data{"x": secret64[:31] + "\n"}, explicit(credential.HMAC), "is shorter than 32 bytes"},
		"an empty value":        {data{"x": ""}, explicit(credential.HMAC), "is shorter than 32 bytes"},
		"PEM as a value":        {data{"x": spki}, explicit(credential.HMAC), "is no secret value but a key in PEM or a JWKS; write format: pem or jwks"},
		"JWKS as a value":       {data{"x": set}, explicit(credential.HMAC), "is no secret value"},
		"a JWK as a value":      {data{"x": with(rsaKey(), nil)}, explicit(credential.HMAC), "is no secret value"},
	} {
		t.Run(name, func(t *testing.T) {
			keys, _, err := credential.ReadTokenKeys(c.secret, c.spec, []string{"RS256", "HS256"})
			require.ErrorContains(t, err, c.want)
			assert.Nil(t, keys)
		})
	}
}

func TestKeysThatFitNoAlgorithmAreNoKeys(t *testing.T) {
	for name, c := range map[string]struct {
		text       string
		format     credential.Format
		algorithms []string
		want       string
	}{
		"a public key for HMAC":   {publicPEM(rsaKey()), credential.PEM, []string{"HS256"}, "fits none of the App's algorithms"},
		"a value for RSA":         {secret64, credential.HMAC, []string{"RS256", "ES256"}, "fits none of the App's algorithms; HS256 asks for 32 bytes"},
		"a value too short":       {secret64[:47], credential.HMAC, []string{"HS384", "HS512"}, "HS384 for 48 and HS512 for 64"},
		"P-256 for ES384":         {publicPEM(p256Key()), credential.PEM, []string{"ES384"}, "fits none of the App's algorithms"},
		"Ed25519 for RSA":         {jwks(with(edKey(), nil)), credential.JWKS, []string{"RS256"}, "fits none of the App's algorithms"},
		"for another algorithm":   {jwks(with(rsaKey(), map[string]any{"alg": "RS512"})), credential.JWKS, []string{"RS256"}, "fits none of the App's algorithms"},
		"for encryption":          {jwks(with(rsaKey(), map[string]any{"alg": "RSA-OAEP"})), credential.JWKS, []string{"RS256"}, "fits none of the App's algorithms"},
		"for the family of EC":    {jwks(with(rsaKey(), map[string]any{"alg": "ES256"})), credential.JWKS, []string{"RS256", "ES256"}, "fits none of the App's algorithms"},
		"RSA that says HMAC":      {jwks(with(rsaKey(), map[string]any{"alg": "HS256"})), credential.JWKS, []string{"RS256", "HS256"}, "fits none of the App's algorithms"},
		"an algorithm of no sort": {jwks(with(rsaKey(), nil)), credential.JWKS, []string{"none"}, "fits none of the App's algorithms"},
		"no algorithms":           {jwks(with(rsaKey(), nil)), credential.JWKS, nil, "fits none of the App's algorithms"},
	} {
		t.Run(name, func(t *testing.T) {
			keys, warnings, err := credential.ReadTokenKeys(data{"x": c.text}, credential.Spec{DataKey: "x", Format: c.format}, c.algorithms)
			require.Error(t, err)
			assert.Nil(t, keys)
			assert.Contains(t, err.Error()+strings.Join(warnings, "\n"), c.want)
		})
	}
	keys := readTokens(t, data{"x": secret64[:47]}, credential.Spec{DataKey: "x", Format: credential.HMAC}, "HS256", "HS384")
	assert.Equal(t, "alice", verified(keys, sign("HS256", []byte(secret64[:47]), "", claims(nil)), pinned("HS256", "HS384")))
}

// private returns the JWK of a private key.
func private(key any, kid string) string {
	return string(must(jose.JSONWebKey{Key: key, KeyID: kid}.MarshalJSON()))
}

func TestABadJWKSpoilsItselfAloneAndIsNamed(t *testing.T) {
	n := func(bits uint) string {
		return encode(string(new(big.Int).SetBit(rsaKey().N, int(bits)-1, 1).Bytes()))
	}
	even := encode(string(new(big.Int).SetBit(rsaKey().N, 0, 0).Bytes()))
	for name, c := range map[string]struct{ item, want string }{
		"no object":          {`1`, "is no JWK, or has a member twice"},
		"null":               {`null`, "has a member that is missing"},
		"a member twice":     {`{"kty":"oct","kty":"oct"}`, "is no JWK, or has a member twice"},
		"kid as a number":    {with(otherRSA(), map[string]any{"kid": 1}), "is no JWK"},
		"no kty":             {with(otherRSA(), map[string]any{"kty": nil}), "has a member that is missing or not as it must be"},
		"another kty":        {with(otherRSA(), map[string]any{"kty": "AKP"}), "kty: is none of RSA, EC, OKP with Ed25519 and oct"},
		"kty in lower case":  {with(otherRSA(), map[string]any{"kty": "rsa"}), "kty: is none of"},
		"for encryption":     {with(otherRSA(), map[string]any{"use": "enc"}), "use: is not sig"},
		"for signing alone":  {with(otherRSA(), map[string]any{"key_ops": []string{"sign"}}), "key_ops: has no verify"},
		"for nothing":        {with(otherRSA(), map[string]any{"key_ops": []string{}}), "key_ops: has no verify"},
		"1024 bits":          {with(weakRSA(), nil), "is RSA with 1024 bits; use 2048 to 4096"},
		"2047 bits":          {with(rsaKey(), map[string]any{"n": encode(string(new(big.Int).Rsh(rsaKey().N, 1).Bytes()))}), "is RSA with 2047 bits"},
		"4097 bits":          {with(rsaKey(), map[string]any{"n": n(4097)}), "has a member that is missing or not as it must be"},
		"an even modulus":    {with(rsaKey(), map[string]any{"n": even}), "is no RSA key that can be used"},
		"no modulus":         {with(rsaKey(), map[string]any{"n": nil}), "has a member that is missing"},
		"an exponent of one": {with(rsaKey(), map[string]any{"e": "AQ"}), "is no RSA key that can be used"},
		"an even exponent":   {with(rsaKey(), map[string]any{"e": "BA"}), "is no RSA key that can be used"},
		"too large e":        {with(rsaKey(), map[string]any{"e": encode("\x01\x00\x00\x00\x00\x00\x00\x00\x03")}), "e: is too large"},
		"no exponent":        {with(rsaKey(), map[string]any{"e": nil}), "has a member that is missing"},
		"no base64":          {with(rsaKey(), map[string]any{"n": "?"}), "has a member that is missing or not as it must be"},
		"off the curve":      {with(p256Key(), map[string]any{"y": encode(strings.Repeat("\x01", 32))}), "has a member that is missing or not as it must be"},
		"another curve":      {with(p256Key(), map[string]any{"crv": "secp256k1"}), "has a member that is missing or not as it must be"},
		"X25519":             {with(edKey(), map[string]any{"crv": "X25519"}), "kty: is none of"},
		"Ed25519 cut off":    {with(edKey(), map[string]any{"x": "AAAA"}), "has a member that is missing or not as it must be"},
		"a weak Ed25519 key": {with(edKey(), map[string]any{"x": encode(strings.Repeat("\x00", 32))}), "has a member that is missing or not as it must be"},
		"31 bytes of secret": {with([]byte(secret64[:31]), nil), "is shorter than 32 bytes"},
		"no secret":          {`{"kty":"oct"}`, "has a member that is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			set := jwks(with(rsaKey(), map[string]any{"kid": "a"}), c.item)
			keys, warnings, err := credential.ReadTokenKeys(data{"jwks.json": set}, credential.Spec{}, []string{"RS256", "ES256", "EdDSA", "HS256"})
			require.NoError(t, err)
			require.Len(t, warnings, 1)
			assert.True(t, strings.HasPrefix(warnings[0], `key "jwks.json": item 2: `+c.want), warnings[0])
			assert.True(t, strings.HasSuffix(warnings[0], "; it is left out"), warnings[0])
			assert.Equal(t, "alice", verified(keys, sign("RS256", rsaKey(), "a", claims(nil)), pinned("RS256")))
		})
	}
}

func TestThePublicPartOfAPrivateJWKIsTaken(t *testing.T) {
	for algorithm, keys := range signers() {
		if strings.HasPrefix(algorithm, "HS") {
			continue
		}
		read, warnings, err := credential.ReadTokenKeys(data{"x": jwks(private(keys[0], "a"))}, credential.Spec{}, []string{algorithm})
		require.NoError(t, err)
		assert.Equal(t, credential.Warnings{`key "x": item 1: is a private key; remove it, the bridge needs the public key only`}, warnings)
		assert.Equal(t, "alice", verified(read, sign(algorithm, keys[0], "a", claims(nil)), pinned(algorithm)))
		assert.True(t, read.Equal(readTokens(t, data{"x": jwks(with(keys[0], map[string]any{"kid": "a"}))}, credential.Spec{}, algorithm)))
	}
}

func TestAKidThatTwoKeysShareIsNobodys(t *testing.T) {
	a := func(key any) string { return with(key, map[string]any{"kid": "a"}) }
	set := jwks(a(rsaKey()), a(otherRSA()), a(otherRSA()), with(edKey(), map[string]any{"kid": "b"}))
	keys, warnings, err := credential.ReadTokenKeys(data{"x": set}, credential.Spec{}, []string{"RS256", "EdDSA"})
	require.NoError(t, err)
	assert.Equal(t, credential.Warnings{
		`key "x": item 1: another key has the same kid; both are left out`,
		`key "x": item 2: another key has the same kid; both are left out`,
		`key "x": item 3: another key has the same kid; both are left out`,
	}, warnings)
	assert.Equal(t, "unknown", verified(keys, sign("RS256", rsaKey(), "a", claims(nil)), pinned("RS256", "EdDSA")))
	assert.Equal(t, "unknown", verified(keys, sign("RS256", rsaKey(), "", claims(nil)), pinned("RS256", "EdDSA")))
	assert.Equal(t, "alice", verified(keys, sign("EdDSA", edKey(), "b", claims(nil)), pinned("RS256", "EdDSA")))

	set = jwks(a(rsaKey()), with(otherRSA(), map[string]any{"kid": "a", "use": "enc"}), a(p256Key()))
	keys = readTokens(t, data{"x": set}, credential.Spec{}, "RS256")
	assert.Equal(t, "alice", verified(keys, sign("RS256", rsaKey(), "a", claims(nil)), pinned("RS256")), "the others are of no use here")

	set = jwks(a(rsaKey()), a(rsaKey()), with(rsaKey(), map[string]any{"kid": "a", "alg": "PS256"}))
	keys, warnings, err = credential.ReadTokenKeys(data{"x": set}, credential.Spec{}, []string{"RS256", "PS256"})
	require.NoError(t, err)
	assert.Equal(t, credential.Warnings{`key "x": item 2: is there before; it is left out`}, warnings)
	assert.Equal(t, "alice", verified(keys, sign("PS256", rsaKey(), "a", claims(nil)), pinned("RS256", "PS256")))
}

func TestABadPEMBlockSpoilsItselfAloneAndIsNamed(t *testing.T) {
	good := publicPEM(rsaKey())
	p224 := newEC("a", elliptic.P224())
	x25519 := must(ecdh.X25519().GenerateKey(rand.Reader))
	weak := inPEM("PUBLIC KEY", append(pkixOf(edKey())[:12], make([]byte, 32)...))
	one := &rsa.PublicKey{N: rsaKey().N, E: 1}
	for name, c := range map[string]struct{ block, want string }{
		"no end":             {strings.Replace(good, "-----END", "-----AND", 1), "is no PEM block with a beginning, base64 and an end"},
		"no base64":          {"-----BEGIN PUBLIC KEY-----\n!!!\n-----END PUBLIC KEY-----\n", "is no PEM block"},
		"no DER":             {inPEM("PUBLIC KEY", []byte("x")), "is no key or certificate that can be read"},
		"no certificate":     {inPEM("CERTIFICATE", pkixOf(rsaKey())), "is no key or certificate that can be read"},
		"another type":       {inPEM("EC PARAMETERS", []byte("x")), "is no public key and no certificate"},
		"a request":          {inPEM("CERTIFICATE REQUEST", []byte("x")), "is no public key and no certificate"},
		"1024 bits":          {publicPEM(weakRSA()), "is RSA with 1024 bits; use 2048 to 4096"},
		"exponent of one":    {inPEM("RSA PUBLIC KEY", x509.MarshalPKCS1PublicKey(one)), "is no RSA key that can be used"},
		"P-224":              {publicPEM(p224), "is on a curve that is none of P-256, P-384 and P-521"},
		"X25519":             {inPEM("PUBLIC KEY", must(x509.MarshalPKIXPublicKey(x25519.PublicKey()))), "is none of RSA, EC and Ed25519"},
		"a weak Ed25519 key": {weak, "is no key that can be used"},
		"for other tokens":   {publicPEM(p521Key()), "fits none of the App's algorithms"},
		"a repeat":           {good, "is there before"},
	} {
		t.Run(name, func(t *testing.T) {
			keys, warnings, err := credential.ReadTokenKeys(data{"k.pem": good + c.block + publicPEM(otherRSA())}, credential.Spec{}, []string{"RS256", "ES256", "EdDSA"})
			require.NoError(t, err)
			require.Len(t, warnings, 1)
			assert.True(t, strings.HasPrefix(warnings[0], `key "k.pem": item 2: `+c.want), warnings[0])
			for _, key := range []crypto.Signer{rsaKey(), otherRSA()} {
				assert.Equal(t, "alice", verified(keys, sign("RS256", key, "any", claims(nil)), pinned("RS256")))
			}
		})
	}
}

func pkixOf(key crypto.Signer) []byte {
	block, _ := pem.Decode([]byte(publicPEM(key)))
	return block.Bytes
}

func TestWhatIsOddAboutTokenKeysIsSaid(t *testing.T) {
	for name, c := range map[string]struct {
		secret data
		spec   credential.Spec
		want   credential.Warnings
	}{
		"nothing":             {data{"x": publicPEM(rsaKey())}, credential.Spec{}, nil},
		"text in front":       {data{"x": "the key:\n" + publicPEM(rsaKey()) + "\n \n"}, credential.Spec{}, nil},
		"text behind":         {data{"x": publicPEM(rsaKey()) + "the key"}, credential.Spec{}, credential.Warnings{`key "x": the text after the last block is ignored`}},
		"a newline":           {data{"x": secret64 + "\n"}, credential.Spec{DataKey: "x", Format: credential.HMAC}, credential.Warnings{`key "x": the newline at the end of the value is trimmed`}},
		"only one is trimmed": {data{"x": secret64 + "\n\n"}, credential.Spec{DataKey: "x", Format: credential.HMAC}, credential.Warnings{`key "x": the newline at the end of the value is trimmed`}},
	} {
		t.Run(name, func(t *testing.T) {
			_, warnings, err := credential.ReadTokenKeys(c.secret, c.spec, []string{"RS256", "HS256"})
			require.NoError(t, err)
			assert.Equal(t, c.want, warnings)
		})
	}
}

func TestWarningsAboutTokenKeysAreBoundedAndHoldNoValue(t *testing.T) {
	const canary = "c4n4ryc4n4ryc4n4ryc4n4ryc4n4ry"
	items := []string{with(rsaKey(), nil)}
	for range 33 {
		items = append(items, fmt.Sprintf(`{"kty":"oct","k":%q}`, encode(canary)), with(rsaKey(), map[string]any{"kid": canary, "n": canary}), fmt.Sprintf(`{%q:1}`, canary))
	}
	_, warnings, err := credential.ReadTokenKeys(data{"x": jwks(items...)}, credential.Spec{}, []string{"RS256", "HS256"})
	require.NoError(t, err)
	require.Len(t, warnings, 21)
	assert.Equal(t, "and 79 more", warnings[20])
	said := strings.Join(warnings, "\n")
	assert.NotContains(t, said, canary)
	assert.NotContains(t, said, encode(canary))

	_, _, err = credential.ReadTokenKeys(data{"x": canary}, credential.Spec{DataKey: "x", Format: credential.HMAC}, []string{"HS256"})
	require.Error(t, err)
	assert.NotContains(t, err.Error(), canary)
}

func TestTokenKeysAreEqualByWhatTheyAreAndTheirOrder(t *testing.T) {
	a, b := with(rsaKey(), map[string]any{"kid": "a"}), with(otherRSA(), map[string]any{"kid": "b"})
	set := func(algorithms []string, keys ...string) *credential.TokenKeys {
		return readTokens(t, data{"x": jwks(keys...)}, credential.Spec{}, algorithms...)
	}
	rs := []string{"RS256"}
	first := set(rs, a, b)
	assert.True(t, first.Equal(set(rs, a, b)))
	for name, other := range map[string]*credential.TokenKeys{
		"order":      set(rs, b, a),
		"number":     set(rs, a),
		"kid":        set(rs, with(rsaKey(), map[string]any{"kid": "c"}), b),
		"no kid":     set(rs, with(rsaKey(), nil), b),
		"material":   set(rs, with(newRSA("c", 2048), map[string]any{"kid": "a"}), b),
		"algorithms": set([]string{"RS256", "RS384"}, a, b),
	} {
		assert.False(t, first.Equal(other), name)
		assert.False(t, other.Equal(first), name)
	}
	one := data{"x": secret64}
	hmacSpec := credential.Spec{DataKey: "x", Format: credential.HMAC}
	assert.True(t, readTokens(t, one, hmacSpec, "HS256").Equal(readTokens(t, data{"x": secret64 + "\n"}, hmacSpec, "HS256")))
	assert.False(t, readTokens(t, one, hmacSpec, "HS256").Equal(readTokens(t, data{"x": secret64 + " "}, hmacSpec, "HS256")))
}
