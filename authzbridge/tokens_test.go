package authzbridge_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"
)

// issuer signs tokens with one key. A copy with another kid or algorithm signs with
// the same.
type issuer struct {
	tb        testing.TB
	algorithm string
	kid       string // empty for none
	private   any    // a crypto.Signer; for HMAC a []byte
}

// The issuers of one algorithm differ in their keys.
const (
	firstIssuer = iota
	secondIssuer
	foreignIssuer
	issuerCount
)

// rsaPrivate are made once: each takes a while.
var rsaPrivate = sync.OnceValues(func() (keys [issuerCount]*rsa.PrivateKey, err error) {
	for i := range keys {
		if keys[i], err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
			return keys, err
		}
	}
	return keys, nil
})

func newIssuer(tb testing.TB, algorithm string, which int) issuer {
	tb.Helper()
	return issuer{tb: tb, algorithm: algorithm, private: privateKey(tb, algorithm, which)}
}

func privateKey(tb testing.TB, algorithm string, which int) (private any) {
	tb.Helper()
	var err error
	switch algorithm {
	case "ES256":
		private, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case "ES384":
		private, err = ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	case "ES512":
		private, err = ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	case "EdDSA":
		_, private, err = ed25519.GenerateKey(rand.Reader)
	case "HS256", "HS384", "HS512":
		private = []byte(strings.Repeat(string(rune('a'+which)), 64))
	default:
		var keys [issuerCount]*rsa.PrivateKey
		keys, err = rsaPrivate()
		private = keys[which]
	}
	require.NoError(tb, err)
	return private
}

// withKid returns the issuer with a key ID.
func (i issuer) withKid(kid string) issuer {
	i.kid = kid
	return i
}

// withAlgorithm returns the issuer with another algorithm for the same key.
func (i issuer) withAlgorithm(algorithm string) issuer {
	i.algorithm = algorithm
	return i
}

// public is what a token is verified with.
func (i issuer) public() any {
	if signer, ok := i.private.(crypto.Signer); ok {
		return signer.Public()
	}
	return i.private
}

// jwk is what a token is verified with, as an item of a JWKS.
func (i issuer) jwk() string {
	i.tb.Helper()
	text, err := jose.JSONWebKey{Key: i.public(), KeyID: i.kid}.MarshalJSON()
	require.NoError(i.tb, err)
	return string(text)
}

func jwksOf(issuers ...issuer) string {
	items := make([]string, len(issuers))
	for n, i := range issuers {
		items[n] = i.jwk()
	}
	return jwksWith(items...)
}

func jwksWith(items ...string) string { return `{"keys":[` + strings.Join(items, ",") + `]}` }

func (i issuer) publicPEM() string {
	i.tb.Helper()
	der, err := x509.MarshalPKIXPublicKey(i.public())
	require.NoError(i.tb, err)
	return pemBlock("PUBLIC KEY", der)
}

// pkcs1PEM is for RSA alone.
func (i issuer) pkcs1PEM() string {
	i.tb.Helper()
	key, ok := i.public().(*rsa.PublicKey)
	require.True(i.tb, ok)
	return pemBlock("RSA PUBLIC KEY", x509.MarshalPKCS1PublicKey(key))
}

func (i issuer) certificatePEM() string {
	i.tb.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "id.example.com"},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, i.public(), i.private)
	require.NoError(i.tb, err)
	return pemBlock("CERTIFICATE", der)
}

func pemBlock(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// claimMap are the claims of a token.
type claimMap map[string]any

// token signs claims that are right, but for those that are given or, if nil, taken
// away.
func (i issuer) token(changes claimMap) string {
	i.tb.Helper()
	key := jose.SigningKey{
		Algorithm: jose.SignatureAlgorithm(i.algorithm),
		Key:       jose.JSONWebKey{Key: i.private, KeyID: i.kid},
	}
	signer, err := jose.NewSigner(key, nil)
	require.NoError(i.tb, err)
	signed, err := signer.Sign([]byte(claimsText(i.tb, changes)))
	require.NoError(i.tb, err)
	text, err := signed.CompactSerialize()
	require.NoError(i.tb, err)
	return text
}

func claimsText(tb testing.TB, changes claimMap) string {
	tb.Helper()
	claims := claimMap{
		"iss": "https://id.example.com", "sub": "alice", "aud": "shop", "team": "web",
		"iat": inSeconds(-time.Hour), "exp": inSeconds(time.Hour),
	}
	for name, value := range changes {
		claims[name] = value
		if value == nil {
			delete(claims, name)
		}
	}
	text, err := json.Marshal(claims)
	require.NoError(tb, err)
	return string(text)
}

// inSeconds is a date as tokens have it, so far from now.
func inSeconds(d time.Duration) int64 { return time.Now().Add(d).Unix() }

// tampered is a token with a bit of its signature changed.
func tampered(tb testing.TB, token string) string {
	tb.Helper()
	at := strings.LastIndexByte(token, '.') + 1
	signature, err := base64.RawURLEncoding.DecodeString(token[at:])
	require.NoError(tb, err)
	signature[len(signature)/2] ^= 1
	return token[:at] + base64.RawURLEncoding.EncodeToString(signature)
}
