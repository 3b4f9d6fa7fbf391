package credential_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/authz-bridge/authz-bridge/snapshot/credential"
)

func TestCredentialsAreSplitAtTheFirstColon(t *testing.T) {
	for name, c := range map[string]struct{ text, user, password string }{
		"as in the RFC":           {"Aladdin:open sesame", "Aladdin", "open sesame"},
		"colons in the password":  {"a:b:c:", "a", "b:c:"},
		"an empty password":       {"a:", "a", ""},
		"no UTF-8":                {"a:\xff\xfe", "a", "\xff\xfe"},
		"letters beyond ASCII":    {"j\u00f6rg:\u00a3", "j\u00f6rg", "\u00a3"},
		"a very long password":    {"a:" + strings.Repeat("b", 10_000), "a", strings.Repeat("b", 10_000)},
		"characters of + and /":   {"a:\xfb\xff\xbf?>", "a", "\xfb\xff\xbf?>"},
		"white space at the ends": {" a: b ", " a", " b "},
	} {
		t.Run(name, func(t *testing.T) {
			user, password, ok := credential.ParseBasic(base64.StdEncoding.EncodeToString([]byte(c.text)))
			assert.True(t, ok)
			assert.Equal(t, c.user, user)
			assert.Equal(t, c.password, password)
		})
	}
}

func TestCredentialsThatAreNotAsTheyMustBeAreRefused(t *testing.T) {
	encode := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	for name, credentials := range map[string]string{
		"nothing":                     "",
		"padding alone":               "==",
		"no colon":                    encode("alice"),
		"an empty user":               encode(":b"),
		"a NUL in the password":       encode("a:pw\x00pw"),
		"a NUL in the user":           encode("a\x00:b"),
		"a newline in the password":   encode("a:b\n"),
		"a tab in the user":           encode("\ta:b"),
		"DEL":                         encode("a:\x7f"),
		"no Base64":                   "a:b",
		"Base64 for URLs":             base64.URLEncoding.EncodeToString([]byte("a:\xfb\xff\xbf?>")),
		"half of the padding":         strings.TrimSuffix(encode("a:bc"), "="),
		"no padding":                  strings.TrimRight(encode("a:bc"), "="),
		"too much padding":            encode("a:bc") + "=",
		"something after the padding": encode("a:bc") + encode("a:bc"),
		"a blank before":              " " + encode("a:b"),
		"a blank after":               encode("a:b") + " ",
		"a newline within":            "YTpi\nYw==",
		"a newline after":             encode("a:b") + "\r\n",
		"another text for one value":  "YTpiYx==",
		"the same without padding":    "YTpiYx",
	} {
		t.Run(name, func(t *testing.T) {
			user, password, ok := credential.ParseBasic(credentials)
			assert.False(t, ok)
			assert.Empty(t, user)
			assert.Empty(t, password)
		})
	}
}
