package authzbridge

import (
	"fmt"
	"time"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

// Asks is what an App asks of its callers, and gives to the app behind, in the words
// of the Registry.
type Asks struct {
	// ExpiresAt is when the App is denied from; absent for never.
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
	// AllowCIDRs are the addresses that the App is open to; none means all.
	AllowCIDRs []string `json:"allow_cidrs"`
	// AnyOf are the ways for callers to prove themselves; none means that the App is
	// open by hostname alone.
	AnyOf []Way `json:"any_of"`
	// Public are the paths that ask for no credentials.
	Public []PublicPath `json:"public"`
	// Preflight says whether CORS preflight requests are let through: pass or deny.
	Preflight string `json:"preflight"`
	// IdentityHeader tells the app behind who the caller is; absent for none.
	IdentityHeader string `json:"identity_header,omitempty"`
	// Inject is where the app behind is given a value of the Secret, and its data key;
	// absent for nowhere.
	Inject string `json:"inject,omitempty"`
	// Strip is false where the credential stays in the request.
	Strip bool `json:"strip"`
}

// Way is one way for callers to prove themselves.
type Way struct {
	// Kind is apiKey, basic or jwt.
	Kind string `json:"kind"`
	// From are the places where it is looked for, in words.
	From []string `json:"from"`
	// Key is the data key that it is compared with; absent for any.
	Key    string `json:"key,omitempty"`
	Format string `json:"format"`
	// Realm is of basic; the rest is of jwt.
	Realm      string   `json:"realm,omitempty"`
	Algorithms []string `json:"algorithms,omitempty"`
	Issuer     string   `json:"issuer,omitempty"`
	Audiences  []string `json:"audiences,omitempty"`
	// Claims are the names of those that are asked for.
	Claims []string `json:"claims,omitempty"`
}

// PublicPath is a path that asks for no credentials.
type PublicPath struct {
	// Path ends in /* for all below.
	Path    string   `json:"path"`
	Methods []string `json:"methods"`
}

func asksOf(app *snapshot.App) Asks {
	out := Asks{
		ExpiresAt:      known(app.ExpiresAt),
		AllowCIDRs:     []string{},
		AnyOf:          []Way{},
		Public:         []PublicPath{},
		Preflight:      "deny",
		IdentityHeader: app.IdentityHeader,
		Strip:          app.Strip,
	}
	for _, prefix := range app.AllowCIDRs {
		out.AllowCIDRs = append(out.AllowCIDRs, prefix.String())
	}
	for i := range app.AnyOf {
		out.AnyOf = append(out.AnyOf, wayOf(&app.AnyOf[i]))
	}
	for _, p := range app.Public {
		path := p.Path
		if p.Below {
			path += "*"
		}
		out.Public = append(out.Public, PublicPath{path, p.Methods})
	}
	if app.PassPreflight {
		out.Preflight = "pass"
	}
	if app.Inject != nil {
		out.Inject = fmt.Sprintf("%s, from key %q", placeInWords(app.Inject.At), app.Inject.DataKey)
	}
	return out
}

func wayOf(m *snapshot.Method) Way {
	out := Way{
		Kind:       string(m.Kind),
		Key:        m.DataKey,
		Format:     string(m.Format),
		Realm:      m.Realm,
		Algorithms: m.Rules.Algorithms,
		Issuer:     m.Rules.Issuer,
		Audiences:  m.Rules.Audiences,
	}
	for _, place := range m.From {
		out.From = append(out.From, placeInWords(place))
	}
	for _, claim := range m.Rules.Claims {
		out.Claims = append(out.Claims, claim.Name)
	}
	return out
}

func placeInWords(p snapshot.Place) string {
	switch {
	case p.Cookie != "":
		return "cookie " + p.Cookie
	case p.Scheme != "":
		return "header " + p.Header + " with " + p.Scheme
	}
	return "header " + p.Header
}
