package credential_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"

	"github.com/authz-bridge/authz-bridge/snapshot/credential"
)

// What the documentation of Apache gives for myPassword.
const (
	apacheBcrypt = "$2y$05$c4WoMPo3SXsafkva.HHa6uXQZWr7oboPiC2bT/r7q1BB8I2s0BRqC"
	apacheApr1   = "$apr1$r31.....$HqJZimcKQFAMYayBlzkrA/"
	apacheSHA    = "{SHA}VBPuJHI7uixaa6LQGWx4s+5GKNE="
)

const basicAuth = "kubernetes.io/basic-auth"

var shopSecret = credential.Owner{App: "shop", Namespace: "shop", Name: "users", UID: "1", Version: "1"}

func bcryptOf(t testing.TB, password string) string {
	t.Helper()
	made, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	require.NoError(t, err)
	return string(made)
}

func readPasswords(t testing.TB, s data, spec credential.Spec) (*credential.Passwords, credential.Warnings) {
	t.Helper()
	p, warnings, err := credential.ReadPasswords(s, spec)
	require.NoError(t, err)
	return p, warnings
}

// users reads the lines of an htpasswd file.
func users(t testing.TB, lines ...string) *credential.Passwords {
	t.Helper()
	p, _ := readPasswords(t, data{"auth": strings.Join(lines, "\n")}, credential.Spec{})
	return p
}

// whose answers in a word.
func whose(p *credential.Passwords, h *credential.Hasher, user, password string) string {
	client, result := p.Check(h, shopSecret, user, password, nil)
	switch {
	case result == credential.Valid:
		return client
	case client != "":
		return "a client that is not valid"
	case result == credential.Overloaded:
		return "overloaded"
	case result == credential.Unknown:
		return "unknown"
	default:
		return "another result"
	}
}

func TestEveryFormatOfPasswordsIsReadAsItIsMeant(t *testing.T) {
	file := "alice:" + apacheBcrypt
	pair := data{"username": "alice", "password": "myPassword"}
	htpasswd, plain := credential.Htpasswd, credential.UsernamePassword
	for name, c := range map[string]struct {
		secret data
		spec   credential.Spec
	}{
		"ingress-nginx and Contour":              {data{"auth": file}, credential.Spec{}},
		"Envoy Gateway":                          {data{".htpasswd": file}, credential.Spec{}},
		"NGINX":                                  {data{"htpasswd": file}, credential.Spec{}},
		"Traefik":                                {data{"users": file}, credential.Spec{}},
		"beside other things":                    {data{"auth": file, "tls.crt": "x", "username": "y"}, credential.Spec{}},
		"another name":                           {data{"x": file, "auth": "y"}, credential.Spec{DataKey: "x"}},
		"another name of a typed Secret":         {data{"x": file}.ofType("kubernetes.io/tls"), credential.Spec{DataKey: "x"}},
		"explicit file":                          {data{"auth": file, "username": "x", "password": "y"}, credential.Spec{Format: htpasswd}},
		"explicit file of a name":                {data{"password": file}, credential.Spec{Format: htpasswd, DataKey: "password"}},
		"a pair":                                 {pair, credential.Spec{Format: credential.Auto}},
		"a pair by its type":                     {pair.ofType(basicAuth), credential.Spec{}},
		"a pair of type Opaque":                  {pair.ofType("Opaque"), credential.Spec{}},
		"explicit pair":                          {data{"username": "alice", "password": "myPassword", "auth": "x"}, credential.Spec{Format: plain}},
		"explicit pair, whatever the named key":  {pair, credential.Spec{Format: plain, DataKey: "token"}},
		"a pair with newlines at the end":        {data{"username": "alice\n", "password": "myPassword\r\n"}, credential.Spec{}},
		"a file with the line ends of Windows":   {data{"auth": "\ufeff# users\r\n\r\n" + file + "\r\n"}, credential.Spec{}},
		"a file with what comes after the hash":  {data{"auth": file + ":Alice Doe"}, credential.Spec{}},
		"a file with one good line of two":       {data{"auth": "bob:plain\n" + file}, credential.Spec{}},
		"a file with white space around a line":  {data{"auth": "  " + file + "  \n"}, credential.Spec{}},
		"a file with comments and empty lines":   {data{"auth": "#bob:" + apacheSHA + "\n \n" + file}, credential.Spec{}},
		"a hash of apr1":                         {data{"auth": "alice:" + apacheApr1}, credential.Spec{}},
		"a hash of SHA":                          {data{"auth": "alice:" + apacheSHA}, credential.Spec{}},
		"a hash of bcrypt as OpenBSD marks it":   {data{"auth": "alice:" + strings.Replace(apacheBcrypt, "2y", "2b", 1)}, credential.Spec{}},
		"a hash of bcrypt as it was marked once": {data{"auth": "alice:" + strings.Replace(apacheBcrypt, "2y", "2a", 1)}, credential.Spec{}},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := readPasswords(t, c.secret, c.spec)
			h := credential.NewHasher(1)
			assert.Equal(t, "alice", whose(p, h, "alice", "myPassword"))
			assert.Equal(t, "alice", whose(p, h, "alice", "myPassword"), "once more")
			for _, wrong := range []struct{ user, password string }{
				{"alice", "mypassword"},
				{"alice", "myPassword\n"},
				{"alice", "myPassword "},
				{"alice", "myPassword\x00"},
				{"alice", "myPassword\x00myPassword"},
				{"alice", ""},
				{"alice", apacheBcrypt},
				{"alice", strings.Repeat("myPassword", 1000)},
				{"Alice", "myPassword"},
				{"alice ", "myPassword"},
				{"alice\n", "myPassword"},
				{"bob", "myPassword"},
				{"#bob", "myPassword"},
				{"", "myPassword"},
				{"", ""},
				{strings.Repeat("a", 1<<20), "myPassword"},
			} {
				assert.Equal(t, "unknown", whose(p, h, wrong.user, wrong.password), "%.20q %.20q", wrong.user, wrong.password)
			}
		})
	}
}

func TestPasswordsThatCouldBeReadInTwoWaysAreRefusedWithTheFix(t *testing.T) {
	for name, c := range map[string]struct {
		secret data
		spec   credential.Spec
		want   string
	}{
		"a pair and a file":       {data{"username": "a", "password": "b", "users": "c"}, credential.Spec{}, `key "users" is there beside username and password; name it in key, or write format: basic`},
		"a file in a typed pair":  {data{"auth": "a"}.ofType(basicAuth), credential.Spec{}, `key "auth" is there beside`},
		"two files":               {data{"auth": "a", "htpasswd": "b"}, credential.Spec{}, `keys "auth" and "htpasswd" may both hold users; name one in key`},
		"two files, explicit":     {data{"auth": "a", "users": "b"}, credential.Spec{Format: credential.Htpasswd}, `keys "auth" and "users" may both`},
		"half of a pair named":    {data{"username": "a", "password": "b"}, credential.Spec{DataKey: "password"}, `key "password": is half of a pair; leave key out, or write format: basic`},
		"the other half named":    {data{"username": "a", "password": "b"}, credential.Spec{DataKey: "username"}, `key "username": is half of a pair`},
		"half of a pair":          {data{"password": "b"}, credential.Spec{}, "has none of the keys auth, .htpasswd, htpasswd, users, nor username with password"},
		"a typed half":            {data{"password": "b"}.ofType(basicAuth), credential.Spec{}, `key "username": does not exist; add it`},
		"the other typed half":    {data{"username": "b"}.ofType(basicAuth), credential.Spec{}, `key "password": does not exist; add it`},
		"TLS":                     {data{"tls.crt": "a", "tls.key": "b"}, credential.Spec{}, "has none of the keys auth"},
		"a pull secret":           {data{".dockerconfigjson": "{}"}.ofType("kubernetes.io/dockerconfigjson"), credential.Spec{}, "type kubernetes.io/dockerconfigjson holds no users; name a key"},
		"nothing":                 {data{}, credential.Spec{}, "has none of the keys auth"},
		"no file to name":         {data{"x": "a"}, credential.Spec{Format: credential.Htpasswd}, "name the key that has htpasswd lines in key"},
		"no such key":             {data{"x": "a"}, credential.Spec{DataKey: "y"}, `key "y": does not exist; add it`},
		"no such key, explicit":   {data{"x": "a"}, credential.Spec{DataKey: "y", Format: credential.Htpasswd}, `key "y": does not exist; add it`},
		"a format of API keys":    {data{"x": "a"}, credential.Spec{DataKey: "x", Format: credential.Token}, `"token" is no format of basic; write one of auto htpasswd basic`},
		"no line that is right":   {data{"x": "a token"}, credential.Spec{DataKey: "x"}, `key "x": holds no user that can be used; add one with htpasswd`},
		"an empty file":           {data{"auth": "\n# nobody\n"}, credential.Spec{}, `key "auth": holds no user that can be used`},
		"too many":                {data{"auth": strings.Repeat("a:"+apacheSHA+"\n", 10_001)}, credential.Spec{}, `key "auth": holds more than 10000 lines; use several Secrets`},
		"too many that are wrong": {data{"auth": strings.Repeat("a\n", 500_000)}, credential.Spec{}, "holds more than 10000 lines"},
		"an empty password":       {data{"username": "a", "password": "\n"}, credential.Spec{}, `key "password": is empty`},
		"an empty user":           {data{"username": "", "password": "b"}, credential.Spec{}, `key "username": is empty`},
		"a password of two lines": {data{"username": "a", "password": "b\nc"}, credential.Spec{}, `key "password": is empty, or has control characters`},
		"a password with a NUL":   {data{"username": "a", "password": "b\x00"}, credential.Spec{}, `key "password": is empty, or has control characters`},
		"a very long password":    {data{"username": "a", "password": strings.Repeat("b", 1025)}, credential.Spec{}, `key "password": is longer than 1024 bytes`},
		"a user with a colon":     {data{"username": "a:b", "password": "c"}, credential.Spec{}, `key "username": has more than letters, digits and -_.@+; choose another name`},
		"a user with a blank":     {data{"username": "a b", "password": "c"}, credential.Spec{}, `key "username": has more than`},
	} {
		t.Run(name, func(t *testing.T) {
			p, _, err := credential.ReadPasswords(c.secret, c.spec)
			require.ErrorContains(t, err, c.want)
			assert.Nil(t, p)
		})
	}
}

func TestAPairNeedsNoHasher(t *testing.T) {
	long := strings.Repeat("p", 1024)
	p, warnings := readPasswords(t, data{"username": "alice", "password": long}, credential.Spec{})
	assert.Empty(t, warnings)
	assert.Equal(t, "alice", whose(p, nil, "alice", long))
	assert.Equal(t, "unknown", whose(p, nil, "alice", long[1:]))
	assert.Equal(t, "unknown", whose(p, nil, long, "alice"))

	p, warnings = readPasswords(t, data{"username": "alice\n", "password": " a: b \n"}, credential.Spec{})
	assert.Equal(t, credential.Warnings{`key "username": the newline at the end is trimmed`, `key "password": the newline at the end is trimmed`}, warnings)
	assert.Equal(t, "alice", whose(p, nil, "alice", " a: b "))
	assert.Equal(t, "unknown", whose(p, nil, "alice", "a: b"))
}

func TestPasswordsAreEqualIfUsersHashesAndOrderAre(t *testing.T) {
	alice, bob := "alice:"+apacheBcrypt, "bob:"+apacheApr1
	first := users(t, alice, bob)
	pair := func(user, password string) *credential.Passwords {
		p, _ := readPasswords(t, data{"username": user, "password": password}, credential.Spec{})
		return p
	}
	assert.True(t, first.Equal(users(t, "# the same", alice, "", bob+":Bob")))
	assert.True(t, pair("a", "b").Equal(pair("a", "b\n")))
	for name, other := range map[string]*credential.Passwords{
		"another order":    users(t, bob, alice),
		"a user less":      users(t, alice),
		"another hash":     users(t, alice, "bob:"+apacheSHA),
		"another password": users(t, alice, bob, "bob:"+apacheSHA),
		"another name":     users(t, alice, "Bob:"+apacheApr1),
		"a pair":           pair("alice", "myPassword"),
	} {
		assert.False(t, first.Equal(other), name)
		assert.False(t, other.Equal(first), name)
	}
	assert.False(t, pair("a", "b").Equal(pair("a", "c")))
	assert.False(t, pair("a", "b").Equal(pair("c", "b")))
}
