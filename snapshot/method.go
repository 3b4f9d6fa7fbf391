package snapshot

import (
	"slices"

	"github.com/authz-bridge/authz-bridge/snapshot/credential"
)

// Method is one way for callers to prove themselves: an item of anyOf.
type Method struct {
	// Kind says what the caller presents.
	Kind credential.Kind
	// From are the places where it is looked for, in order.
	From []Place
	// DataKey is the data key that holds what it is compared with; empty for any.
	DataKey string
	// Format is how the bytes are read.
	Format credential.Format
	// Realm is what a browser shows when it asks for a password. Default:
	// "restricted".
	Realm string
	// Rules are what is asked of a token beyond its signature.
	Rules credential.TokenRules
}

func (m Method) equal(other Method) bool {
	return m.Kind == other.Kind && m.DataKey == other.DataKey && m.Format == other.Format && m.Realm == other.Realm &&
		slices.Equal(m.From, other.From) && m.Rules.Equal(other.Rules)
}

// dataKeys are those that the method reads; none means every one.
func (m Method) dataKeys() []string { return m.Format.DataKeys(m.DataKey) }

// challenge is for the WWW-Authenticate header (RFC 9110 section 11.6.1). Nothing in
// it says more than the status and the Registry do.
func (m Method) challenge() string {
	if m.Kind == credential.Basic {
		return `Basic realm="` + m.Realm + `", charset="UTF-8"`
	}
	scheme := "ApiKey"
	for _, p := range m.From {
		if p.Scheme != "" {
			scheme = p.Scheme
			break
		}
	}
	return scheme + ` realm="restricted"`
}
