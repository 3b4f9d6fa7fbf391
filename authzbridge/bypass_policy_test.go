package authzbridge_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAPolicyThatIsPresentButEmptyClosesTheApp(t *testing.T) {
	const item = "{apiKey: {from: [{header: X-API-Key}]}}"
	policies := map[string]string{
		"empty-list":       "anyOf: []",
		"empty-item":       "anyOf: [{}]",
		"null":             "anyOf: null",
		"nothing":          "anyOf:",
		"null-item":        "anyOf: [null]",
		"empty-among-good": "anyOf: [" + item + ", {}]",
		"empty-kind":       "anyOf: [{apiKey: {}}]",
		"null-kind":        "anyOf: [{apiKey: null}]",
		"no-places":        "anyOf: [{apiKey: {from: []}}]",
		"empty-place":      "anyOf: [{apiKey: {from: [{}]}}]",
		"no-list":          "anyOf: " + item,
		"a-text":           "anyOf: none",
		"upper-case":       "ANYOF: [" + item + "]",
		"lower-case":       "anyof: [" + item + "]",
		"kind-in-case":     "anyOf: [{APIKEY: {from: [{header: X-API-Key}]}}]",
		"unknown-kind":     "anyOf: [{password: {}}]",
		"two-kinds":        "anyOf: [{apiKey: {from: [{header: X-API-Key}]}, basic: {}}]",
		"empty-public":     "anyOf: [" + item + "]\npublic: []",
		"public-alone":     "public: [{path: /}]",
		"preflight-alone":  "preflight: pass",
		"identity-alone":   "identityHeader: X-Auth-Client",
	}
	w := newTown(t)
	w.secret("all", someToken())
	apps := []string{"name: good\nhostnames: [good.example.com]\nsecretRef: {name: all, key: token}\nanyOf: [" + item + "]"}
	for name, policy := range policies {
		apps = append(apps, "name: "+name+"\nhostnames: ["+name+".example.com]\nsecretRef: {name: all, key: token}\n"+policy)
	}
	w.registry(document(apps...))
	d := keyed(t, w)
	d.becomes("good.example.com", http.StatusUnauthorized)
	right := http.Header{"X-Api-Key": {"placeholder"}}
	require.Equal(t, http.StatusOK, d.send("good.example.com", right).status)
	for name := range policies {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, http.StatusServiceUnavailable, d.status(name+".example.com"))
			assert.Equal(t, http.StatusServiceUnavailable, d.send(name+".example.com", right).status)
		})
	}
}

func TestARepeatedKeyInTheDocumentLeavesTheLastGoodOneInUse(t *testing.T) {
	const good = `{"version":1,"apps":[{"name":"shop","hostnames":["shop.example.com"],"secretRef":{"name":"shop","key":"token"},
		"anyOf":[{"apiKey":{"from":[{"header":"X-API-Key"}]}}]}]}`
	w := newTown(t)
	w.secret("shop", someToken())
	write := func(document string) {
		t.Helper()
		w.PutSecret(t, w.namespace, "registry", map[string]string{"registry.json": document})
	}
	write(good)
	d := keyed(t, w)
	d.becomes("shop.example.com", http.StatusUnauthorized)
	for name, repeated := range map[string]string{
		"a policy emptied":        strings.Replace(good, `"anyOf":[`, `"anyOf":[],"anyOf":[`, 1),
		"emptied the second time": strings.Replace(good, `}]}]}`, `}],"anyOf":[]}]}`, 1),
		"the Apps twice":          strings.Replace(good, `"apps":[`, `"apps":[],"apps":[`, 1),
		"a name twice":            strings.Replace(good, `"name":"shop",`, `"name":"blog","name":"shop",`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			require.NotEqual(t, good, repeated)
			write(repeated)
			d.degraded("RegistryMalformed", true)
			assert.Equal(t, http.StatusUnauthorized, d.status("shop.example.com"))
			assert.Equal(t, http.StatusUnauthorized, d.send("shop.example.com", http.Header{"X-Other": {"placeholder"}}).status)
			assert.Equal(t, http.StatusOK, d.send("shop.example.com", http.Header{"X-Api-Key": {"placeholder"}}).status)
			write(good)
			d.degraded("RegistryMalformed", false)
		})
	}

	t.Run("within an item closes the App", func(t *testing.T) {
		write(strings.Replace(good, `{"apiKey":{`, `{"apiKey":{"from":[{"header":"X-Other"}]},"apiKey":{`, 1))
		d.becomes("shop.example.com", http.StatusServiceUnavailable)
		assert.Equal(t, http.StatusServiceUnavailable, d.send("shop.example.com", http.Header{"X-Other": {"placeholder"}}).status)
		write(good)
		d.becomes("shop.example.com", http.StatusUnauthorized)
	})

	t.Run("in YAML", func(t *testing.T) {
		w.registry(document(app("shop", "shop.example.com") + byKey + "\nanyOf: []"))
		d.degraded("RegistryMalformed", true)
		assert.Equal(t, http.StatusUnauthorized, d.status("shop.example.com"))
	})
}
