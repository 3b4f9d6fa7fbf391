package authzbridge_test

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

// listener is an app behind that keeps what it hears, and answers with what the
// placeholders are.
type listener struct {
	mu              sync.Mutex // guards the fields below
	served, refused strings.Builder
}

func (l *listener) say(r *http.Request, wire string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	heard := &l.served
	if r.Header.Get("X-Status") != "" {
		heard = &l.refused
	}
	heard.WriteString(wire)
	return "seen " + r.Header.Get("X-Seen")
}

func (l *listener) heard() (served, refused string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.served.String(), l.refused.String()
}

// watch is a door whose answers are kept.
type watch struct {
	*door
	answers  strings.Builder
	answered int
}

func (w *watch) keep(got answer) int {
	w.answered++
	fmt.Fprintf(&w.answers, "%d %v %s\n", got.status, got.header, got.body)
	return got.status
}

func (w *watch) asksAll(apps []watched) {
	w.tb.Helper()
	for i := range apps {
		for n, ask := range apps[i].asks {
			got := w.keep(w.send(apps[i].host(), ask.header))
			assert.Equal(w.tb, ask.status, got, "%s, request %d: %v", apps[i].name, n, ask.header)
		}
	}
}

// texts are all that anybody may look at.
func (w *watch) texts() map[string]string {
	w.tb.Helper()
	texts := map[string]string{"the answers": w.answers.String()}
	for _, path := range []string{
		"/config/", "/authz_bridge/status", "/authz_bridge/ready", "/metrics",
		"/authz_bridge/apps", "/authz_bridge/apps/token", "/authz_bridge/apps/given", "/authz_bridge/explain?host=token.example.com",
	} {
		_, texts["the admin API's "+path] = w.get(w.admin, path)
	}
	_, texts["the metrics"] = w.get(w.meter, "/metrics")
	eventually(w.tb, func() bool {
		text, err := os.ReadFile(w.log)
		require.NoError(w.tb, err)
		texts["the log"] = string(text)
		return strings.Count(texts["the log"], `"logger":"http.log.access`) >= w.answered
	}, "not every request is in the access log")
	return texts
}

func TestNoSecretLeavesTheProcess(t *testing.T) {
	c := make(canaries)
	apps := slices.Concat(watchedKeys(c), watchedPasswords(t, c), watchedTokens(t, c), watchedRefusals(c))
	town, behind := newTown(t), new(listener)
	entries := make([]string, len(apps))
	for i := range apps {
		entries[i] = apps[i].entry()
		town.hold(&apps[i])
	}
	town.registry(document(entries...))
	w := &watch{door: proxied(t, town, startUpstream(t, behind.say))}
	w.becomes("token.example.com", http.StatusUnauthorized)

	t.Log("every kind, format and place, and every way to be refused")
	w.asksAll(apps)
	w.asksAsNobody(c)
	w.asksWithoutNeed(c)
	startFlood(w.door, "slow.example.com", c.plant("flood"), 300).end()

	t.Log("and every change of a Secret and of the Registry")
	_, serving := w.get(w.admin, "/authz_bridge/status")
	w.changeAll(town, c)

	texts := w.texts()
	texts["the status before the changes"] = serving
	served, refused := behind.heard()
	texts["what error routes are sent"] = refused
	c.assertNowhere(t, texts)
	assertDriven(t, c, texts, served)
}

// hold makes the Secret of an App.
func (w *town) hold(a *watched) {
	w.tb.Helper()
	if a.data == nil {
		return
	}
	w.alter(a.name, func(s *corev1.Secret) {
		s.Data = bytesOf(a.data)
		if a.labelled {
			s.Labels = map[string]string{snapshot.InjectLabel: "true"}
		}
	})
}

// asksAsNobody asks at hosts that have no App.
func (w *watch) asksAsNobody(c canaries) {
	w.tb.Helper()
	for _, ask := range refusedAnyway(c, "a host of no App", http.StatusForbidden) {
		assert.Equal(w.tb, ask.status, w.keep(w.send("unknown.example.com", ask.header)))
		assert.Equal(w.tb, http.StatusBadRequest, w.keep(w.send("bad..example.com", ask.header)))
	}
}

// asksWithoutNeed presents credentials where none is asked for.
func (w *watch) asksWithoutNeed(c canaries) {
	w.tb.Helper()
	for _, ask := range refusedAnyway(c, "a public path", http.StatusOK) {
		got, err := w.trySendTo("/healthz?not-secret", "token.example.com", ask.header)
		require.NoError(w.tb, err)
		assert.Equal(w.tb, http.StatusOK, w.keep(got))
	}
	assert.Equal(w.tb, http.StatusOK, w.keep(w.overWire("OPTIONS / HTTP/1.1", "Host: token.example.com", "Origin: https://a.example",
		"Access-Control-Request-Method: PUT", "X-API-Key: "+c.plant("preflight"), "Cookie: key="+c.plant("cookie of a preflight"))))
}

// changeAll takes every Secret through a state that cannot be used, and away.
func (w *watch) changeAll(town *town, c canaries) {
	w.tb.Helper()
	town.secret("token", map[string]string{"token": c.plant("rotated"), "rest": c.plant("beside it")})
	eventually(w.tb, func() bool {
		return w.keep(w.send("token.example.com", asKey(c["rotated"]))) == http.StatusOK
	}, "the new key is never right")
	town.secret("token", clients(c.plant("two lines")+"\n"+c.plant("of no format")))
	w.becomesKept("token.example.com", http.StatusServiceUnavailable)
	town.secret("htpasswd", map[string]string{"auth": c.plant("no password file")})
	w.becomesKept("htpasswd.example.com", http.StatusServiceUnavailable)
	town.secret("jwks", clients(`{"keys":[{"kty":"oct","k":"`+c.plant("damaged jwks")+`"`))
	w.becomesKept("jwks.example.com", http.StatusServiceUnavailable)
	town.DeleteSecret(w.tb, town.namespace, "pem")
	w.becomesKept("pem.example.com", http.StatusServiceUnavailable)
	town.registry("version: 1\napps: " + c.plant("no Registry"))
	w.degraded("RegistryMalformed", true)
}

func (w *watch) becomesKept(host string, status int) {
	w.tb.Helper()
	eventually(w.tb, func() bool { return w.keep(w.ask(host)) == status }, "%s never answers %d", host, status)
}

// assertDriven makes sure that the silence is not that of nothing happening.
func assertDriven(t *testing.T, c canaries, texts map[string]string, served string) {
	t.Helper()
	log, metrics := texts["the log"], texts["the metrics"]
	assert.Contains(t, log, "not-secret", "what is no secret is found")
	assert.Contains(t, log, `"level":"debug"`)
	assert.Contains(t, log, `"user_id":"alice"`)
	assert.Contains(t, log, `"msg":"upstream roundtrip"`)
	for _, reason := range snapshot.Reasons() {
		switch reason {
		case snapshot.ReasonUnsynced, snapshot.ReasonStale, snapshot.ReasonPending, snapshot.ReasonSecretForbidden:
			continue // nothing has been read then that could be told
		}
		assert.Regexp(t, `(?m)^authz_bridge_decisions_total\{app="[a-z-]*",reason="`+reason.String()+`"\} [1-9]`, metrics)
		assert.Contains(t, texts["the answers"]+log, reason.String())
	}
	for _, place := range []string{"line 2", "line 4", "item 3", "item 4", `key \"token\": item 1`, `key \"eve\"`} {
		assert.Contains(t, texts["the status before the changes"], place)
	}
	assert.Contains(t, texts["the answers"], "seen token allowed token", "the placeholders")
	assert.Contains(t, texts["the answers"], "seen htpasswd allowed alice")
	assert.Contains(t, served, "Authorization: Bearer "+c["inject"], "it is given to the app behind, and to nobody else")
	assert.Contains(t, served, "session="+c["inject"])
	assert.Contains(t, served, "X-Api-Key: "+c["line of alice"], "strip: false")
}
