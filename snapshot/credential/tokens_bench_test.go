package credential_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/snapshot/credential"
)

// BenchmarkVerify is one decision by a token with a kid, an issuer, an audience and
// a claim, beside a key of before.
func BenchmarkVerify(b *testing.B) {
	payload := claims(map[string]any{"team": []string{"qa", "web"}, "jti": "1", "scope": "read write"})
	for _, algorithm := range []string{"HS256", "ES256", "RS256", "EdDSA"} {
		keys := signers()[algorithm]
		set := jwks(with(keys[1], map[string]any{"kid": "old"}), with(keys[0], map[string]any{"kid": "new"}))
		read := readTokens(b, data{"x": set}, credential.Spec{}, algorithm)
		token := sign(algorithm, keys[0], "new", payload)
		rules := credential.TokenRules{
			Algorithms: []string{algorithm}, Issuer: "https://id.example.com", Audiences: []string{"shop"},
			Claims: []credential.Claim{{Name: "team", Values: []any{"web", "ops"}}},
		}
		b.Run(algorithm, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, result := read.Verify(token, &rules, tokenNow)
				require.Equal(b, credential.Valid, result)
			}
		})
	}
}

// BenchmarkRefuse is what an unknown caller costs with tokens as large as can be,
// the library reading the certificates of one of them.
func BenchmarkRefuse(b *testing.B) {
	keys := hmacKeys(b)
	rules := pinned("HS256")
	large := strings.Repeat("x", 12_000)
	for name, token := range map[string]string{
		"no token":     large,
		"large header": forge(`{"alg":"HS256","x":"`+large+`"}`, "{}", nil),
		"large claims": forge(`{"alg":"HS256"}`, large, nil),
		"certificates": forge(`{"alg":"HS256","x5c":[`+strings.TrimSuffix(strings.Repeat(`"`+certificateDER(edKey())+`",`, 25), ",")+`]}`, "{}", nil),
	} {
		require.LessOrEqual(b, len(token), 16<<10)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, result := keys.Verify(token, &rules, tokenNow)
				require.Equal(b, credential.Unknown, result)
			}
		})
	}
}
