package credential

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"errors"
	"fmt"
	"math"
)

const (
	leastRSABits = 2048 // RFC 7518 section 3.3
	// mostRSABits bounds the work of one verification.
	mostRSABits = 4096
	// leastSecretBytes is what HS256 needs (RFC 7518 section 3.2).
	leastSecretBytes = 32
)

// checkStrength refuses what a token could be forged for, and what is no key.
func checkStrength(material any) error {
	switch material := material.(type) {
	case *rsa.PublicKey:
		return checkRSA(material)
	case *ecdsa.PublicKey:
		if algorithmsOfCurve(material.Curve) == 0 {
			return errors.New("is on a curve that is none of P-256, P-384 and P-521")
		}
	case ed25519.PublicKey:
	case []byte:
		if len(material) < leastSecretBytes {
			return fmt.Errorf("is shorter than %d bytes; write a longer random value", leastSecretBytes)
		}
	default:
		return errors.New("is none of RSA, EC and Ed25519")
	}
	return nil
}

// checkRSA takes no exponent of 1, with which a signature is its own proof.
func checkRSA(key *rsa.PublicKey) error {
	if bits := key.N.BitLen(); bits < leastRSABits || bits > mostRSABits {
		return fmt.Errorf("is RSA with %d bits; use %d to %d", bits, leastRSABits, mostRSABits)
	}
	if key.N.Bit(0) == 0 || key.E < 3 || key.E%2 == 0 || key.E > math.MaxInt32 {
		return errors.New("is no RSA key that can be used")
	}
	return nil
}
