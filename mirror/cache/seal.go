package cache

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
)

const (
	saltSize  = 32
	checkSize = 16
	bodyKey   = 32 // AES-256
)

// seal is what one file is sealed with.
type seal struct {
	aead  cipher.AEAD
	check []byte // what says which key it is, and not what the key is
}

func newSalt() []byte {
	salt := make([]byte, saltSize)
	_, _ = rand.Read(salt) // never fails
	return salt
}

// newSeal derives the seal of the file that has this salt.
func newSeal(key, salt []byte) (seal, error) {
	check, err := hkdf.Key(sha256.New, key, salt, "authz-bridge cache: check of the key", checkSize)
	if err != nil {
		return seal{}, err
	}
	derived, err := hkdf.Key(sha256.New, key, salt, "authz-bridge cache: key of the body", bodyKey)
	if err != nil {
		return seal{}, err
	}
	defer clear(derived)
	block, err := aes.NewCipher(derived)
	if err != nil {
		return seal{}, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return seal{aead: aead, check: check}, err
}

// is reports whether a file was sealed with this one's key.
func (s seal) is(check []byte) bool {
	return subtle.ConstantTimeCompare(s.check, check) == 1
}

// size returns the length of the body that so many bytes make.
func (s seal) size(packed int) int64 { return int64(packed) + int64(s.aead.Overhead()) }

// close returns head and the sealed body after it, in a file of their own.
func (s seal) close(head, packed []byte) []byte {
	file := make([]byte, 0, int64(len(head))+s.size(len(packed)))
	return s.aead.Seal(append(file, head...), nil, packed, head) //nolint:gosec // this AEAD takes none: it makes a random nonce
}

// open unseals a body in place.
func (s seal) open(head, body []byte) ([]byte, error) {
	packed, err := s.aead.Open(body[:0], nil, body, head)
	if err != nil {
		return nil, errAltered
	}
	return packed, nil
}
