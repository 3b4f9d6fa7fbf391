package credential

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"slices"
	"strings"

	"github.com/go-jose/go-jose/v4"
)

// knownAlgorithms are those of RFC 7518 section 3.1 and RFC 8037 section 3.1, but
// for none.
var knownAlgorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512,
	jose.PS256, jose.PS384, jose.PS512,
	jose.ES256, jose.ES384, jose.ES512,
	jose.EdDSA,
	jose.HS256, jose.HS384, jose.HS512,
}

// KnownAlgorithm reports whether tokens can be signed with the algorithm of this
// name: RS, PS, ES and HS with 256, 384 and 512, and EdDSA. Never none.
func KnownAlgorithm(name string) bool {
	return slices.Contains(knownAlgorithms, jose.SignatureAlgorithm(name))
}

// SymmetricAlgorithm reports whether who can verify a token with the algorithm of
// this name can make one as well: HS256, HS384 and HS512.
func SymmetricAlgorithm(name string) bool {
	return KnownAlgorithm(name) && strings.HasPrefix(name, "HS")
}

// algorithmSet has a bit for each of knownAlgorithms.
type algorithmSet uint16

// setOf leaves out what is unknown.
func setOf[T ~string](names ...T) algorithmSet {
	var set algorithmSet
	for _, name := range names {
		if i := slices.Index(knownAlgorithms, jose.SignatureAlgorithm(name)); i >= 0 {
			set |= 1 << i
		}
	}
	return set
}

// names returns the algorithms as the library takes them.
func (s algorithmSet) names() []jose.SignatureAlgorithm {
	var names []jose.SignatureAlgorithm
	for i, name := range knownAlgorithms {
		if s&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// algorithmsOf returns what a key may be used with, by its type alone: a public key
// can never become an HMAC key.
func algorithmsOf(material any) algorithmSet {
	switch material := material.(type) {
	case *rsa.PublicKey:
		return setOf(jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512)
	case *ecdsa.PublicKey:
		return algorithmsOfCurve(material.Curve)
	case ed25519.PublicKey:
		return setOf(jose.EdDSA)
	case []byte:
		return algorithmsOfSecret(len(material))
	}
	return 0
}

func algorithmsOfCurve(curve elliptic.Curve) algorithmSet {
	switch curve {
	case elliptic.P256():
		return setOf(jose.ES256)
	case elliptic.P384():
		return setOf(jose.ES384)
	case elliptic.P521():
		return setOf(jose.ES512)
	}
	return 0
}

// algorithmsOfSecret: a secret has as many bytes as the digest at least (RFC 7518
// section 3.2).
func algorithmsOfSecret(size int) algorithmSet {
	var set algorithmSet
	if size >= 32 {
		set |= setOf(jose.HS256)
	}
	if size >= 48 {
		set |= setOf(jose.HS384)
	}
	if size >= 64 {
		set |= setOf(jose.HS512)
	}
	return set
}
