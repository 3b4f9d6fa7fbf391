package credential_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/authz-bridge/authz-bridge/snapshot/credential"
)

func TestKnownAlgorithms(t *testing.T) {
	for _, name := range []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"} {
		assert.True(t, credential.KnownAlgorithm(name), name)
		assert.False(t, credential.SymmetricAlgorithm(name), name)
	}
	for _, name := range []string{"HS256", "HS384", "HS512"} {
		assert.True(t, credential.KnownAlgorithm(name), name)
		assert.True(t, credential.SymmetricAlgorithm(name), name)
	}
	for _, name := range []string{"", "none", "None", "hs256", "HS1", "RS1", "HS256 ", "ES256K", "RSA-OAEP", "dir"} {
		assert.False(t, credential.KnownAlgorithm(name), name)
		assert.False(t, credential.SymmetricAlgorithm(name), name)
	}
}

func TestTokenRulesAreEqualByEachField(t *testing.T) {
	rules := func() credential.TokenRules {
		return credential.TokenRules{
			Algorithms: []string{"RS256", "ES256"}, Issuer: "i", Audiences: []string{"a", "b"}, Leeway: time.Second,
			Claims: []credential.Claim{{Name: "team", Values: []any{"web", true}}},
		}
	}
	assert.True(t, rules().Equal(rules()))
	for name, change := range map[string]func(*credential.TokenRules){
		"an algorithm": func(r *credential.TokenRules) { r.Algorithms = r.Algorithms[:1] },
		"the issuer":   func(r *credential.TokenRules) { r.Issuer = "j" },
		"an audience":  func(r *credential.TokenRules) { r.Audiences[0] = "c" },
		"the leeway":   func(r *credential.TokenRules) { r.Leeway = 0 },
		"no claims":    func(r *credential.TokenRules) { r.Claims = nil },
		"a name":       func(r *credential.TokenRules) { r.Claims[0].Name = "role" },
		"a value":      func(r *credential.TokenRules) { r.Claims[0].Values[0] = "ops" },
		"a string":     func(r *credential.TokenRules) { r.Claims[0].Values[1] = "true" },
	} {
		other := rules()
		change(&other)
		assert.False(t, rules().Equal(other), name)
		assert.False(t, other.Equal(rules()), name)
	}
}
