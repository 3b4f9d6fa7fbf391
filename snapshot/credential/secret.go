package credential

import (
	"fmt"
	"strings"
)

// Secret is what the formats read.
type Secret interface {
	// Type returns the Secret's type, such as "Opaque".
	Type() string
	// Keys returns the names of the data keys in order.
	Keys() []string
	// Value returns the bytes under a data key.
	Value(dataKey string) (string, bool)
}

// Warnings say what is odd about a Secret, or which line of it is of no use. They
// name the data key and the line, never hold a byte of a value, and are bounded.
type Warnings []string

// mostWarnings bounds what is said about one Secret.
const mostWarnings = 20

// place is where in a Secret a value is.
type place struct {
	dataKey string
	unit    string // what number counts; empty for the whole value
	number  int
}

// String is made only for a warning: a Secret may have half a million lines.
func (p place) String() string {
	if p.unit == "" {
		return fmt.Sprintf("key %q", p.dataKey)
	}
	return fmt.Sprintf("key %q: %s %d", p.dataKey, p.unit, p.number)
}

// notes are the Warnings about one Secret while it is read.
type notes struct {
	warnings Warnings
	unsaid   int // warnings beyond the bound
}

// warn counts what is not said any more.
func (n *notes) warn(at place, format string, args ...any) {
	if len(n.warnings) < mostWarnings {
		n.warnings = append(n.warnings, at.String()+": "+fmt.Sprintf(format, args...))
		return
	}
	n.unsaid++
}

// said returns the warnings, and how many there are beyond.
func (n *notes) said() Warnings {
	if n.unsaid == 0 {
		return n.warnings
	}
	return append(n.warnings, fmt.Sprintf("and %d more", n.unsaid))
}

// clean trims what editors and copied headers add to a value. The empty string is
// of no use.
func (r *reader) clean(at place, value string) string {
	cleaned := strings.TrimSpace(value)
	if cleaned != value {
		r.warn(at, "white space around the value is trimmed")
	}
	if rest, ok := cutBearer(cleaned); ok {
		r.warn(at, "the prefix Bearer is trimmed")
		return rest
	}
	return cleaned
}

// cutBearer finds the prefix alone as well: a template that has lost its value.
func cutBearer(value string) (string, bool) {
	const bearer = "Bearer "
	if strings.EqualFold(value, strings.TrimSpace(bearer)) {
		return "", true
	}
	if len(value) < len(bearer) || !strings.EqualFold(value[:len(bearer)], bearer) {
		return value, false
	}
	return strings.TrimSpace(value[len(bearer):]), true
}

// Clean returns a value without the white space that editors add, or false if no
// header could carry it.
func Clean(value string) (string, bool) {
	value = strings.TrimSpace(value)
	return value, presentable(value)
}

// presentable reports whether a value can be sent in a header (RFC 9110 section
// 5.5).
func presentable(value string) bool {
	for i := range len(value) {
		if c := value[i]; c < ' ' || c == 0x7f {
			return false
		}
	}
	return value != ""
}

// validClient reports whether a name can be an identity, as it goes into headers and
// logs: letters, digits and what is usual in the names of users and services.
func validClient(name string) bool {
	const most = 253
	for i := range len(name) {
		c := name[i]
		alnum := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !alnum && strings.IndexByte("-_.@:+", c) < 0 {
			return false
		}
	}
	return name != "" && len(name) <= most
}
