package credential_test

import (
	"encoding/base64"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/authz-bridge/authz-bridge/snapshot/credential"
)

// costly are hashes that take longer than a fuzzer should.
var costly = regexp.MustCompile(`\$2.\$(0[6-9]|1)`)

// Whatever lines are read, nothing panics, nobody is let in, and what is said holds no
// byte of a secret, of which % is a copy.
func FuzzReadPasswords(f *testing.F) {
	const canary = "c4n4ry0123456789"
	for _, seed := range []string{
		"alice:" + apacheBcrypt + "\nbob:" + apacheApr1 + "\r\ncarol:" + apacheSHA,
		"\ufeff# %\n\nalice:%", "alice:%:%", "%", ":%", "alice:$2y$05$%", "alice:$apr1$%$%", "alice:{SHA}%", "alice:$6$%", "% %:%",
		"alice:$2y$15$" + apacheBcrypt[7:], "alice:" + apacheBcrypt + "\nalice:" + apacheSHA + "\nalice:" + apacheApr1, "a:\x00\na\x00:" + apacheSHA,
	} {
		f.Add(seed, "wrong")
	}
	f.Fuzz(func(t *testing.T, text, password string) {
		text = strings.ReplaceAll(text, "%", canary)
		for _, s := range []data{{"auth": text}, {"username": text, "password": text}, {"username": "a", "password": text}} {
			p, warnings, err := credential.ReadPasswords(s, credential.Spec{})
			assert.NotContains(t, strings.Join(warnings, "\n"), canary)
			if err != nil {
				assert.NotContains(t, err.Error(), canary)
				assert.Nil(t, p)
				continue
			}
			if costly.MatchString(text) || password == "myPassword" || strings.Contains(text, password) {
				continue
			}
			for _, user := range []string{"alice", "bob", "a", ""} {
				assert.Equal(t, "unknown", whose(p, credential.NewHasher(1), user, password))
			}
		}
	})
}

// What is taken is what net/http takes, and has no character that could end a text.
func FuzzParseBasic(f *testing.F) {
	for _, seed := range []string{"YTpi", "YTpiYw==", "YTpiYw", "OmI=", "YQ==", "YTpiAA==", "YTpi\nYw==", "", "=", "YTpiYx=="} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, credentials string) {
		user, password, ok := credential.ParseBasic(credentials)
		r := &http.Request{Header: http.Header{"Authorization": {"Basic " + credentials}}}
		theirUser, theirPassword, theirs := r.BasicAuth()
		if !ok {
			assert.Empty(t, user+password)
			if theirs && theirUser != "" && !strings.ContainsFunc(theirUser+theirPassword, isControl) {
				again := base64.StdEncoding.EncodeToString([]byte(theirUser + ":" + theirPassword))
				assert.NotEqual(t, again, credentials, "it is refused though it is as it must be")
			}
			return
		}
		assert.NotEmpty(t, user)
		assert.NotContains(t, user, ":")
		assert.False(t, strings.ContainsFunc(user+password, isControl))
		encoded := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
		assert.Equal(t, encoded, credentials, "one text for one value")
		assert.True(t, theirs)
		assert.Equal(t, theirUser, user)
		assert.Equal(t, theirPassword, password)
	})
}

func isControl(c rune) bool { return c < ' ' || c == 0x7f }
