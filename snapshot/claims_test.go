package snapshot_test

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

func TestAHostIsFoundByAHostnameOfTheRegistry(t *testing.T) {
	reg := registry(
		t, app("exact", "a.example.com"), app("wild", "*.example.com", "b.example.com"),
		app("first", "shared.example.com", "*.shared.example.com"), app("second", "*.shared.example.com", "SHARED.example.com."),
	)
	apps := build(t, snapshot.NewObjects(start, reg, allPresent(reg)))
	for host, want := range map[string]string{
		"A.example.com:80":     "a.example.com",
		"b.example.com":        "b.example.com",
		"c.example.com.":       "*.example.com",
		"c.d.example.com":      "",
		"x.shared.example.com": "*.shared.example.com",
		"shared.example.com":   "shared.example.com",
		"example.com":          "",
		"*.example.com":        "",
		"a..example.com":       "",
		"com":                  "",
	} {
		assert.Equal(t, want, apps.HostnameOf(host), host)
	}
	assert.Equal(t, []string{"first", "second"}, apps.Claimants("shared.example.com"))
	assert.Equal(t, []string{"first", "second"}, apps.Claimants("*.shared.example.com"))
	for _, hostname := range []string{"a.example.com", "*.example.com", "nobody.example.com", ""} {
		assert.Nil(t, apps.Claimants(hostname), hostname)
	}
}

func TestAPathIsPublicByItselfWhateverElseIsWrong(t *testing.T) {
	reg := registry(t, app("a", "a.example.com").
		with("anyOf", []any{map[string]any{"apiKey": map[string]any{"from": []any{map[string]any{"header": "X-Key"}}}}}).
		with("public", []any{map[string]any{"path": "/healthz"}}))
	a := build(t, snapshot.NewObjects(start, reg, nil)).At(0)
	assert.Equal(t, snapshot.ReasonPending, a.Reason)
	assert.True(t, a.IsPublic(&snapshot.Request{Method: "GET", URL: &url.URL{Path: "/healthz"}}))
	assert.False(t, a.IsPublic(&snapshot.Request{Method: "POST", URL: &url.URL{Path: "/healthz"}}))
	assert.False(t, a.IsPublic(&snapshot.Request{Method: "GET", URL: &url.URL{Path: "/"}}))
	assert.False(t, a.IsPublic(&snapshot.Request{Method: "GET"}))
}
