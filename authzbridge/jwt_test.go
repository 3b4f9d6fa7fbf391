package authzbridge_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// court is a town with Apps that judge tokens, and who signs for them.
type court struct {
	d                  *door
	shop, other, byPEM issuer
	shared             issuer // of strict and of sibling
}

const strictRules = `issuer: "https://id.example.com", claims: {team: [web, ops]}`

func newCourt(t *testing.T) court {
	t.Helper()
	w := newTown(t)
	c := court{
		shop:   newIssuer(t, "RS256", firstIssuer).withKid("shop-key"),
		other:  newIssuer(t, "RS256", secondIssuer).withKid("other-key"),
		byPEM:  newIssuer(t, "RS256", firstIssuer),
		shared: newIssuer(t, "HS512", firstIssuer),
	}
	var entries []string
	add := func(name, anyOf string, data map[string]string) {
		r := rotation{app: name, anyOf: anyOf}
		r.put(w, data)
		entries = append(entries, r.entry())
	}
	inJWKS := func(i issuer) map[string]string { return map[string]string{"jwks.json": jwksOf(i)} }
	add("shop", byToken("RS256", ", "+strictRules), inJWKS(c.shop))
	add("lenient", byToken("RS256", ", leeway: 5m"), inJWKS(c.shop))
	add("other", byToken("RS256", ""), inJWKS(c.other))
	add("sibling", "[{jwt: {algorithms: [RS256], audiences: [sibling, siblings]}}]", inJWKS(c.shop))
	add("pem", byToken("RS256", ""), map[string]string{"key.pem": c.byPEM.publicPEM()})
	add("hmac", "[{jwt: {algorithms: [HS512], key: value, format: hmac}}]", map[string]string{"value": string(c.shared.private.([]byte))})
	w.registry(document(entries...))

	c.d = newDoor(t, w.option())
	c.d.answer = "{http.authz_bridge.reason} {http.authz_bridge.identity}"
	c.d.errors = `respond "{http.authz_bridge.reason} {http.authz_bridge.identity}" {err.status_code}`
	require.NoError(t, c.d.load())
	c.d.becomes("shop.example.com", http.StatusUnauthorized)
	return c
}

// judged is a token and what becomes of it at a host.
type judged struct{ at, token, want string }

func TestTokensAreJudgedByTheRulesOfTheApp(t *testing.T) {
	c := newCourt(t)
	signed := func(name string, value any) string { return c.shop.token(claimMap{name: value}) }
	past, future := inSeconds(-2*time.Minute), inSeconds(2*time.Minute)
	c.try(t, map[string]judged{
		"right":                      {"shop", c.shop.token(nil), "200 allowed alice"},
		"ended":                      {"shop", signed("exp", past), "401 credentials_expired"},
		"not yet":                    {"shop", signed("nbf", future), "401 credentials_expired"},
		"issued later":               {"shop", signed("iat", future), "401 credentials_expired"},
		"without an end":             {"shop", signed("exp", nil), "401 credentials_invalid"},
		"an end in words":            {"shop", signed("exp", "never"), "401 credentials_invalid"},
		"another issuer":             {"shop", signed("iss", "https://id.example.com/"), "401 credentials_invalid"},
		"no issuer":                  {"shop", signed("iss", nil), "401 credentials_invalid"},
		"any issuer":                 {"lenient", signed("iss", nil), "200 allowed alice"},
		"another audience":           {"shop", signed("aud", "shops"), "401 credentials_invalid"},
		"no audience":                {"shop", signed("aud", nil), "401 credentials_invalid"},
		"one audience of several":    {"shop", signed("aud", []string{"blog", "shop"}), "200 allowed alice"},
		"no subject":                 {"shop", signed("sub", nil), "401 credentials_invalid"},
		"a subject that is no name":  {"shop", signed("sub", "alice\r\nX-Admin: 1"), "401 credentials_invalid"},
		"the other team":             {"shop", signed("team", "ops"), "200 allowed alice"},
		"one team of several":        {"shop", signed("team", []string{"db", "ops"}), "200 allowed alice"},
		"not of the team":            {"shop", signed("team", "db"), "403 claims_denied"},
		"of no team":                 {"shop", signed("team", nil), "403 claims_denied"},
		"ended, not of the team":     {"shop", c.shop.token(claimMap{"exp": past, "team": "db"}), "401 credentials_expired"},
		"ended within the leeway":    {"lenient", signed("exp", past), "200 allowed alice"},
		"ended before the leeway":    {"lenient", signed("exp", inSeconds(-time.Hour)), "401 credentials_expired"},
		"begins within the leeway":   {"lenient", signed("nbf", future), "200 allowed alice"},
		"begins after the leeway":    {"lenient", signed("nbf", inSeconds(time.Hour)), "401 credentials_expired"},
		"issued after the leeway":    {"lenient", signed("iat", inSeconds(time.Hour)), "401 credentials_expired"},
		"an HMAC without audiences":  {"hmac", c.shared.token(claimMap{"aud": nil}), "200 allowed alice"},
		"ended, of another audience": {"shop", c.shop.token(claimMap{"exp": past, "aud": "blog"}), "401 credentials_invalid"},
	})
}

func TestNoTokenIsTakenForOneOfAnotherAppOrKey(t *testing.T) {
	c := newCourt(t)
	pem := issuer{tb: t, algorithm: "HS256", private: []byte(c.byPEM.publicPEM())}
	set := issuer{tb: t, algorithm: "HS256", private: []byte(jwksOf(c.shop))}
	c.try(t, map[string]judged{
		"right":                             {"pem", c.byPEM.token(nil), "200 allowed alice"},
		"the other App's own":               {"other", c.other.token(nil), "200 allowed alice"},
		"of shop at other":                  {"other", c.shop.token(nil), "401 credentials_invalid"},
		"of shop at other without a kid":    {"other", c.shop.withKid("").token(nil), "401 credentials_invalid"},
		"of shop at other with its kid":     {"other", c.shop.withKid("other-key").token(nil), "401 credentials_invalid"},
		"of shop with the kid of other":     {"shop", c.shop.withKid("other-key").token(nil), "401 credentials_invalid"},
		"of other with the kid of shop":     {"shop", c.other.withKid("shop-key").token(nil), "401 credentials_invalid"},
		"of shop at its sibling":            {"sibling", c.shop.token(nil), "401 credentials_invalid"},
		"of the sibling":                    {"sibling", c.shop.token(claimMap{"aud": "siblings"}), "200 allowed alice"},
		"of the sibling at shop":            {"shop", c.shop.token(claimMap{"aud": "siblings"}), "401 credentials_invalid"},
		"not signed":                        {"shop", unsigned(t, "none"), "401 credentials_invalid"},
		"not signed, in another case":       {"pem", unsigned(t, "nOnE"), "401 credentials_invalid"},
		"not signed, by the alg of the App": {"hmac", unsigned(t, "HS512"), "401 credentials_invalid"},
		"HMAC with the public key":          {"pem", pem.token(nil), "401 credentials_invalid"},
		"HMAC with the JWKS":                {"shop", set.withKid("shop-key").token(nil), "401 credentials_invalid"},
		"HMAC of fewer bits":                {"hmac", c.shared.withAlgorithm("HS256").token(nil), "401 credentials_invalid"},
		"RSA of more bits":                  {"shop", c.shop.withAlgorithm("RS512").token(nil), "401 credentials_invalid"},
		"RSA of another padding":            {"shop", c.shop.withAlgorithm("PS256").token(nil), "401 credentials_invalid"},
		"a key of its own":                  {"shop", embedded(t), "401 credentials_invalid"},
		"another's signature":               {"shop", tampered(t, c.shop.token(nil)), "401 credentials_invalid"},
	})
}

func (c court) try(t *testing.T, cases map[string]judged) {
	t.Helper()
	for name, tried := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := c.d.trySend(tried.at+".example.com", asBearer(tried.token))
			require.NoError(t, err)
			assert.Equal(t, tried.want, strings.TrimSpace(fmt.Sprint(got.status, " ", got.body)))
			if got.status == http.StatusUnauthorized {
				assert.Equal(t, []string{`Bearer realm="restricted"`}, got.header["Www-Authenticate"])
			}
		})
	}
}

// unsigned is a token with right claims and no signature.
func unsigned(t *testing.T, algorithm string) string {
	t.Helper()
	encode := base64.RawURLEncoding.EncodeToString
	return encode(fmt.Appendf(nil, `{"alg":%q,"typ":"JWT"}`, algorithm)) + "." + encode([]byte(claimsText(t, nil))) + "."
}

// embedded is a token that brings the key along that it is signed with.
func embedded(t *testing.T) string {
	t.Helper()
	own := newIssuer(t, "RS256", foreignIssuer)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: own.private}, &jose.SignerOptions{EmbedJWK: true})
	require.NoError(t, err)
	signed, err := signer.Sign([]byte(claimsText(t, nil)))
	require.NoError(t, err)
	text, err := signed.CompactSerialize()
	require.NoError(t, err)
	return text
}
