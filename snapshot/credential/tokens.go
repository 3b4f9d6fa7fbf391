package credential

import (
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const (
	// mostTokenBytes bounds what an unknown caller can have parsed.
	mostTokenBytes = 16 << 10
	// mostTries bounds the signatures that an unknown caller can have verified with
	// one token.
	mostTries = 4
)

// Verify returns whom a signed token belongs to, its sub. Only the compact form of
// a JWS counts (RFC 7515 section 7.1), with exp and sub, and nothing that the token
// brings along to verify it with (jwk, jku, x5c, x5u) is used.
//
// Valid: all is right. Expired: signature, issuer, audience and sub are right, but
// the token is not valid yet or any more. Denied: a claim that the rules ask for is
// not as it must be. Unknown: everything else. The client is empty unless Valid.
//
// A token with a kid is verified with the key of that kid and with those that have
// none; a token without with all that fit its algorithm. Four keys are tried at
// most, those with the kid first, then in the order of the Secret.
//
// Verify is safe for concurrent use.
func (k *TokenKeys) Verify(token string, rules *TokenRules, now time.Time) (client string, r Result) {
	if len(token) > mostTokenBytes || !isCompact(token) {
		return "", Unknown
	}
	signed, err := jose.ParseSignedCompact(token, k.algorithms)
	if err != nil {
		return "", Unknown
	}
	header := &signed.Signatures[0].Protected
	if extends(header) || !slices.Contains(rules.Algorithms, header.Algorithm) {
		return "", Unknown
	}
	payload, ok := k.payload(signed, header)
	if !ok {
		return "", Unknown
	}
	claims, ok := parseClaims(payload)
	if !ok {
		return "", Unknown
	}
	return claims.judge(rules, now)
}

// extends reports whether a header asks for an extension. The library knows b64
// (RFC 7797), which a JWT must not use; others are unknown.
func extends(header *jose.Header) bool {
	for name := range header.ExtraHeaders {
		if name == "crit" || name == "b64" {
			return true
		}
	}
	return false
}

// payload returns what a key has signed.
func (k *TokenKeys) payload(signed *jose.JSONWebSignature, header *jose.Header) ([]byte, bool) {
	var buf [mostTries]*tokenKey
	for _, key := range k.candidates(buf[:0], setOf(header.Algorithm), header.KeyID) {
		if payload, err := signed.Verify(key.material); err == nil {
			return payload, true
		}
	}
	return nil, false
}

// candidates fills up the capacity of what it is given.
func (k *TokenKeys) candidates(found []*tokenKey, algorithm algorithmSet, kid string) []*tokenKey {
	if kid == "" {
		return k.gather(found, func(key *tokenKey) bool { return key.algorithms&algorithm != 0 })
	}
	found = k.gather(found, func(key *tokenKey) bool { return key.algorithms&algorithm != 0 && key.kid == kid })
	return k.gather(found, func(key *tokenKey) bool { return key.algorithms&algorithm != 0 && key.kid == "" })
}

func (k *TokenKeys) gather(found []*tokenKey, fits func(*tokenKey) bool) []*tokenKey {
	for i := range k.all {
		if len(found) == cap(found) {
			return found
		}
		if key := &k.all[i]; fits(key) {
			found = append(found, key)
		}
	}
	return found
}

// isCompact reports whether a token has three parts in base64url, each written in
// the one way there is for its bytes: the library would skip line breaks and the
// spare bits at the end.
func isCompact(token string) bool {
	header, rest, _ := strings.Cut(token, ".")
	claims, signature, _ := strings.Cut(rest, ".")
	return isBase64URL(header) && isBase64URL(claims) && isBase64URL(signature)
}

func isBase64URL(part string) bool {
	last := -1
	for i := range len(part) {
		if last = sextet(part[i]); last < 0 {
			return false
		}
	}
	switch len(part) % 4 {
	case 2:
		return last&0x0f == 0
	case 3:
		return last&0x03 == 0
	case 1:
		return false
	}
	return part != ""
}

// sextet returns the six bits that a digit stands for (RFC 4648 section 5).
func sextet(digit byte) int {
	switch {
	case 'A' <= digit && digit <= 'Z':
		return int(digit - 'A')
	case 'a' <= digit && digit <= 'z':
		return int(digit-'a') + 26
	case '0' <= digit && digit <= '9':
		return int(digit-'0') + 52
	case digit == '-':
		return 62
	case digit == '_':
		return 63
	}
	return -1
}
