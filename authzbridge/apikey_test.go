package authzbridge_test

import (
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const byKey = `
anyOf:
- apiKey:
    from: [{header: X-API-Key}, {header: Authorization, scheme: Bearer}, {cookie: key}]`

// keyed starts a door that answers with what goes on to the next handler.
func keyed(t *testing.T, w *town) *door {
	t.Helper()
	d := newDoor(t, w.option())
	d.answer = `{http.authz_bridge.app} {http.auth.user.id} [{header.X-Api-Key}] [{header.X_api_key}] [{header.Authorization}] [{header.Cookie}]`
	d.errors = `respond "error [{header.X-Api-Key}] [{header.X_api_key}] [{header.Authorization}] [{header.Cookie}]" {err.status_code}`
	require.NoError(t, d.load())
	return d
}

func clients(lines string) map[string]string { return map[string]string{"token": lines} }

func TestCallersProveThemselvesByAPIKeyThroughARunningCaddy(t *testing.T) {
	w := newTown(t)
	w.secret("shop", clients("the-key\n"))
	w.secret("blog", clients("another"))
	w.registry(document(app("shop", "shop.example.com")+byKey, app("blog", "blog.example.com")+byKey))
	d := keyed(t, w)
	d.becomes("shop.example.com", http.StatusUnauthorized)

	t.Log("nothing of the credential goes on, and the identity is known")
	for _, h := range []http.Header{
		{"X-Api-Key": {"the-key"}},
		{"Authorization": {"Bearer the-key"}},
		{"Cookie": {"key=the-key"}},
		{"X-Api-Key": {"the-key"}, "X_api_key": {"the-key"}, "Cookie": {"key=the-key"}},
	} {
		got := d.send("shop.example.com", h)
		assert.Equal(t, http.StatusOK, got.status, h)
		assert.Equal(t, "shop shop [] [] [] []", got.body, h)
	}

	t.Log("nor does it reach an error route")
	for _, h := range []http.Header{
		{},
		{"X-Api-Key": {"wrong"}},
		{"X-Api-Key": {"the-key", "the-key"}},
		{"X-Api-Key": {"the-key"}, "Cookie": {"key=wrong"}},
		{"X_api_key": {"the-key"}},
		{"X-Api-Key": {"another"}},
		{"Authorization": {"Basic the-key"}, "X-Api-Key": {"wrong"}},
	} {
		got := d.send("shop.example.com", h)
		assert.Equal(t, http.StatusUnauthorized, got.status, h)
		assert.Equal(t, []string{`Bearer realm="restricted"`}, got.header["Www-Authenticate"], h)
		assert.NotContains(t, strings.ReplaceAll(got.body, "Basic the-key", ""), "the-key", h)
		assert.NotContains(t, got.body, "wrong", h)
	}
	assert.Equal(t, http.StatusOK, d.send("blog.example.com", http.Header{"X-Api-Key": {"another"}}).status)
}

func TestAPIKeysRotateLive(t *testing.T) {
	w := newTown(t)
	w.secret("shop", clients("old"))
	w.registry(document("name: shop\nhostnames: [shop.example.com]\nsecretRef: {name: shop, key: token}\n" +
		"anyOf: [{apiKey: {from: [{header: X-API-Key}], format: lines}}]"))
	d := keyed(t, w)
	reads := func(key string, status int) {
		t.Helper()
		eventually(t, func() bool {
			return d.send("shop.example.com", http.Header{"X-Api-Key": {key}}).status == status
		}, "%s is never answered %d", key, status)
	}
	reads("old", http.StatusOK)
	w.secret("shop", clients("a old\nb new"))
	reads("new", http.StatusOK)
	reads("old", http.StatusOK)
	w.secret("shop", clients("b new"))
	reads("old", http.StatusUnauthorized)
	reads("new", http.StatusOK)
	w.secret("shop", clients("# none"))
	reads("new", http.StatusServiceUnavailable)
	w.DeleteSecret(t, w.namespace, "shop")
	reads("new", http.StatusServiceUnavailable)
}

func TestAConflictLeaksNoKeyToTheErrorRoute(t *testing.T) {
	w := newTown(t)
	w.secret("shop", someToken())
	w.registry(document(app("shop", "shop.example.com")+byKey, app("other", "shop.example.com")+byKey))
	d := keyed(t, w)
	d.becomes("shop.example.com", http.StatusServiceUnavailable)
	got := d.send("shop.example.com", http.Header{"X-Api-Key": {"placeholder"}, "Cookie": {"key=placeholder; x=y"}})
	assert.Equal(t, "error [] [] [] [x=y]", got.body)
}

func TestASecondHandlerAsksNotForWhatTheFirstHasTaken(t *testing.T) {
	w := newTown(t)
	w.secret("shop", someToken())
	w.registry(document(app("shop", "shop.example.com") + byKey))
	d := newDoor(t, w.option())
	site := freeAddress(t)
	_, port, err := net.SplitHostPort(site)
	require.NoError(t, err)
	d.sites = "http://:" + port + " {\nbind 127.0.0.1\nroute {\nauthz_bridge\nauthz_bridge\nrespond {http.auth.user.id}\n}\n}"
	require.NoError(t, d.load())
	d.site = site
	d.becomes("shop.example.com", http.StatusUnauthorized)
	got := d.send("shop.example.com", http.Header{"X-Api-Key": {"placeholder"}})
	assert.Equal(t, http.StatusOK, got.status)
	assert.Equal(t, "shop", got.body)
}

func TestRequireCredentialsClosesWhatIsOpenByHostname(t *testing.T) {
	w := newTown(t)
	w.secret("shop", someToken())
	w.secret("open", someToken())
	w.registry(document(app("shop", "shop.example.com")+byKey, app("open", "open.example.com")))
	d := keyed(t, w)
	d.becomes("open.example.com", http.StatusOK)
	d.inside = "require_credentials"
	require.NoError(t, d.load())
	assert.Equal(t, http.StatusServiceUnavailable, d.status("open.example.com"))
	assert.Equal(t, http.StatusOK, d.send("shop.example.com", http.Header{"X-Api-Key": {"placeholder"}}).status)
}
