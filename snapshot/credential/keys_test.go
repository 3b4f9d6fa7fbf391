package credential_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/snapshot/credential"
)

var now = time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)

// at is a clock that stands still.
func at(t time.Time) func() time.Time { return func() time.Time { return t } }

// data is a Secret of type Opaque.
type data map[string]string

func (d data) Type() string { return d["\x00type"] }

func (d data) Keys() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(d)), func(k string) bool { return k == "\x00type" })
}

func (d data) Value(key string) (string, bool) {
	v, ok := d[key]
	return v, ok
}

func (d data) ofType(kind string) data {
	typed := maps.Clone(d)
	typed["\x00type"] = kind
	return typed
}

func hexSum(value string) string {
	sum := sha256.Sum256([]byte(value))
	return hex.EncodeToString(sum[:])
}

func read(t *testing.T, s data, spec credential.Spec) (*credential.Keys, credential.Warnings) {
	t.Helper()
	spec.Client = "shop"
	keys, warnings, err := credential.ReadKeys(s, spec)
	require.NoError(t, err)
	return keys, warnings
}

func owner(keys *credential.Keys, value string) string {
	client, result := keys.Find(value, at(now))
	switch result {
	case credential.Valid:
		return client
	case credential.Expired:
		return "expired"
	default:
		return "unknown"
	}
}

func TestEveryFormatIsReadAsItIsMeant(t *testing.T) {
	keyset := fmt.Sprintf(`{"keys":[{"id":"web","sha256":%q},{"id":"old","sha256":%q,"notAfter":"2027-01-01T00:00:00Z"},`+
		`{"id":"new","sha256":%q,"notBefore":"2027-04-01T00:00:00Z"}]}`, hexSum("w"), hexSum("o"), strings.ToUpper(hexSum("n")))
	for name, c := range map[string]struct {
		secret data
		spec   credential.Spec
		want   map[string]string // by presented value
	}{
		"token by its name":      {data{"token": "a"}, credential.Spec{}, map[string]string{"a": "shop", "A": "unknown", "": "unknown", "b": "unknown"}},
		"api_key by its name":    {data{"api_key": "a"}, credential.Spec{}, map[string]string{"a": "shop"}},
		"named key":              {data{"x": "a", "y": "b"}, credential.Spec{DataKey: "x"}, map[string]string{"a": "shop", "b": "unknown"}},
		"explicit token":         {data{"x": `{"a":1}`}, credential.Spec{DataKey: "x", Format: credential.Token}, map[string]string{`{"a":1}`: "shop"}},
		"map":                    {data{"alice": "a", "bob": "b"}, credential.Spec{}, map[string]string{"a": "alice", "b": "bob"}},
		"explicit map":           {data{"token": "a", "bob": "b"}, credential.Spec{Format: credential.Map}, map[string]string{"a": "token", "b": "bob"}},
		"lines":                  {data{"x": "# clients\r\n\r\nalice a\r\nb\nbob  c\n"}, credential.Spec{DataKey: "x", Format: credential.Lines}, map[string]string{"a": "alice", "b": "shop", "c": "bob", "#": "unknown"}},
		"keyset":                 {data{"x": keyset}, credential.Spec{DataKey: "x"}, map[string]string{"w": "web", "o": "expired", "n": "expired"}},
		"a prefix in lines":      {data{"x": "Bearer a\nbob bearer b"}, credential.Spec{DataKey: "x", Format: credential.Lines}, map[string]string{"a": "shop", "b": "bob", "Bearer": "unknown", "bearer": "unknown"}},
		"a comment is no key":    {data{"x": "s3cr3t #john\nbob b"}, credential.Spec{DataKey: "x", Format: credential.Lines}, map[string]string{"#john": "unknown", "s3cr3t": "unknown", "b": "bob"}},
		"reserved keys of a map": {data{"username": "admin", "bob": "b"}, credential.Spec{Format: credential.Map}, map[string]string{"admin": "unknown", "b": "bob"}},
		"null for a time":        {data{"x": fmt.Sprintf(`{"keys":[{"id":"a","sha256":%q,"notAfter":null},{"id":"b","sha256":%q}]}`, hexSum("a"), hexSum("b"))}, credential.Spec{DataKey: "x"}, map[string]string{"a": "unknown", "b": "b"}},
		"one digest, two times":  {data{"x": fmt.Sprintf(`{"keys":[{"id":"a","sha256":%q},{"id":"a","sha256":%q,"notAfter":"2026-01-01T00:00:00Z"},{"id":"b","sha256":%q}]}`, hexSum("a"), hexSum("a"), hexSum("b"))}, credential.Spec{DataKey: "x"}, map[string]string{"a": "unknown", "b": "b"}},
		"ends before it begins":  {data{"x": fmt.Sprintf(`{"keys":[{"id":"a","sha256":%q,"notBefore":"2027-01-01T00:00:00Z","notAfter":"2026-01-01T00:00:00Z"},{"id":"b","sha256":%q}]}`, hexSum("a"), hexSum("b"))}, credential.Spec{DataKey: "x"}, map[string]string{"a": "unknown", "b": "b"}},
		"many keys":              {data{"x": strings.Repeat("a\n", 9) + "bob b\n1\n2\n3\n4\n5\n6\n7\n8\n9"}, credential.Spec{DataKey: "x", Format: credential.Lines}, map[string]string{"b": "bob", "9": "shop", "a": "shop", "0": "unknown"}},
		"trailing newline":       {data{"token": "a\n"}, credential.Spec{}, map[string]string{"a": "shop", "a\n": "unknown"}},
		"a stored prefix":        {data{"token": "Bearer a"}, credential.Spec{}, map[string]string{"a": "shop", "Bearer a": "unknown"}},
		"one value, two lines":   {data{"x": "alice a\nalice a\n"}, credential.Spec{DataKey: "x", Format: credential.Lines}, map[string]string{"a": "alice"}},
		"two clients, one key":   {data{"alice": "a", "bob": "a", "eve": "e"}, credential.Spec{}, map[string]string{"a": "unknown", "e": "eve"}},
		"values of many bytes":   {data{"token": strings.Repeat("k", 5000)}, credential.Spec{}, map[string]string{strings.Repeat("k", 5000): "shop", strings.Repeat("k", 4999): "unknown"}},
		"an empty one of three":  {data{"alice": " \n", "bob": "b", "eve": "e\nf"}, credential.Spec{}, map[string]string{"": "unknown", "b": "bob", "e": "unknown"}},
	} {
		t.Run(name, func(t *testing.T) {
			keys, _ := read(t, c.secret, c.spec)
			for value, want := range c.want {
				assert.Equal(t, want, owner(keys, value), "%.20q", value)
			}
		})
	}
}

func TestWhatCouldBeReadInTwoWaysIsRefusedWithTheFix(t *testing.T) {
	for name, c := range map[string]struct {
		secret data
		spec   credential.Spec
		want   string
	}{
		"token beside clients": {data{"token": "a", "bob": "b"}, credential.Spec{}, `key "token" may be the value or a client; name it in key, or write format: map`},
		"two names of a value": {data{"token": "a", "key": "b"}, credential.Spec{}, "may be the value or a client"},
		"htpasswd":             {data{"auth": "a:$2y$05$x"}, credential.Spec{}, `key "auth": is reserved`},
		"TLS":                  {data{"tls.crt": "a", "tls.key": "b"}, credential.Spec{}, `key "tls.crt": is reserved`},
		"a pull secret":        {data{".dockerconfigjson": "{}"}.ofType("kubernetes.io/dockerconfigjson"), credential.Spec{}, "type kubernetes.io/dockerconfigjson holds no API keys"},
		"user and password":    {data{"username": "a", "password": "b"}, credential.Spec{}, "is reserved"},
		"a reserved name":      {data{"username": "admin"}, credential.Spec{DataKey: "username"}, `key "username": is reserved`},
		"too many":             {data{"x": strings.Repeat("a\n", 500_000)}, credential.Spec{DataKey: "x", Format: credential.Lines, Client: "shop"}, "holds more than 10000 keys"},
		"too many items":       {data{"x": `{"keys":[` + strings.Repeat("1,", 200_000) + `1]}`}, credential.Spec{DataKey: "x", Format: credential.Keyset}, "holds more than 10000 keys"},
		"several lines":        {data{"x": "a\nb"}, credential.Spec{DataKey: "x"}, `key "x": has several lines; write format: lines`},
		"named htpasswd":       {data{"x": "a:{SHA}x"}, credential.Spec{DataKey: "x"}, "looks like htpasswd"},
		"JWKS":                 {data{"x": `{"keys":[{"kty":"RSA"}]}`}, credential.Spec{DataKey: "x"}, "is JSON, but no keyset"},
		"other JSON":           {data{"x": `{"a":1}`}, credential.Spec{DataKey: "x"}, "is JSON, but no keyset"},
		"nothing":              {data{}, credential.Spec{}, "holds no key that can be used"},
		"an empty value":       {data{"token": "\n"}, credential.Spec{}, `key "token": holds no key that can be used`},
		"no such key":          {data{"x": "a"}, credential.Spec{DataKey: "y", Format: credential.Token}, `key "y": does not exist`},
		"lines of no key":      {data{"x": "a"}, credential.Spec{Format: credential.Lines}, "format lines reads one key; name it in key"},
		"no keyset":            {data{"x": "a"}, credential.Spec{DataKey: "x", Format: credential.Keyset}, "is no keyset"},
		"only a shared value":  {data{"alice": "a", "bob": "a"}, credential.Spec{}, "holds no key that can be used"},
	} {
		t.Run(name, func(t *testing.T) {
			keys, _, err := credential.ReadKeys(c.secret, c.spec)
			require.ErrorContains(t, err, c.want)
			assert.Nil(t, keys)
		})
	}
}

func TestWarningsNameThePlaceAndAreBounded(t *testing.T) {
	const canary = "c4n4ry"
	keys, warnings := read(t, data{"x": "good g\n" + canary + " " + canary + " " + canary + "\n" + strings.Repeat("bob "+canary+"\n", 1000)},
		credential.Spec{DataKey: "x", Format: credential.Lines})
	assert.Equal(t, "good", owner(keys, "g"))
	require.Len(t, warnings, 21)
	assert.Equal(t, `key "x": line 2: is neither a value nor a client and a value; it is left out`, warnings[0])
	assert.Equal(t, "and 980 more", warnings[20])
	assert.NotContains(t, strings.Join(warnings, "\n"), canary)
}
