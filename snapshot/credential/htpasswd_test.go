package credential_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/snapshot/credential"
)

func TestALineThatIsWrongSpoilsItselfAlone(t *testing.T) {
	const remake = "make it anew with htpasswd -B -C 10; it is left out"
	damaged := "the hash is cut short or damaged; " + remake
	for name, c := range map[string]struct{ line, want string }{
		"no colon":                {"bob", "is not user:hash; it is left out"},
		"no user":                 {":" + apacheSHA, "the user has no name of letters, digits and -_.@+; it is left out"},
		"a user of two words":     {"b ob:" + apacheSHA, "the user has no name"},
		"a user with a NUL":       {"b\x00ob:" + apacheSHA, "the user has no name"},
		"a user of 254 bytes":     {strings.Repeat("b", 254) + ":" + apacheSHA, "the user has no name"},
		"no hash":                 {"bob:", "plain text and DES crypt are not accepted; " + remake},
		"plain text":              {"bob:s3cret", "plain text and DES crypt are not accepted; " + remake},
		"DES crypt":               {"bob:rqXexS6ZhobKA", "plain text and DES crypt are not accepted; " + remake},
		"SHA-256 crypt":           {"bob:$5$salt$Gcm6FsVtF/Qa77ZKD.iwsJlCVPY0XSMgLJL0Hnww/c1", "SHA-crypt ($5$, $6$) is not accepted; " + remake},
		"SHA-512 crypt":           {"bob:$6$salt$x", "SHA-crypt ($5$, $6$) is not accepted; " + remake},
		"MD5 crypt":               {"bob:$1$abc$BXBqpb9BZcZhXLgbee.0s/", "the hash is none of bcrypt, $apr1$ and {SHA}; " + remake},
		"bcrypt with its bug":     {"bob:" + strings.Replace(apacheBcrypt, "2y", "2x", 1), "the hash is none of bcrypt"},
		"argon2":                  {"bob:$argon2id$v=19$m=65536,t=3,p=4$c2FsdA$x", "the hash is none of bcrypt"},
		"salted SHA":              {"bob:{SSHA}x", "the hash is none of bcrypt"},
		"bcrypt, too costly":      {"bob:" + strings.Replace(apacheBcrypt, "$05$", "$15$", 1), "bcrypt of cost 15 takes too long, the most is 14; " + remake},
		"bcrypt, the most costly": {"bob:" + strings.Replace(apacheBcrypt, "$05$", "$31$", 1), "bcrypt of cost 31 takes too long"},
		"bcrypt, of no cost":      {"bob:" + strings.Replace(apacheBcrypt, "$05$", "$03$", 1), damaged},
		"bcrypt, past all cost":   {"bob:" + strings.Replace(apacheBcrypt, "$05$", "$32$", 1), damaged},
		"bcrypt, a signed cost":   {"bob:" + strings.Replace(apacheBcrypt, "$05$", "$+5$", 1), damaged},
		"bcrypt, cut short":       {"bob:" + apacheBcrypt[:59], damaged},
		"bcrypt, too long":        {"bob:" + apacheBcrypt + "x", damaged},
		"bcrypt, another letter":  {"bob:" + strings.Replace(apacheBcrypt, "WoMPo", "Wo_Po", 1), damaged},
		"bcrypt, last letter":     {"bob:" + apacheBcrypt[:59] + "D", damaged},
		"bcrypt, a blank before":  {"bob: " + apacheBcrypt, "plain text and DES crypt are not accepted"},
		"bcrypt, a comment after": {"bob:" + apacheBcrypt + " # Bob", damaged},
		"apr1, cut short":         {"bob:" + apacheApr1[:36], damaged},
		"apr1, a long salt":       {"bob:$apr1$123456789$HqJZimcKQFAMYayBlzkrA/", damaged},
		"apr1, no salt":           {"bob:$apr1$$HqJZimcKQFAMYayBlzkrA/", damaged},
		"apr1, last letter":       {"bob:$apr1$r31.....$HqJZimcKQFAMYayBlzkrA2", damaged},
		"SHA, cut short":          {"bob:{SHA}VBPuJHI7uixaa6LQGWx4s+5GKN", damaged},
		"SHA, last letter":        {"bob:{SHA}VBPuJHI7uixaa6LQGWx4s+5GKNF=", damaged},
		"SHA in small letters":    {"bob:{sha}VBPuJHI7uixaa6LQGWx4s+5GKNE=", "the hash is none of bcrypt"},
	} {
		t.Run(name, func(t *testing.T) {
			p, warnings := readPasswords(t, data{"auth": "# users\nalice:" + apacheBcrypt + "\n" + c.line + "\n"}, credential.Spec{})
			require.Len(t, warnings, 1)
			assert.True(t, strings.HasPrefix(warnings[0], `key "auth": line 3: `+c.want), warnings[0])
			h := credential.NewHasher(1)
			assert.Equal(t, "alice", whose(p, h, "alice", "myPassword"))
			assert.Equal(t, "unknown", whose(p, h, "bob", "myPassword"))
		})
	}
}

func TestTheHighestCostIsAccepted(t *testing.T) {
	_, warnings := readPasswords(t, data{"auth": "bob:" + strings.Replace(apacheBcrypt, "$05$", "$14$", 1)}, credential.Spec{})
	assert.Empty(t, warnings)
}

// The hashes are those of openssl passwd -apr1.
func TestApr1IsAsOpenSSLMakesIt(t *testing.T) {
	for password, made := range map[string]string{
		"a":                             "$apr1$x$16j9.5e7KiXmuYFAYpPJM/",
		"a:b":                           "$apr1$saltsalt$CPQFKdB6gSGh5dFaE4PEp/",
		"p\xc3\xa4ssw\xc3\xb6rt":        "$apr1$./Az$5oehcCjz24loVApm4vs9n.",
		strings.Repeat("0123456789", 9): "$apr1$12345678$.FbbgAdWJ9q7a9IN325pW0",
	} {
		p, h := users(t, "bob:"+made), credential.NewHasher(1)
		assert.Equal(t, "bob", whose(p, h, "bob", password), "%.20q", password)
		assert.Equal(t, "unknown", whose(p, h, "bob", password+"x"), "%.20q", password)
	}
}

func TestWeakHashesWork(t *testing.T) {
	p, warnings := readPasswords(t, data{"auth": "bob:" + apacheSHA}, credential.Spec{})
	assert.Equal(t, credential.Warnings{`key "auth": line 1: {SHA} is weak: who reads the hash finds the password; make it anew with htpasswd -B -C 10`}, warnings)
	assert.Equal(t, "bob", whose(p, credential.NewHasher(1), "bob", "myPassword"))
}

func TestAUserMayHaveTheOldAndTheNewPassword(t *testing.T) {
	was, is, third := bcryptOf(t, "old"), bcryptOf(t, "new"), bcryptOf(t, "third")
	p, warnings := readPasswords(t, data{"auth": strings.Join([]string{"bob:" + was, "bob:" + was, "alice:" + is, "bob:" + is, "bob:" + third, "bob:" + is}, "\n")}, credential.Spec{})
	assert.Equal(t, credential.Warnings{
		`key "auth": line 2: is there before; it is left out`,
		`key "auth": line 4: the user has another password before; both are valid`,
		`key "auth": line 5: the user has two passwords before; it is left out`,
		`key "auth": line 6: is there before; it is left out`,
	}, warnings)
	h := credential.NewHasher(1)
	assert.Equal(t, "bob", whose(p, h, "bob", "old"))
	assert.Equal(t, "bob", whose(p, h, "bob", "new"))
	assert.Equal(t, "unknown", whose(p, h, "bob", "third"))
	assert.Equal(t, "unknown", whose(p, h, "alice", "old"))
	assert.Equal(t, "alice", whose(p, h, "alice", "new"))
}

func TestManyUsersAreFound(t *testing.T) {
	var lines []string
	for i := range 10_000 {
		lines = append(lines, fmt.Sprintf("user%d:%s", i, apacheSHA))
	}
	p, h := users(t, lines...), credential.NewHasher(1)
	assert.Equal(t, "user0", whose(p, h, "user0", "myPassword"))
	assert.Equal(t, "user9999", whose(p, h, "user9999", "myPassword"))
	assert.Equal(t, "unknown", whose(p, h, "user10000", "myPassword"))
}

func TestWarningsOfPasswordsAreBoundedAndHoldNoSecret(t *testing.T) {
	const canary = "c4n4ry"
	_, warnings := readPasswords(t, data{"auth": "alice:" + apacheBcrypt + "\n" + canary + "\n" + strings.Repeat("bob:$2y$"+canary+"\n", 999)}, credential.Spec{})
	require.Len(t, warnings, 21)
	assert.Equal(t, `key "auth": line 2: is not user:hash; it is left out`, warnings[0])
	assert.Equal(t, "and 980 more", warnings[20])
	assert.NotContains(t, strings.Join(warnings, "\n"), canary)
}
