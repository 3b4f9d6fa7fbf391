package snapshot

import (
	"errors"
	"fmt"
	"slices"
)

// Policy is what an App asks of its callers, and what it gives to the app behind.
// It is immutable, and shared by the Apps that are written alike.
type Policy struct {
	// AnyOf are the ways for callers to prove themselves; none means that the App is
	// open by hostname alone.
	AnyOf []Method
	// Public are the paths that ask for no credentials.
	Public []PublicPath
	// PassPreflight says that CORS preflight requests ask for no credentials.
	PassPreflight bool
	// IdentityHeader is the canonical name of the header that tells the app behind
	// who the caller is; empty for none.
	IdentityHeader string
	// Strip says to remove the credential before the request goes on.
	Strip bool
	// Inject is what the app behind is given; nil for nothing.
	Inject *Injection
}

// rawPolicy are the fields of an entry that make its Policy.
type rawPolicy struct {
	AnyOf          rawText      `json:"anyOf"`
	Public         rawText      `json:"public"`
	Preflight      rawText      `json:"preflight"`
	IdentityHeader rawText      `json:"identityHeader"`
	Inject         rawText      `json:"inject"`
	Strip          optionalBool `json:"strip"`
}

// rawText is the JSON of a field, kept until the entry is checked: a decoder of its
// own tells what is wrong in it. It is empty for a field that is not there.
type rawText string

// UnmarshalJSON implements json.Unmarshaler. It never fails, since the decoder
// would stop there and not see the rest of the entry.
func (r *rawText) UnmarshalJSON(text []byte) error {
	*r = rawText(text)
	return nil
}

func (r rawText) isSet() bool { return r != "" }

// text reads a string.
func (r rawText) text() (o optionalText) {
	if r.isSet() {
		_ = o.UnmarshalJSON([]byte(r)) // it tells by itself
	}
	return o
}

// list reads a list of strings.
func (r rawText) list() (o optionalList) {
	if r.isSet() {
		_ = o.UnmarshalJSON([]byte(r))
	}
	return o
}

// optionalBool is true or false, or left out, but not null.
type optionalBool struct{ value, set, wrong bool }

// UnmarshalJSON implements json.Unmarshaler. It never fails.
func (o *optionalBool) UnmarshalJSON(text []byte) error {
	o.set, o.value = true, string(text) == "true"
	o.wrong = !o.value && string(text) != "false"
	return nil
}

// parse reads every field, whatever is wrong with one, and returns the first error.
func (raw *rawPolicy) parse(dataKey string) (*Policy, error) {
	p := &Policy{Strip: !raw.Strip.set || raw.Strip.value}
	var wrong error
	for _, err := range []error{
		p.readAnyOf(raw.AnyOf, dataKey),
		p.checkStrip(raw.Strip),
		p.readPublic(raw.Public),
		p.readPreflight(raw.Preflight.text()),
		p.readIdentityHeader(raw.IdentityHeader.text()),
		p.readInject(raw.Inject),
	} {
		if wrong == nil {
			wrong = err
		}
	}
	return p, wrong
}

func (p *Policy) checkStrip(strip optionalBool) error {
	switch {
	case strip.wrong:
		return errors.New("strip: is neither true nor false")
	case strip.set:
		return p.asks("strip")
	}
	return nil
}

// asks tells what has no meaning without anyOf. One that was lost must not open the
// App.
func (p *Policy) asks(field string) error {
	if len(p.AnyOf) == 0 {
		return fmt.Errorf("%s: has no meaning without anyOf; write anyOf, or leave the field out", field)
	}
	return nil
}

func (p *Policy) readIdentityHeader(name optionalText) error {
	if !name.set {
		return nil
	}
	header, err := name.header()
	if err != nil {
		return fmt.Errorf("identityHeader: %w", err)
	}
	if header == authorization || p.looksAt(header) {
		return fmt.Errorf("identityHeader: %s carries credentials; use another", header)
	}
	p.IdentityHeader = header
	return p.asks("identityHeader")
}

func (p *Policy) looksAt(header string) bool {
	for place := range p.places() {
		if place.Header == header {
			return true
		}
	}
	return false
}

// places yields where the credentials of callers may be.
func (p *Policy) places() func(yield func(Place) bool) {
	return func(yield func(Place) bool) {
		for i := range p.AnyOf {
			for _, place := range p.AnyOf[i].From {
				if !yield(place) {
					return
				}
			}
		}
	}
}

// equal reports whether nobody could tell two Policies apart.
func (p *Policy) equal(other *Policy) bool {
	return p == other ||
		slices.EqualFunc(p.AnyOf, other.AnyOf, Method.equal) &&
			slices.EqualFunc(p.Public, other.Public, PublicPath.equal) &&
			p.PassPreflight == other.PassPreflight && p.IdentityHeader == other.IdentityHeader &&
			p.Strip == other.Strip && p.Inject.equal(other.Inject)
}
