package credential

import (
	"slices"
	"time"
)

// TokenRules are what an App asks of a token beyond its signature. They must not be
// changed once they are in use.
type TokenRules struct {
	// Algorithms are pinned by the App, one at least; the token only says which of
	// them it is.
	Algorithms []string
	// Issuer is what iss must be, byte for byte; empty for any.
	Issuer string
	// Audiences are those of which one must be in aud; empty for any, which is right
	// only where the keys are secret values.
	Audiences []string
	// Claims are what must hold, all of them.
	Claims []Claim
	// Leeway is by how much clocks may differ.
	Leeway time.Duration
}

// Claim is what one claim of a token must be.
type Claim struct {
	// Name is that of a member at the top of the claims.
	Name string
	// Values are strings or bools. The token's claim must be one of them, or a list
	// with one of them in it.
	Values []any
}

// Equal reports whether both ask the same in the same order.
func (r TokenRules) Equal(other TokenRules) bool {
	return r.Issuer == other.Issuer && r.Leeway == other.Leeway &&
		slices.Equal(r.Algorithms, other.Algorithms) &&
		slices.Equal(r.Audiences, other.Audiences) &&
		slices.EqualFunc(r.Claims, other.Claims, Claim.equal)
}

func (c Claim) equal(other Claim) bool {
	return c.Name == other.Name && slices.Equal(c.Values, other.Values)
}

// admits reports whether what a token claims is what the rule asks for.
func (c Claim) admits(claimed any) bool {
	list, ok := claimed.([]any)
	if !ok {
		return c.has(claimed)
	}
	return slices.ContainsFunc(list, c.has)
}

func (c Claim) has(claimed any) bool {
	switch claimed.(type) {
	case string, bool:
		return slices.Contains(c.Values, claimed)
	}
	return false
}
