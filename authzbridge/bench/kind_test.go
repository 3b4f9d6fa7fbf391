package bench

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"
)

// kind is a way that callers of an App prove themselves.
type kind struct {
	name   string
	anyOf  string                    // of the entry, in JSON; empty for none
	value  func(app string) string   // what is in the App's Secret
	header func(app string) []string // what its callers present
	most   int                       // Apps that are asked; 0 for all
}

// byHostname asks callers for nothing.
func byHostname() kind {
	return kind{
		name:   "by hostname",
		value:  func(app string) string { return "value of " + app },
		header: func(string) []string { return nil },
	}
}

func byAPIKey() kind {
	return kind{
		name:   "API key",
		anyOf:  `[{"apiKey":{"from":[{"header":"X-API-Key"}]}}]`,
		value:  firstKey,
		header: func(app string) []string { return []string{keyHeader(firstKey(app))} },
	}
}

func firstKey(app string) string { return "key-of-" + app }

func keyHeader(key string) string { return "X-Api-Key: " + key }

// byPassword asks few Apps, as each is hashed once before it is remembered.
func byPassword(line string) kind {
	return kind{
		name:   "basic (bcrypt, cached)",
		anyOf:  `[{"basic":{}}]`,
		value:  func(string) string { return line },
		header: func(string) []string { return []string{passwordHeader} },
		most:   16,
	}
}

const password = "correct horse battery staple"

var passwordHeader = "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("alice:"+password))

// passwordHash is bcrypt at the cost that most tools default to.
func passwordHash(t *testing.T) string {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte(password), 10)
	require.NoError(t, err)
	return string(hash)
}

// byToken has all Apps of an algorithm share one key.
func byToken(t *testing.T, algorithm jose.SignatureAlgorithm) kind {
	t.Helper()
	private, stored := signingKey(t, algorithm)
	more := `,"issuer":"https://id.example.com","audiences":["apps"]`
	if algorithm == jose.HS256 {
		more += `,"format":"hmac"`
	}
	header := "Authorization: Bearer " + signedToken(t, algorithm, private)
	return kind{
		name:   "JWT " + string(algorithm),
		anyOf:  `[{"jwt":{"algorithms":["` + string(algorithm) + `"]` + more + `}}]`,
		value:  func(string) string { return stored },
		header: func(string) []string { return []string{header} },
	}
}

// signingKey returns a new key and what verifies it, as a Secret has it.
func signingKey(t *testing.T, algorithm jose.SignatureAlgorithm) (private any, stored string) {
	t.Helper()
	var public any
	switch algorithm {
	case jose.ES256:
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		require.NoError(t, err)
		private, public = key, key.Public()
	case jose.RS256:
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		require.NoError(t, err)
		private, public = key, key.Public()
	default:
		key := strings.Repeat("k", 64)
		return []byte(key), key
	}
	set, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{
		{Key: public, KeyID: "1", Algorithm: string(algorithm), Use: "sig"},
	}})
	require.NoError(t, err)
	return private, string(set)
}

func signedToken(t *testing.T, algorithm jose.SignatureAlgorithm, private any) string {
	t.Helper()
	key := jose.SigningKey{Algorithm: algorithm, Key: private}
	if algorithm != jose.HS256 {
		key.Key = jose.JSONWebKey{Key: private, KeyID: "1"}
	}
	signer, err := jose.NewSigner(key, nil)
	require.NoError(t, err)
	claims, err := json.Marshal(map[string]any{
		"iss": "https://id.example.com", "aud": "apps", "sub": "alice", "exp": time.Now().Add(24 * time.Hour).Unix(),
	})
	require.NoError(t, err)
	signed, err := signer.Sign(claims)
	require.NoError(t, err)
	token, err := signed.CompactSerialize()
	require.NoError(t, err)
	return token
}

// everyKind returns all kinds, with keys of their own.
func everyKind(t *testing.T) []kind {
	t.Helper()
	return []kind{
		byHostname(),
		byAPIKey(),
		byPassword("alice:" + passwordHash(t) + "\n"),
		byToken(t, jose.ES256),
		byToken(t, jose.RS256),
		byToken(t, jose.HS256),
	}
}
