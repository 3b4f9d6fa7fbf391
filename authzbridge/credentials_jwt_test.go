package authzbridge_test

import (
	"fmt"
	"strings"
	"testing"
)

// byToken is an anyOf that asks for tokens.
func byToken(algorithms, more string) string {
	return fmt.Sprintf("[{jwt: {algorithms: [%s], audiences: [shop]%s}}]", algorithms, more)
}

// tokenRotations has every algorithm, every kind of key and every format.
func tokenRotations(t *testing.T) []rotation {
	t.Helper()
	var all []rotation
	for _, algorithm := range []string{
		"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "HS256", "HS384", "HS512",
	} {
		r, old, fresh := tokensOf(t, "jwks-"+strings.ToLower(algorithm), algorithm, byToken(algorithm, ""))
		all = append(all, r.holding("jwks.json", jwksOf(old), jwksOf(old, fresh), jwksOf(fresh)))
	}
	return append(append(all, jwksRotations(t)...), append(pemRotations(t), hmacRotations(t)...)...)
}

// tokensOf returns a rotation without a Secret, and its issuers. Wrong are the
// tokens of another issuer, those that were changed, and the keys themselves.
func tokensOf(t *testing.T, name, algorithm, anyOf string) (r rotation, old, fresh issuer) {
	t.Helper()
	old = newIssuer(t, algorithm, firstIssuer).withKid("old")
	fresh = newIssuer(t, algorithm, secondIssuer).withKid("new")
	r = rotation{app: name, anyOf: anyOf, carry: asBearer}
	r.setIssuers(t, old, fresh)
	foreign := newIssuer(t, algorithm, foreignIssuer)
	r.wrong = append(r.wrong, foreign.token(nil), foreign.withKid("old").token(nil), foreign.withKid("new").token(nil))
	return r, old, fresh
}

func (r *rotation) setIssuers(t *testing.T, old, fresh issuer) {
	t.Helper()
	r.old = caller{old.token(claimMap{"sub": "alice"}), "alice"}
	r.fresh = caller{fresh.token(claimMap{"sub": "bob@example.com"}), "bob@example.com"}
	r.wrong = []string{tampered(t, r.old.credential), tampered(t, r.fresh.credential), "token", "..", r.old.credential + ".x"}
}

// holding gives the Secret one data key; there is no during if it is empty.
func (r rotation) holding(dataKey, before, during, after string) rotation {
	r.before, r.after = map[string]string{dataKey: before}, map[string]string{dataKey: after}
	if during != "" {
		r.during = map[string]string{dataKey: during}
	}
	return r
}

func jwksRotations(t *testing.T) []rotation {
	t.Helper()
	inCookies, a, b := tokensOf(t, "jwks-explicit-in-a-cookie", "ES256", byToken("ES256", ", key: tls.crt, format: jwks, from: [{cookie: id_token}]"))
	inCookies.carry = inCookie("id_token")

	inOtherHeader, c, d := tokensOf(t, "jwks-of-nginx-in-a-header", "EdDSA", byToken("EdDSA", ", from: [{header: X-API-Key}]"))
	inOtherHeader.carry = inHeader("X-API-Key", "")

	without, e, f := tokensOf(t, "jwks-without-kid", "PS256", byToken("PS256", ""))
	e, f = e.withKid(""), f.withKid("")
	without.secretKey = "keys"

	across, g, _ := tokensOf(t, "jwks-to-another-family", "RS256", byToken("RS256, EdDSA", ""))
	h := newIssuer(t, "EdDSA", secondIssuer)
	across.setIssuers(t, g, h)

	return []rotation{
		inCookies.holding("tls.crt", jwksOf(a), jwksOf(a, b), jwksOf(b)),
		inOtherHeader.holding("auth", jwksOf(c), jwksOf(c, d), jwksOf(d)),
		without.holding("keys", jwksOf(e), jwksOf(e, f), jwksOf(f)),
		across.holding("jwks.json", jwksOf(g), jwksOf(g, h), jwksOf(h)),
	}
}

func pemRotations(t *testing.T) []rotation {
	t.Helper()
	rsaKeys, a, b := tokensOf(t, "pem-public-key-of-rsa", "RS256", byToken("RS256", ""))
	pkcs1, c, d := tokensOf(t, "pem-rsa-public-key", "PS512", byToken("PS512", ", key: key.pem"))
	ed, e, f := tokensOf(t, "pem-public-key-of-ed25519", "EdDSA", byToken("EdDSA", ", key: tls.crt, format: pem"))
	certificates, g, h := tokensOf(t, "pem-certificate", "ES384", byToken("ES384", ", format: pem"))
	return []rotation{
		rsaKeys.holding("key.pem", a.publicPEM(), a.publicPEM()+b.publicPEM(), b.publicPEM()),
		pkcs1.holding("key.pem", c.pkcs1PEM(), c.pkcs1PEM()+d.pkcs1PEM(), d.pkcs1PEM()),
		ed.holding("tls.crt", e.publicPEM(), f.publicPEM()+e.publicPEM(), f.publicPEM()),
		certificates.holding("ca.pem", g.certificatePEM(), "old:\n"+g.certificatePEM()+"new:\n"+h.certificatePEM(), h.certificatePEM()),
	}
}

// hmacRotations are of Secrets that hold one value, or of two items.
func hmacRotations(t *testing.T) []rotation {
	t.Helper()
	value := func(i issuer) string { return string(i.private.([]byte)) }
	named, a, b := tokensOf(t, "hmac-of-a-named-key", "HS512", "[{jwt: {algorithms: [HS512], key: value, format: hmac}}]")
	usual, c, d := tokensOf(t, "hmac-under-key", "HS256", byToken("HS256", ", format: hmac"))
	two, e, f := tokensOf(t, "hmac-of-two-items", "HS384",
		"[{jwt: {algorithms: [HS384], key: blue, format: hmac}}, {jwt: {algorithms: [HS384], key: green, format: hmac}}]")
	two.before = map[string]string{"blue": value(e), "green": value(e)}
	two.during = map[string]string{"blue": value(e), "green": value(f)}
	two.after = map[string]string{"blue": value(f), "green": value(f)}
	return []rotation{
		named.holding("value", value(a), "", value(b)),
		usual.holding("key", value(c)+"\n", "", value(d)),
		two,
	}
}
