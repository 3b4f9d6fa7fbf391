package credential

import (
	"slices"
	"time"

	"github.com/go-jose/go-jose/v4/json"
	"github.com/go-jose/go-jose/v4/jwt"
)

// claimSet are the claims of a token whose signature is right. The library's JSON
// is case-sensitive and refuses a member that is there twice.
type claimSet map[string]json.RawMessage

func parseClaims(payload []byte) (claimSet, bool) {
	var claims claimSet
	err := json.Unmarshal(payload, &claims)
	return claims, err == nil
}

// judge looks at who and for whom first, then at the time and then at what the App
// asks for besides, so that a token of somebody else is not told to be late.
func (c claimSet) judge(rules *TokenRules, now time.Time) (client string, r Result) {
	subject, ok := c.subject()
	if !ok || !c.isFrom(rules.Issuer) || !c.isFor(rules.Audiences) {
		return "", Unknown
	}
	from, until, ok := c.times()
	switch {
	case !ok:
		return "", Unknown
	case now.Add(rules.Leeway).Before(from), !now.Add(-rules.Leeway).Before(until):
		return "", Expired
	case !c.fulfil(rules.Claims):
		return "", Denied
	}
	return subject, Valid
}

// text returns a claim that is a string.
func (c claimSet) text(name string) (string, bool) {
	var text string
	err := json.Unmarshal(c[name], &text)
	return text, err == nil
}

// subject returns what can be an identity: it goes into headers and logs.
func (c claimSet) subject() (string, bool) {
	const most = 253
	subject, ok := c.text("sub")
	if !ok || subject == "" || len(subject) > most {
		return "", false
	}
	for i := range len(subject) {
		if b := subject[i]; b < '!' || b > '~' {
			return "", false
		}
	}
	return subject, true
}

func (c claimSet) isFrom(issuer string) bool {
	if issuer == "" {
		return true
	}
	claimed, ok := c.text("iss")
	return ok && claimed == issuer
}

func (c claimSet) isFor(audiences []string) bool {
	if len(audiences) == 0 {
		return true
	}
	var claimed jwt.Audience
	if json.Unmarshal(c["aud"], &claimed) != nil {
		return false
	}
	return slices.ContainsFunc(audiences, claimed.Contains)
}

// times returns from when a token is valid, which is always if it does not say, and
// when it ends, which it must say.
func (c claimSet) times() (from, until time.Time, ok bool) {
	until, hasEnd := c.date("exp")
	notBefore, okBefore := c.date("nbf")
	issued, okIssued := c.date("iat")
	if issued.After(notBefore) {
		notBefore = issued
	}
	return notBefore, until, c["exp"] != nil && hasEnd && okBefore && okIssued
}

// date returns the zero time for a claim that is missing. What is no number, or one
// so large that it would turn into another time, is not ok. Parts of a second are
// cut off.
func (c claimSet) date(name string) (date time.Time, ok bool) {
	raw, ok := c[name]
	if !ok {
		return time.Time{}, true
	}
	var seconds jwt.NumericDate
	if seconds.UnmarshalJSON(raw) != nil {
		return time.Time{}, false
	}
	return seconds.Time(), true
}

func (c claimSet) fulfil(rules []Claim) bool {
	for _, rule := range rules {
		var claimed any
		if json.Unmarshal(c[rule.Name], &claimed) != nil || !rule.admits(claimed) {
			return false
		}
	}
	return true
}
