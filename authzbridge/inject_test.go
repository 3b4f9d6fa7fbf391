package authzbridge_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// headersInJSON is what an app behind says that got a request.
func headersInJSON(r *http.Request, _ string) string {
	text, err := json.Marshal(r.Header)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// behind returns the headers that the app behind got.
func (a answer) behind(t *testing.T) http.Header {
	t.Helper()
	var h http.Header
	require.NoError(t, json.Unmarshal([]byte(a.body), &h), a.body)
	return h
}

// label sets the label by which a Secret's owner opts in, or takes it away.
func (w *town) label(name, value string) {
	w.tb.Helper()
	w.alter(name, func(s *corev1.Secret) {
		s.Labels = map[string]string{"authz-bridge/inject": value, "app": "shop"}
		if value == "" {
			delete(s.Labels, "authz-bridge/inject")
		}
	})
}

// ofACaller has a key, and everything else that a caller may try.
func ofACaller() http.Header {
	return http.Header{
		"X-Api-Key":     {"the-key"},
		"Authorization": {"Bearer of-the-caller"},
		"Cookie":        {"session=of-the-caller; theme=dark"},
		"X-Auth-Client": {"admin"},
		"X_auth_client": {"admin"},
	}
}

// givenAway starts a door with an App for each way to give bytes of the Secret shop.
func givenAway(t *testing.T, w *town) *door {
	t.Helper()
	w.secret("shop", map[string]string{"callers": "alice the-key", "upstream": "Bearer 0ld-upstream\n", "session": "0ld-session"})
	const entry = "\nsecretRef: {name: shop}\nidentityHeader: X-Auth-Client\n" +
		"anyOf: [{apiKey: {from: [{header: X-API-Key}], key: callers, format: lines}}]\n"
	const inHeader = "inject: {header: Authorization, scheme: Bearer, key: upstream}"
	w.registry(document(
		"name: shop\nhostnames: [shop.example.com]"+entry+inHeader,
		"name: cookie\nhostnames: [cookie.example.com]"+entry+"inject: {cookie: session, key: session}",
		"name: public\nhostnames: [public.example.com]"+entry+inHeader+"\npublic: [{path: /}]",
	))
	d := proxied(t, w, startUpstream(t, headersInJSON))
	d.becomes("public.example.com", http.StatusServiceUnavailable)
	return d
}

// answers waits until a caller is answered with a status.
func (d *door) answers(host string, status int) {
	d.tb.Helper()
	eventually(d.tb, func() bool { return d.send(host, ofACaller()).status == status },
		"a caller of %s is never answered %d", host, status)
}

func TestTheAppBehindIsGivenTheAppsBytesInPlaceOfTheCallers(t *testing.T) {
	w := newTown(t)
	d := givenAway(t, w)
	w.label("shop", "true")
	d.answers("shop.example.com", http.StatusOK)
	for host, want := range map[string]struct{ authorization, cookie string }{
		"shop.example.com":   {"Bearer 0ld-upstream", "session=of-the-caller; theme=dark"},
		"cookie.example.com": {"Bearer of-the-caller", "session=0ld-session; theme=dark"},
	} {
		h := d.send(host, ofACaller()).behind(t)
		assert.Equal(t, []string{want.authorization}, h["Authorization"], host)
		assert.Equal(t, []string{want.cookie}, h["Cookie"], host)
		assert.Equal(t, []string{"alice"}, h["X-Auth-Client"], host)
		assert.Regexp(t, ` allowed alice \d+ alice$`, h.Get("X-Seen"), host)
		assert.NotContains(t, h, "X-Api-Key", host)
		assert.NotContains(t, h, "X_auth_client", host)
	}
	open := d.send("public.example.com", ofACaller()).behind(t)
	assert.NotContains(t, open, "Authorization", "who asks for a public path must not act with the App's bytes")
	assert.NotContains(t, open, "X-Auth-Client")
	assert.Equal(t, http.StatusUnauthorized, d.status("shop.example.com"))

	w.alter("shop", func(s *corev1.Secret) { s.Data["upstream"] = []byte("n3w-upstream") })
	eventually(t, func() bool {
		return d.send("shop.example.com", ofACaller()).behind(t).Get("Authorization") == "Bearer n3w-upstream"
	}, "the old bytes are given for ever")
	assertLogged(t, d)
}

func TestNothingIsGivenAwayUnlessTheOwnerOfTheSecretOptsIn(t *testing.T) {
	w := newTown(t)
	d := givenAway(t, w)
	assert.Equal(t, http.StatusServiceUnavailable, d.send("shop.example.com", ofACaller()).status)
	problems := d.bridge().Apps.NotServing
	require.Len(t, problems, 3)
	for _, p := range problems {
		assert.Equal(t, "secret_invalid", p.Reason)
		assert.Contains(t, p.Detail, fmt.Sprintf(`secret %s/shop: is not labelled authz-bridge/inject: "true"`, w.namespace))
	}
	for _, value := range []string{"true", "false", "true", "", "true", "True"} {
		t.Logf("label %q", value)
		w.label("shop", value)
		if value == "true" {
			d.answers("shop.example.com", http.StatusOK)
			continue
		}
		d.answers("shop.example.com", http.StatusServiceUnavailable)
		assert.Equal(t, http.StatusServiceUnavailable, d.status("public.example.com"))
	}
}

// assertLogged asks for the identity in the access log, and for nothing of a Secret
// in any.
func assertLogged(t *testing.T, d *door) {
	t.Helper()
	var log string
	eventually(t, func() bool {
		text, err := os.ReadFile(d.log)
		require.NoError(t, err)
		log = string(text)
		return strings.Contains(log, `"user_id":"alice"`)
	}, "the access log does not say who")
	for _, secret := range []string{"0ld-upstream", "n3w-upstream", "0ld-session", "the-key", "of-the-caller"} {
		assert.NotContains(t, log, secret)
	}
}
