package authzbridge_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// canaries are secrets, by what each is for. None may be found where nobody should
// look for it, in whatever form.
type canaries map[string]string

// plant returns a secret of its own.
func (c canaries) plant(purpose string) string {
	return c.keep(purpose, "c4n4ry-"+strings.ReplaceAll(purpose, " ", "-"))
}

// keep takes a text that is secret, and returns it.
func (c canaries) keep(purpose, text string) string {
	c[purpose] = text
	return text
}

// keepParts takes a text whose parts are secret, but for what is short.
func (c canaries) keepParts(purpose, text, separators string) string {
	const short = 20
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(separators, r) }) {
		if len(part) > short {
			c[purpose+": "+part] = part
		}
	}
	return text
}

// forms are a secret and what it can be found from, or by.
func forms(secret string) []string {
	digest := sha256.Sum256([]byte(secret))
	all := []string{
		secret,
		hex.EncodeToString([]byte(secret)),
		hex.EncodeToString(digest[:]),
		base64.RawStdEncoding.EncodeToString(digest[:]),
		base64.RawURLEncoding.EncodeToString(digest[:]),
	}
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			all = append(all, withinBase64(encoding, secret, before))
		}
	}
	return all
}

// withinBase64 is what a secret always becomes within a longer text, so many bytes
// (modulo three) after its begin: all but the digits that have bits of others.
func withinBase64(encoding *base64.Encoding, secret string, before int) string {
	encoded := encoding.EncodeToString([]byte(strings.Repeat(" ", before) + secret))
	return encoded[(8*before+5)/6 : (8*(before+len(secret)))/6]
}

func (c canaries) assertNowhere(t *testing.T, texts map[string]string) {
	t.Helper()
	for purpose, secret := range c {
		for _, form := range forms(secret) {
			for where, text := range texts {
				if strings.Contains(text, form) { // assert.NotContains would print the text
					t.Errorf("%s: is in %s as %q", purpose, where, form)
				}
			}
		}
	}
}

func TestCanariesAreFoundInEveryForm(t *testing.T) {
	const secret = "c4n4ry"
	for before := range 3 {
		for after := range 3 {
			text := strings.Repeat("x", before) + secret + strings.Repeat("y", after)
			found := 0
			for _, form := range forms(secret) {
				if strings.Contains(base64.StdEncoding.EncodeToString([]byte(text)), form) {
					found++
				}
			}
			assert.Positive(t, found, text)
		}
	}
	assert.Contains(t, forms("a"), "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb")
}
