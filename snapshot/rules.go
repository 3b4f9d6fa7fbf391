package snapshot

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	kjson "sigs.k8s.io/json"

	"github.com/authz-bridge/authz-bridge/snapshot/credential"
)

// rawRules is what is asked of a token beyond its signature.
type rawRules struct {
	Algorithms optionalList `json:"algorithms"`
	Issuer     optionalText `json:"issuer"`
	Audiences  optionalList `json:"audiences"`
	Claims     rawText      `json:"claims"`
	Leeway     optionalText `json:"leeway"`
}

// Bounds of the rules: all are gone through for each request.
const (
	mostRules   = 32
	maxLeeway   = 5 * time.Minute
	maxRuleText = 1024
)

// rules asks for audiences unless the keys are the App's own: an issuer signs tokens
// for other apps too, and those open nothing here.
func (raw *rawRules) rules(format credential.Format) (credential.TokenRules, error) {
	var r credential.TokenRules
	var err error
	if r.Algorithms, err = raw.algorithms(); err != nil {
		return r, fmt.Errorf("algorithms: %w", err)
	}
	if raw.Issuer.set {
		if r.Issuer = raw.Issuer.value; r.Issuer == "" {
			return r, fmt.Errorf("issuer: %s is no issuer; write the token's iss, or leave the field out", raw.Issuer.quote())
		}
	}
	if r.Audiences, err = raw.Audiences.words("audiences", "write what the token's aud must name"); err != nil {
		return r, err
	}
	if len(r.Audiences) == 0 && format != credential.HMAC {
		return r, errors.New("audiences: missing; write what the token's aud must name, for an issuer signs tokens of other apps too")
	}
	if r.Claims, err = raw.claims(); err != nil {
		return r, fmt.Errorf("claims%w", err)
	}
	if r.Leeway, err = raw.leeway(); err != nil {
		return r, fmt.Errorf("leeway: %w", err)
	}
	return r, nil
}

// algorithms takes no mixture: who may use a public key must never be able to sign
// with it.
func (raw *rawRules) algorithms() ([]string, error) {
	names := raw.Algorithms.items
	if len(names) == 0 {
		return nil, fmt.Errorf("%s; list what tokens are signed with, as in [RS256]", cmp.Or(raw.Algorithms.unlisted(), "missing"))
	}
	for i, name := range names {
		switch {
		case !credential.KnownAlgorithm(name):
			return nil, fmt.Errorf("%s is not known here; use RS256, PS256, ES256 or their longer ones, EdDSA, or HS256", quote(name))
		case slices.Contains(names[:i], name):
			return nil, fmt.Errorf("%s is listed twice", name)
		case credential.SymmetricAlgorithm(name) != credential.SymmetricAlgorithm(names[0]):
			return nil, errors.New("HMAC and public keys are not mixed; make an item of each")
		}
	}
	return names, nil
}

// unlisted tells what is written instead of a list with something in it.
func (o optionalList) unlisted() string {
	if !o.set {
		return ""
	}
	return cmp.Or(o.wrong, "[]") + " is no list"
}

// words returns a list that may be left out, of strings that are not empty.
func (o optionalList) words(field, fix string) ([]string, error) {
	if !o.set {
		return nil, nil
	}
	if len(o.items) == 0 {
		return nil, fmt.Errorf("%s: %s; %s", field, o.unlisted(), fix)
	}
	if len(o.items) > mostRules {
		return nil, fmt.Errorf("%s: has more than %d items", field, mostRules)
	}
	for _, item := range o.items {
		if item == "" || len(item) > maxRuleText {
			return nil, fmt.Errorf("%s: %s cannot be one; %s", field, quote(item), fix)
		}
	}
	return o.items, nil
}

func (raw *rawRules) leeway() (time.Duration, error) {
	if !raw.Leeway.set {
		return 0, nil
	}
	d, err := time.ParseDuration(raw.Leeway.value)
	if err != nil || d < 0 || d > maxLeeway {
		return 0, fmt.Errorf("%s is no leeway; write it as in 30s, 5m at most", raw.Leeway.quote())
	}
	return d, nil
}

// claims returns them by name, so that two spellings of one document are equal.
func (raw *rawRules) claims() ([]credential.Claim, error) {
	if !raw.Claims.isSet() {
		return nil, nil
	}
	var written map[string]json.RawMessage
	strict, err := kjson.UnmarshalStrict([]byte(raw.Claims), &written)
	switch {
	case err != nil, len(written) == 0:
		return nil, errors.New(": is no mapping; write it as in {team: [web, ops]}, or leave the field out")
	case len(strict) > 0:
		return nil, fmt.Errorf(": %w", explainAll(strict))
	case len(written) > mostRules:
		return nil, fmt.Errorf(": has more than %d claims", mostRules)
	}
	claims := make([]credential.Claim, 0, len(written))
	for _, name := range slices.Sorted(maps.Keys(written)) {
		values, err := claimValues(written[name])
		if err != nil {
			return nil, fmt.Errorf(".%s: %w", shorten(name, maxQuoted), err)
		}
		claims = append(claims, credential.Claim{Name: name, Values: values})
	}
	return claims, nil
}

func claimValues(text []byte) ([]any, error) {
	var one any
	if err := json.Unmarshal(text, &one); err != nil {
		return nil, err
	}
	values, isList := one.([]any)
	if !isList {
		values = []any{one}
	}
	if len(values) == 0 || len(values) > mostRules {
		return nil, fmt.Errorf("list 1 to %d values", mostRules)
	}
	for _, value := range values {
		switch v := value.(type) {
		case string:
			if len(v) <= maxRuleText {
				continue
			}
		case bool:
			continue
		}
		return nil, fmt.Errorf("%s is no value of a claim; write strings, true or false", shorten(string(text), maxQuoted))
	}
	return values, nil
}
