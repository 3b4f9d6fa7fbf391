package credential

import (
	"encoding/base64"
	"strings"
)

// padded is the strict encoding of RFC 4648: one text for one value.
var padded = base64.StdEncoding.Strict()

// ParseBasic reads what comes after "Basic " in a header (RFC 7617): a user and a
// password, which may have colons, in Base64. A user that is empty, and control
// characters in either, are not ok: bcrypt repeats its key after a NUL, so that
// "pw\x00pw" would do for "pw".
func ParseBasic(credentials string) (user, password string, ok bool) {
	if strings.ContainsAny(credentials, "\r\n") { // the decoder skips them
		return "", "", false
	}
	decoded, err := padded.DecodeString(credentials)
	if err != nil {
		return "", "", false
	}
	text := string(decoded)
	user, password, ok = strings.Cut(text, ":")
	if !ok || user == "" || !presentable(text) {
		return "", "", false
	}
	return user, password, true
}
