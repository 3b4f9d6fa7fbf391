package snapshot

import (
	"errors"
	"net/netip"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// maxRawHost bounds what is looked at before IDNA has made it ASCII. No name of
// 253 ASCII bytes needs more in UTF-8 (at most 4 bytes a character).
const maxRawHost = 4 * maxDomain

var errHostname = errors.New("not a hostname")

// NormalizeHostname returns the one form in which hostnames are compared: lower
// case, IDNA to ASCII, without port and trailing dot; IP literals in their
// canonical form without brackets (RFC 5952). It is used for the Registry, the
// request and everything else alike, and normalizing twice changes nothing. A
// name that is empty, too long or malformed is an error.
func NormalizeHostname(host string) (string, error) {
	var buf [maxDomain]byte
	name, ok := appendHostname(buf[:0], host)
	if !ok {
		return "", errHostname
	}
	return string(name), nil
}

// normalizePattern is NormalizeHostname for a hostname of the Registry, whose
// leftmost label may be "*".
func normalizePattern(pattern string) (string, error) {
	parent, wild := strings.CutPrefix(pattern, "*.")
	name, err := NormalizeHostname(parent)
	if err != nil || !wild {
		return name, err
	}
	if len(name)+2 > maxDomain || partOfAddress(name) {
		return "", errHostname
	}
	return "*." + name, nil
}

// partOfAddress reports whether "*." before a name would stand for a part of an
// IP address. A name whose last label is a number is an IPv4 address or the end
// of one (WHATWG URL, "ends in a number").
func partOfAddress(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	return strings.Trim(last, "0123456789") == "" || strings.IndexByte(name, ':') >= 0
}

// appendHostname appends the normal form of host to dst. It allocates only for
// names that are not ASCII.
func appendHostname(dst []byte, host string) ([]byte, bool) {
	if host == "" || len(host) > maxRawHost {
		return dst, false
	}
	if host[0] == '[' {
		return appendBracketed(dst, host)
	}
	name, port, found := strings.Cut(host, ":")
	if found && strings.IndexByte(port, ':') >= 0 {
		return appendIPv6(dst, host)
	}
	if !validPort(port) {
		return dst, false
	}
	return appendDomain(dst, name)
}

// appendBracketed takes "[literal]" and "[literal]:port" (RFC 3986 3.2.2).
func appendBracketed(dst []byte, host string) ([]byte, bool) {
	literal, rest, found := strings.Cut(host[1:], "]")
	if !found {
		return dst, false
	}
	port, hasPort := strings.CutPrefix(rest, ":")
	if !hasPort && rest != "" || !validPort(port) {
		return dst, false
	}
	return appendIPv6(dst, literal)
}

func appendIPv6(dst []byte, literal string) ([]byte, bool) {
	addr, err := netip.ParseAddr(literal)
	if err != nil || !addr.Is6() || addr.Zone() != "" {
		return dst, false
	}
	return addr.AppendTo(dst), true
}

// validPort takes the empty port as well, which RFC 3986 3.2.3 allows.
func validPort(port string) bool {
	if len(port) > 5 {
		return false
	}
	for i := range len(port) {
		if port[i] < '0' || port[i] > '9' {
			return false
		}
	}
	return true
}

func appendDomain(dst []byte, name string) ([]byte, bool) {
	for i := range len(name) {
		if name[i] >= 0x80 {
			return appendIDNA(dst, name)
		}
	}
	return appendASCII(dst, strings.TrimSuffix(name, "."))
}

// appendIDNA maps and converts as browsers do (UTS 46, non-transitional). The
// idna package would encode broken UTF-8 as if it were characters.
func appendIDNA(dst []byte, name string) ([]byte, bool) {
	if !utf8.ValidString(name) {
		return dst, false
	}
	ascii, err := idna.Lookup.ToASCII(name)
	if err != nil {
		return dst, false
	}
	// The mapping turns ideographic full stops into dots, a trailing one too.
	return appendASCII(dst, strings.TrimSuffix(ascii, "."))
}

// appendASCII lowers and checks letters, digits, hyphens and underscores in
// labels of 1 to 63 bytes. The underscore is no host name by RFC 952, but it is
// in use, and refusing it would protect nobody.
func appendASCII(dst []byte, name string) ([]byte, bool) {
	if name == "" || len(name) > maxDomain {
		return dst, false
	}
	label := 0
	for i := range len(name) {
		c := name[i]
		switch {
		case lowerAlnum(c), c == '_':
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		case c == '-' && label > 0:
		case c == '.' && label > 0 && name[i-1] != '-':
			dst, label = append(dst, c), 0
			continue
		default:
			return dst, false
		}
		dst = append(dst, c)
		if label++; label > maxLabel {
			return dst, false
		}
	}
	return dst, label > 0 && name[len(name)-1] != '-'
}
