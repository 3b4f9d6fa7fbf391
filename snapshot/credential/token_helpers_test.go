package credential_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha3"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/snapshot/credential"
)

// tokenNow is the time of every test of tokens.
var tokenNow = time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)

// secret64 is long enough for every HS algorithm.
const secret64 = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// The keys are the same in every process, as the workers that fuzz must know the
// tokens of each other.
var (
	rsaKey   = sync.OnceValue(func() *rsa.PrivateKey { return newRSA("a", 2048) })
	otherRSA = sync.OnceValue(func() *rsa.PrivateKey { return newRSA("b", 2048) })
	weakRSA  = sync.OnceValue(func() *rsa.PrivateKey { return newRSA("a", 1024) })
	p256Key  = sync.OnceValue(func() *ecdsa.PrivateKey { return newEC("a", elliptic.P256()) })
	p384Key  = sync.OnceValue(func() *ecdsa.PrivateKey { return newEC("a", elliptic.P384()) })
	p521Key  = sync.OnceValue(func() *ecdsa.PrivateKey { return newEC("a", elliptic.P521()) })
	otherEC  = sync.OnceValue(func() *ecdsa.PrivateKey { return newEC("b", elliptic.P256()) })
	edKey    = sync.OnceValue(func() ed25519.PrivateKey { return newEd("a") })
	otherEd  = sync.OnceValue(func() ed25519.PrivateKey { return newEd("b") })
)

// seeded returns so many bytes that depend on the seed alone.
func seeded(seed string, size int) []byte {
	stream := sha3.NewSHAKE256()
	stream.Write([]byte(seed))
	bytes := make([]byte, size)
	stream.Read(bytes)
	return bytes
}

func newRSA(seed string, bits int) *rsa.PrivateKey {
	p, q := newPrime(seed+" p", bits/2), newPrime(seed+" q", bits/2)
	one := big.NewInt(1)
	phi := new(big.Int).Mul(new(big.Int).Sub(p, one), new(big.Int).Sub(q, one))
	const e = 65537
	key := &rsa.PrivateKey{
		PublicKey: rsa.PublicKey{N: new(big.Int).Mul(p, q), E: e},
		D:         new(big.Int).ModInverse(big.NewInt(e), phi),
		Primes:    []*big.Int{p, q},
	}
	key.Precompute()
	return key
}

func newPrime(seed string, bits int) *big.Int {
	prime := new(big.Int).SetBytes(seeded(seed, bits/8))
	prime.SetBit(prime, bits-1, 1).SetBit(prime, bits-2, 1).SetBit(prime, 0, 1)
	for two := big.NewInt(2); !prime.ProbablyPrime(0); {
		prime.Add(prime, two)
	}
	return prime
}

// newEC leaves the first two bytes zero, so that the scalar is below the order.
func newEC(seed string, curve elliptic.Curve) *ecdsa.PrivateKey {
	size := (curve.Params().BitSize + 7) / 8
	return must(ecdsa.ParseRawPrivateKey(curve, append(make([]byte, 2), seeded(seed, size-2)...)))
}

func newEd(seed string) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(seeded(seed, ed25519.SeedSize))
}

// must is for what fails only if the test itself is wrong.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func public(private any) any {
	if signer, ok := private.(crypto.Signer); ok {
		return signer.Public()
	}
	return private
}

// with returns a JWK of the public part, with members set or, if nil, taken away.
func with(private any, members map[string]any) string {
	return change(jose.JSONWebKey{Key: public(private)}, members)
}

func change(key jose.JSONWebKey, members map[string]any) string {
	var all map[string]any
	if err := json.Unmarshal(must(key.MarshalJSON()), &all); err != nil {
		panic(err)
	}
	for name, value := range members {
		all[name] = value
		if value == nil {
			delete(all, name)
		}
	}
	return string(must(json.Marshal(all)))
}

func jwks(keys ...string) string { return `{"keys":[` + strings.Join(keys, ",") + `]}` }

func inPEM(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

func publicPEM(private any) string {
	return inPEM("PUBLIC KEY", must(x509.MarshalPKIXPublicKey(public(private))))
}

// certificatePEM has expired long ago.
func certificatePEM(private crypto.Signer) string {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "id"},
		NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1, 0),
	}
	return inPEM("CERTIFICATE", must(x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)))
}

// certificateDER is a certificate as x5c has it.
func certificateDER(private crypto.Signer) string {
	block, _ := pem.Decode([]byte(certificatePEM(private)))
	return base64.StdEncoding.EncodeToString(block.Bytes)
}

// claims are right but for what is set or, if nil, taken away.
func claims(members map[string]any) string {
	all := map[string]any{
		"iss": "https://id.example.com", "sub": "alice", "aud": "shop",
		"exp": tokenNow.Add(time.Hour).Unix(), "nbf": tokenNow.Add(-time.Hour).Unix(), "iat": tokenNow.Add(-time.Hour).Unix(),
	}
	for name, value := range members {
		all[name] = value
		if value == nil {
			delete(all, name)
		}
	}
	return string(must(json.Marshal(all)))
}

// sign makes a token with the library.
func sign(algorithm string, private any, kid, payload string) string {
	key := jose.SigningKey{Algorithm: jose.SignatureAlgorithm(algorithm), Key: jose.JSONWebKey{Key: private, KeyID: kid}}
	signed := must(must(jose.NewSigner(key, nil)).Sign([]byte(payload)))
	return must(signed.CompactSerialize())
}

// forge makes a token with any header, signed with HMAC-SHA-256.
func forge(header, payload string, secret []byte) string {
	text := encode(header) + "." + encode(payload)
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(text))
	return text + "." + encode(string(mac.Sum(nil)))
}

// forged is a token of the right secret with any header and claims.
func forged(header, payload string) string { return forge(header, payload, []byte(secret64)) }

func encode(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }

func hmacKeys(t testing.TB) *credential.TokenKeys {
	t.Helper()
	return readTokens(t, data{"x": secret64}, credential.Spec{DataKey: "x", Format: credential.HMAC}, "HS256")
}

func readTokens(t testing.TB, s data, spec credential.Spec, algorithms ...string) *credential.TokenKeys {
	t.Helper()
	keys, _, err := credential.ReadTokenKeys(s, spec, algorithms)
	require.NoError(t, err)
	return keys
}

// verified says what became of a token, and of whom.
func verified(keys *credential.TokenKeys, token string, rules credential.TokenRules) string {
	client, result := keys.Verify(token, &rules, tokenNow)
	switch result {
	case credential.Valid:
		return client
	case credential.Expired:
		return "expired" + client
	case credential.Denied:
		return "denied" + client
	case credential.Unknown:
		return "unknown" + client
	default:
		return fmt.Sprint(result)
	}
}

func pinned(algorithms ...string) credential.TokenRules {
	return credential.TokenRules{Algorithms: algorithms}
}
