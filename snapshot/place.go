package snapshot

import (
	"errors"
	"fmt"
	"net/textproto"
	"slices"
	"strings"
)

// Place is where a request carries a credential: a header or a cookie.
type Place struct {
	// Header is the canonical name of a header; empty for a cookie.
	Header string
	// Scheme is what comes before the credential in the header; empty for nothing.
	Scheme string
	// Cookie is the name of a cookie.
	Cookie string
}

const authorization = "Authorization"

// basicPlace is where users and passwords are (RFC 7617), bearerPlace where tokens
// are (RFC 6750) unless the App says otherwise.
var (
	basicPlace  = Place{Header: authorization, Scheme: "Basic"}
	bearerPlace = Place{Header: authorization, Scheme: "Bearer"}
)

type rawPlace struct {
	Header optionalText `json:"header"`
	Scheme optionalText `json:"scheme"`
	Cookie optionalText `json:"cookie"`
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
	}
	header, err := raw.Header.header()
	if err != nil {
		return Place{}, fmt.Errorf("header: %w", err)
	}
	if raw.Scheme.set && !isToken(raw.Scheme.value, "-") {
		return Place{}, fmt.Errorf("scheme: %s is no scheme; write it as in Bearer", raw.Scheme.quote())
	}
	return Place{Header: header, Scheme: raw.Scheme.value}, nil
}

// header reads the name of a header that may carry something of an App.
func (o optionalText) header() (string, error) {
	if !isToken(o.value, "-") {
		return "", fmt.Errorf("%s is no name of a header; use letters, digits and hyphens", o.quote())
	}
	name := textproto.CanonicalMIMEHeaderKey(o.value)
	if unfit(name) {
		return "", fmt.Errorf("%s has another meaning in HTTP; use one of your own, or Authorization", name)
	}
	return name, nil
}

// unfit reports whether a header has a meaning of its own: whatever an App does with
// it would be done to the requests for other Apps as well.
func unfit(name string) bool {
	return slices.Contains(unfitHeaders, name) ||
		slices.ContainsFunc(unfitPrefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// unfitHeaders carry something else, or end at the next hop (RFC 9110 section
// 7.6.1), or are made anew by Go or by Caddy's reverse proxy.
var unfitHeaders = []string{
	"Accept", "Cache-Control", "Connection", "Cookie", "Date", "Expect", "Forwarded", "From", "Host", "Keep-Alive", "Link",
	"Max-Forwards", "Origin", "Pragma", "Prefer", "Priority", "Proxy-Authorization", "Proxy-Connection", "Range", "Referer",
	"Te", "Trailer", "Transfer-Encoding", "Upgrade", "User-Agent", "Via", "Warning",
	"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Port", "X-Forwarded-Prefix", "X-Forwarded-Proto", "X-Forwarded-Server",
	"X-Real-Ip", "X-Request-Id", "X-Requested-With", "X-Csrf-Token", "Traceparent", "Tracestate",
}

var unfitPrefixes = []string{"Accept-", "Access-Control-", "Content-", "Http2-", "If-", "Sec-"}

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
