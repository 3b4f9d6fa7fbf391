package credential_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/authz-bridge/authz-bridge/snapshot/credential"
)

// Whatever bytes are read, nothing panics, and the empty value is never a key.
func FuzzReadKeys(f *testing.F) {
	for _, seed := range []string{"a", "a\n", "alice a\nbob b\n", "# x\r\n", `{"keys":[{"id":"a","sha256":"00"}]}`, "a:{SHA}x", "Bearer a", "\x00", "{"} {
		f.Add(seed, "x", "a")
	}
	f.Fuzz(func(t *testing.T, text, name, value string) {
		for _, format := range []credential.Format{credential.Auto, credential.Token, credential.Lines, credential.Map, credential.Keyset} {
			for _, dataKey := range []string{"", name} {
				keys, _, err := credential.ReadKeys(data{name: text}, credential.Spec{Format: format, DataKey: dataKey, Client: "shop"})
				if err != nil {
					assert.Nil(t, keys)
					continue
				}
				client, result := keys.Find("", at(now))
				assert.Equal(t, credential.Unknown, result)
				assert.Empty(t, client)
				if client, result = keys.Find(value, at(now)); result == credential.Valid {
					assert.NotEmpty(t, client)
				}
			}
		}
	})
}
