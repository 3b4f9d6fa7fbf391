package snapshot

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/textproto"
	"slices"
	"strings"

	kjson "sigs.k8s.io/json"

	"github.com/authz-bridge/authz-bridge/snapshot/credential"
)

// Method is one way for callers to prove themselves: an item of anyOf.
type Method struct {
	// From are the places where the key is looked for, in order.
	From []Place
	// DataKey is the data key that holds the keys; empty for any.
	DataKey string
	// Format is how the bytes are read.
	Format credential.Format
}

// Place is where a request carries a key: a header or a cookie.
type Place struct {
	// Header is the canonical name of a header; empty for a cookie.
	Header string
	// Scheme is what comes before the key in the header; empty for nothing.
	Scheme string
	// Cookie is the name of a cookie.
	Cookie string
}

func (m Method) equal(other Method) bool {
	return m.DataKey == other.DataKey && m.Format == other.Format && slices.Equal(m.From, other.From)
}

// optionalBool is true or false, or left out, but not null.
type optionalBool struct{ value, set, wrong bool }

// UnmarshalJSON implements json.Unmarshaler. It never fails, since the decoder
// would stop there and not see the rest of the entry.
func (o *optionalBool) UnmarshalJSON(text []byte) error {
	o.set, o.value = true, string(text) == "true"
	o.wrong = !o.value && string(text) != "false"
	return nil
}

// rawAnyOf keeps the text of anyOf until the entry is checked: its own strict
// decoder tells what is wrong in it.
type rawAnyOf struct {
	text []byte
	set  bool
}

// UnmarshalJSON implements json.Unmarshaler. It never fails.
func (r *rawAnyOf) UnmarshalJSON(text []byte) error {
	r.set, r.text = true, slices.Clone(text)
	return nil
}

type rawMethod struct {
	APIKey *rawAPIKey `json:"apiKey"`
}

type rawAPIKey struct {
	From   []rawPlace   `json:"from"`
	Key    optionalText `json:"key"`
	Format optionalText `json:"format"`
}

type rawPlace struct {
	Header optionalText `json:"header"`
	Scheme optionalText `json:"scheme"`
	Cookie optionalText `json:"cookie"`
}

// addPolicy reads anyOf. Whatever is wrong with it makes the entry wrong: a policy
// that is empty or not understood must not open the App.
func (e *Entry) addPolicy(anyOf rawAnyOf, strip optionalBool, defaultKey string) {
	e.Strip = !strip.set || strip.value
	if strip.wrong {
		e.refuse(errors.New("strip: is neither true nor false"))
	}
	if !anyOf.set {
		return
	}
	methods, err := parseAnyOf(anyOf.text, defaultKey)
	e.AnyOf = methods // of an entry that is wrong too: its callers send keys all the same
	if err != nil {
		e.refuse(fmt.Errorf("anyOf%w", err))
	}
}

// mostWays bounds the ways and the places of one App: each is looked at for each
// request.
const mostWays = 8

// parseAnyOf returns with an error what could be read all the same.
func parseAnyOf(text []byte, defaultKey string) ([]Method, error) {
	var raw []json.RawMessage
	if err := kjson.UnmarshalCaseSensitivePreserveInts(text, &raw); err != nil || len(raw) == 0 {
		return nil, errors.New(": is no list of ways to prove oneself; leave the field out to authorize by hostname alone")
	}
	var methods []Method
	var wrong error
	if len(raw) > mostWays {
		wrong = fmt.Errorf(": has more than %d ways", mostWays)
	}
	for i, item := range raw {
		m, err := parseMethod(item, defaultKey)
		if err == nil {
			err = overlaps(methods, m)
		}
		if err != nil && wrong == nil {
			wrong = fmt.Errorf("[%d]%w", i, err)
		}
		methods = append(methods, m)
	}
	return methods, wrong
}

// overlaps refuses one header with and without a scheme, or with one scheme in two
// spellings: one credential would be seen as two.
func overlaps(methods []Method, m Method) error {
	for _, other := range append(slices.Clone(methods), m) {
		for i, p := range m.From {
			for _, q := range other.From {
				if p != q && p.Header != "" && p.Header == q.Header &&
					(p.Scheme == "" || q.Scheme == "" || strings.EqualFold(p.Scheme, q.Scheme)) {
					return fmt.Errorf(".apiKey.from[%d]: header %s is there with another scheme, or none; write one of them", i, p.Header)
				}
			}
		}
	}
	return nil
}

func parseMethod(text []byte, defaultKey string) (Method, error) {
	var raw rawMethod
	strict, err := kjson.UnmarshalStrict(text, &raw)
	if raw.APIKey == nil {
		raw.APIKey = new(rawAPIKey)
		if err == nil && len(strict) == 0 {
			return Method{}, errors.New(": names no kind; write apiKey")
		}
	}
	m, wrong := raw.APIKey.method(defaultKey)
	switch {
	case err != nil:
		return m, fmt.Errorf(": %w", explain(err))
	case len(strict) > 0:
		return m, fmt.Errorf(": %w; this release knows apiKey", explainAll(strict))
	case wrong != nil:
		return m, fmt.Errorf(".apiKey.%w", wrong)
	}
	return m, nil
}

// method reads the places first, so that they are known whatever else is wrong.
func (raw *rawAPIKey) method(defaultKey string) (Method, error) {
	m := Method{DataKey: defaultKey, Format: credential.Auto}
	var wrong error
	if m.From, wrong = readPlaces(raw.From); wrong != nil {
		return m, wrong
	}
	if raw.Key.set {
		if m.DataKey = raw.Key.value; !ValidDataKey(m.DataKey) {
			return m, fmt.Errorf("key: %s is no key of a Secret", raw.Key.quote())
		}
	}
	if raw.Format.set {
		var err error
		if m.Format, err = credential.ParseFormat(raw.Format.value); err != nil {
			return m, fmt.Errorf("format: %w", err)
		}
	}
	if m.Format == credential.Map {
		if raw.Key.set {
			return m, errors.New("key: format map reads every key; leave it out")
		}
		m.DataKey = ""
	}
	return m, nil
}

// readPlaces returns with an error the places that could be read all the same.
func readPlaces(raw []rawPlace) (places []Place, wrong error) {
	switch {
	case len(raw) == 0:
		wrong = errors.New("from: is missing; list a header or a cookie at least")
	case len(raw) > mostWays:
		wrong = fmt.Errorf("from: has more than %d places", mostWays)
	}
	for i, place := range raw {
		p, err := place.check()
		if err == nil && slices.Contains(places, p) {
			err = errors.New("is listed before; remove it")
		}
		if err == nil {
			places = append(places, p)
		} else if wrong == nil {
			wrong = fmt.Errorf("from[%d]: %w", i, err)
		}
	}
	return places, wrong
}

func (raw rawPlace) check() (Place, error) {
	switch {
	case raw.Header.set == raw.Cookie.set:
		return Place{}, errors.New("name a header or a cookie")
	case raw.Cookie.set && raw.Scheme.set:
		return Place{}, errors.New("scheme: only a header has one")
	case raw.Cookie.set && !isToken(raw.Cookie.value, "-_."):
		return Place{}, fmt.Errorf("cookie: %s is no name of a cookie; use letters, digits, hyphens, dots and underscores", raw.Cookie.quote())
	case raw.Cookie.set:
		return Place{Cookie: raw.Cookie.value}, nil
	case !isToken(raw.Header.value, "-"):
		return Place{}, fmt.Errorf("header: %s is no name of a header; use letters, digits and hyphens", raw.Header.quote())
	case raw.Scheme.set && !isToken(raw.Scheme.value, "-"):
		return Place{}, fmt.Errorf("scheme: %s is no scheme; write it as in Bearer", raw.Scheme.quote())
	}
	p := Place{Header: textproto.CanonicalMIMEHeaderKey(raw.Header.value), Scheme: raw.Scheme.value}
	if slices.Contains(unfitHeaders, p.Header) {
		return Place{}, fmt.Errorf("header: %s has another meaning in HTTP; use one of your own, or Authorization", p.Header)
	}
	return p, nil
}

// unfitHeaders carry something else, or end at the next hop (RFC 9110 section
// 7.6.1), or are made anew by Go.
var unfitHeaders = []string{
	"Connection", "Content-Length", "Content-Type", "Cookie", "Host", "Keep-Alive", "Proxy-Authorization",
	"Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// isToken reports whether s is made of letters, digits and some other bytes.
func isToken(s, others string) bool {
	for i := range len(s) {
		c := s[i]
		if !lowerAlnum(c) && !('A' <= c && c <= 'Z') && strings.IndexByte(others, c) < 0 {
			return false
		}
	}
	return s != ""
}
