package authzbridge_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"
)

func TestWhatIsPresentedTwiceProvesNothing(t *testing.T) {
	w := newTown(t)
	w.secret("shop", clients("the-key"))
	w.secret("both", map[string]string{"token": "the-key", "auth": passwordLine(t, "alice", "pw")})
	w.registry(document(
		app("shop", "shop.example.com")+byKey,
		app("both", "both.example.com")+byKey+"\n- basic: {key: auth}",
	))
	d := keyed(t, w)
	d.becomes("both.example.com", http.StatusUnauthorized)
	basic := asBasic("alice:pw").Get("Authorization")
	for name, c := range map[string]struct {
		head []string
		want int
	}{
		"one key":                        {[]string{"X-API-Key: the-key"}, 200},
		"one key at two places":          {[]string{"X-API-Key: the-key", "Cookie: key=the-key"}, 200},
		"one password":                   {[]string{"Authorization: " + basic}, 200},
		"a repeated key":                 {[]string{"X-API-Key: the-key", "X-API-Key: the-key"}, 401},
		"a key repeated in another case": {[]string{"X-API-Key: the-key", "x-api-key: the-key"}, 401},
		"a repeated Authorization":       {[]string{"Authorization: Bearer the-key", "Authorization: Bearer the-key"}, 401},
		"the second one wrong":           {[]string{"Authorization: Bearer the-key", "authorization: Bearer wrong"}, 401},
		"two schemes":                    {[]string{"Authorization: Bearer the-key", "Authorization: " + basic}, 401},
		"two in one line":                {[]string{"Authorization: Bearer the-key, Bearer the-key"}, 401},
		"two schemes in one line":        {[]string{"Authorization: Bearer the-key, " + basic}, 401},
		"a repeated cookie":              {[]string{"Cookie: key=the-key; key=the-key"}, 401},
		"a cookie in two lines":          {[]string{"Cookie: key=the-key", "Cookie: key=wrong"}, 401},
		"a cookie and its alias":         {[]string{"Cookie: key=the-key; KEY=wrong"}, 401},
		"places that disagree":           {[]string{"X-API-Key: the-key", "Cookie: key=wrong"}, 401},
		"places that disagree on case":   {[]string{"X-API-Key: the-key", "Authorization: Bearer THE-KEY"}, 401},
		"right at the last place":        {[]string{"X-API-Key: wrong", "Authorization: Bearer wrong", "Cookie: key=the-key"}, 401},
		"a right password, keys that disagree": {
			[]string{"Authorization: " + basic, "X-API-Key: the-key", "Cookie: key=wrong"}, 401,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := d.overWire(append([]string{"GET / HTTP/1.1", "Host: both.example.com"}, c.head...)...)
			assert.Equal(t, c.want, got.status)
			if c.want == http.StatusUnauthorized {
				assert.Equal(t, "error [] [] [] []", got.body, "and an error route sees none of it")
			}
		})
	}
}

// passwordLine is a line of an htpasswd file.
func passwordLine(tb testing.TB, user, password string) string {
	tb.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	require.NoError(tb, err)
	return user + ":" + string(hash) + "\n"
}

func TestPasswordsOfOddBytes(t *testing.T) {
	long := strings.Repeat("p", 72)
	w := newTown(t)
	w.secret("shop", map[string]string{
		"token": passwordLine(t, "colon", "a:b:c") + passwordLine(t, "plain", "pw") + passwordLine(t, "long", long),
	})
	w.registry(document(app("shop", "shop.example.com") + "\nanyOf: [{basic: {}}]"))
	d := keyed(t, w)
	d.becomes("shop.example.com", http.StatusUnauthorized)
	for name, c := range map[string]struct {
		user, password string
		want           int
		hashes         int64
	}{
		"a colon":                         {"colon", "a:b:c", 200, 1},
		"what comes before the colon":     {"colon", "a", 401, 1},
		"72 bytes":                        {"long", long, 200, 1},
		"more than bcrypt reads":          {"long", long + "p", 401, 0},
		"10 kB":                           {"plain", strings.Repeat("p", 10_000), 401, 0},
		"10 kB of a user that is unknown": {"nobody", strings.Repeat("p", 10_000), 401, 0},
		"a user of 10 kB":                 {strings.Repeat("u", 10_000), "pw", 401, 0},
		"a NUL":                           {"plain", "pw\x00", 401, 0},
		"repeated after a NUL":            {"plain", "pw\x00pw", 401, 0},
		"a user with a NUL":               {"plain\x00", "pw", 401, 0},
		"a line break":                    {"plain", "pw\n", 401, 0},
		"nothing":                         {"plain", "", 401, 0},
		"no user":                         {"", "pw", 401, 0},
	} {
		t.Run(name, func(t *testing.T) {
			before := d.hashes()
			assert.Equal(t, c.want, d.send("shop.example.com", asBasic(c.user+":"+c.password)).status)
			assert.Equal(t, before+c.hashes, d.hashes())
		})
	}
}

func TestStoredKeysOfOddBytes(t *testing.T) {
	w := newTown(t)
	w.secret("newline", clients("the-key\r\n"))
	w.secret("bearer", clients("Bearer the-key"))
	w.secret("both", clients("bearer  the-key \n"))
	w.secret("case", map[string]string{"upper": "THE-KEY", "lower": "the-key"})
	w.secret("shared", map[string]string{"alice": "the-key", "bob": "the-key\n", "eve": "Bearer the-key", "dan": "another"})
	w.secret("alone", map[string]string{"alice": "the-key", "bob": "the-key"})
	w.secret("blank", clients(" \n"))
	w.secret("prefix", clients("Bearer \n"))
	var apps []string
	for _, name := range []string{"newline", "bearer", "both", "blank", "prefix"} {
		apps = append(apps, app(name, name+".example.com")+byKey)
	}
	for _, name := range []string{"case", "shared", "alone"} {
		apps = append(apps, "name: "+name+"\nhostnames: ["+name+".example.com]\nsecretRef: {name: "+name+"}"+byKey)
	}
	w.registry(document(apps...))
	d := keyed(t, w)
	d.becomes("shared.example.com", http.StatusUnauthorized)
	for _, c := range []struct {
		name, app, value string
		want             int
		identity         string
	}{
		{"a stored newline is none of the key", "newline", "the-key", 200, "newline"},
		{"a stored Bearer is none of the key", "bearer", "the-key", 200, "bearer"},
		{"nor can it be presented", "bearer", "Bearer the-key", 401, ""},
		{"both at once", "both", "the-key", 200, "both"},
		{"a blank is no key", "blank", "x", 503, ""},
		{"a prefix alone is no key", "prefix", "Bearer", 503, ""},
		{"a value in lower case", "case", "the-key", 200, "lower"},
		{"a value in upper case", "case", "THE-KEY", 200, "upper"},
		{"a value in another case", "case", "The-Key", 401, ""},
		{"the other case of the only one", "newline", "THE-KEY", 401, ""},
		{"a value that clients share", "shared", "the-key", 401, ""},
		{"a value beside it", "shared", "another", 200, "dan"},
		{"nothing but a value that clients share", "alone", "the-key", 503, ""},
		{"part of a value", "newline", "the-ke", 401, ""},
		{"a value and more", "newline", "the-key1", 401, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := d.send(c.app+".example.com", http.Header{"X-Api-Key": {c.value}})
			assert.Equal(t, c.want, got.status)
			if c.want == http.StatusOK {
				assert.Equal(t, c.app+" "+c.identity+" [] [] [] []", got.body)
			}
		})
	}
}
