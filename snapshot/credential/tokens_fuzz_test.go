package credential_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/snapshot/credential"
)

// Whatever text is read, nothing panics, what is said is bounded and on one line
// each, and keys that were read are there again when they are read again.
func FuzzReadTokenKeys(f *testing.F) {
	all := allAlgorithms()
	set := jwks(with(rsaKey(), map[string]any{"kid": "a", "alg": "RS256"}), with(p256Key(), map[string]any{"use": "sig"}), private(edKey(), "b"), with([]byte(secret64), nil))
	for _, seed := range []string{
		set, publicPEM(rsaKey()) + certificatePEM(edKey()) + "x", publicPEM(p521Key()), "-----BEGIN PUBLIC KEY-----\n", secret64 + "\n",
		`{"keys":[{"kty":"RSA","n":"AQ","e":"AQAB"},null,1]}`, `{"keys":[]}`, "{", "",
	} {
		f.Add(seed, "x")
	}
	f.Fuzz(func(t *testing.T, text, name string) {
		for _, format := range []credential.Format{credential.Auto, credential.JWKS, credential.PEM, credential.HMAC} {
			for _, dataKey := range []string{"", name} {
				spec := credential.Spec{Format: format, DataKey: dataKey}
				keys, warnings, err := credential.ReadTokenKeys(data{name: text}, spec, all)
				assert.LessOrEqual(t, len(warnings), 21)
				for _, warning := range warnings {
					assert.NotContains(t, warning, "\n")
				}
				if err != nil {
					assert.Nil(t, keys)
					assert.NotContains(t, err.Error(), "\n")
					continue
				}
				again := readTokens(t, data{name: text}, spec, all...)
				assert.True(t, keys.Equal(again))
				assert.Equal(t, "unknown", verified(keys, text, credential.TokenRules{Algorithms: all}))
			}
		}
	})
}

func allAlgorithms() []string {
	return []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "HS256", "HS384", "HS512"}
}

// No text but the tokens that were signed is ever Valid, with keys of all kinds and
// all algorithms pinned. Where signatures are random others of the same text are too.
func FuzzVerify(f *testing.F) {
	all := allAlgorithms()
	sets := make([]string, 0, len(all))
	signed := make(map[string]string) // by what is signed
	for _, algorithm := range all {
		keys := signers()[algorithm]
		sets = append(sets, with(keys[0], map[string]any{"alg": algorithm, "kid": algorithm}))
		token := sign(algorithm, keys[0], algorithm, claims(nil))
		signed[signedText(token)] = token
		f.Add(token)
		f.Add(sign(algorithm, keys[1], algorithm, claims(nil)))
	}
	for _, seed := range []string{
		"", "..", ".", "a.b.c", encode(`{"alg":"none"}`) + "." + encode(claims(nil)) + ".", forge(`{"alg":"HS256","crit":["b64"],"b64":false}`, claims(nil), []byte("evil")),
		forge(`{"alg":"HS256","jwk":`+with(otherEC(), nil)+`}`, claims(nil), nil), strings.Repeat("A", 20_000),
	} {
		f.Add(seed)
	}
	keys := readTokens(f, data{"x": jwks(sets...)}, credential.Spec{}, all...)
	rules := credential.TokenRules{Algorithms: all}
	for _, token := range signed {
		require.Equal(f, "alice", verified(keys, token, rules))
	}
	f.Fuzz(func(t *testing.T, token string) {
		client, result := keys.Verify(token, &rules, tokenNow)
		original, known := signed[signedText(token)]
		switch {
		case known && token == original:
			assert.Equal(t, credential.Valid, result)
		case known && isRandom(token):
			assert.Contains(t, []credential.Result{credential.Valid, credential.Unknown}, result)
		default:
			assert.Equal(t, credential.Unknown, result)
			assert.Empty(t, client)
		}
	})
}

// signedText is a token without its signature.
func signedText(token string) string { return token[:max(0, strings.LastIndexByte(token, '.'))] }

// isRandom tells the algorithms with a nonce or a salt.
func isRandom(token string) bool {
	header, _, _ := strings.Cut(token, ".")
	text := string(must(base64.RawURLEncoding.DecodeString(header)))
	return strings.Contains(text, `"alg":"ES`) || strings.Contains(text, `"alg":"PS`)
}
