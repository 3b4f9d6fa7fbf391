package authzbridge_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/authz-bridge/authz-bridge/authzbridge"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

func TestAppsOpenAndCloseAsTheirSecretsComeAndGo(t *testing.T) {
	w := newTown(t)
	w.registry(document(app("shop", "shop.example.com", "*.shop.example.com") + "\nsecretReady: true"))
	d := open(t, w.option())

	t.Log("the writer's secretReady: true opens nothing")
	d.becomes("shop.example.com", http.StatusServiceUnavailable)
	assert.Equal(t, "secret_absent", d.bridge().Apps.NotServing[0].Reason)

	w.secret("shop", someToken())
	d.becomes("shop.example.com", http.StatusOK)
	assert.Equal(t, "shop", d.ask("a.shop.example.com").app)
	assert.Equal(t, http.StatusForbidden, d.status("a.b.shop.example.com"))
	assert.Equal(t, http.StatusForbidden, d.status("other.example.com"))

	w.DeleteSecret(t, w.namespace, "shop")
	d.becomes("shop.example.com", http.StatusServiceUnavailable)
	closed := d.bridge()
	assert.Equal(t, 1, closed.Apps.Total, "the App is kept")
	assert.Equal(t, "secret_absent", closed.Apps.NotServing[0].Reason)
	assert.Equal(t, "5", d.ask("shop.example.com").header.Get("Retry-After"))

	w.secret("shop", map[string]string{"other": "placeholder"})
	eventually(t, func() bool {
		return d.bridge().Apps.NotServing[0].Reason == "secret_key_absent"
	}, "the missing key is never told")
	assert.Equal(t, http.StatusServiceUnavailable, d.status("shop.example.com"))

	w.secret("shop", someToken())
	d.becomes("shop.example.com", http.StatusOK)
	w.secret("shop", map[string]string{"token": ""})
	eventually(t, func() bool {
		st := d.bridge()
		return len(st.Apps.NotServing) == 1 && st.Apps.NotServing[0].Reason == "secret_invalid"
	}, "the empty value is never told")
}

func TestSecretsThatBecomeReferencedLaterAreFetched(t *testing.T) {
	w := newTown(t)
	w.secret("old", someToken())
	w.secret("new", someToken())
	w.registry(document(app("old", "old.example.com")))
	d := open(t, w.option())
	d.becomes("old.example.com", http.StatusOK)

	w.registry(document(app("old", "old.example.com"), app("new", "new.example.com")))
	d.becomes("new.example.com", http.StatusOK)
	w.registry(document(app("new", "new.example.com")))
	d.becomes("old.example.com", http.StatusForbidden)
	assert.Equal(t, http.StatusOK, d.status("new.example.com"))
}

func TestAFreshReplicaNeedsNothingButTheAPIServer(t *testing.T) {
	w := newTown(t)
	w.secret("shop", someToken())
	w.registry(document(app("shop", "shop.example.com")))

	t.Log("the first request is held until there is an answer, not refused")
	d := open(t, w.option())
	assert.Equal(t, http.StatusOK, d.status("shop.example.com"))
	st := d.bridge()
	assert.Equal(t, "live", st.State)
	assert.True(t, st.Ready)
	assert.Empty(t, st.Degraded)
}

func TestScopeNamespacesNeedsRolesOnly(t *testing.T) {
	w := newTown(t)
	w.secret("shop", someToken())
	elsewhere := w.Cluster.Namespace(t, "elsewhere")
	w.PutSecret(t, elsewhere, "far", someToken())
	w.registry(document(app("shop", "shop.example.com"),
		"name: far\nhostnames: [far.example.com]\nsecretRef: {namespace: "+elsewhere+", name: far}"))
	w.Grant(t, "replica", w.namespace, rbacv1.PolicyRule{
		APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "list", "watch"},
	})

	d := open(t, w.optionVia(w.Kubeconfig(t, w.User("replica")), "scope namespaces "+w.namespace))
	d.becomes("shop.example.com", http.StatusOK)
	assert.Equal(t, http.StatusServiceUnavailable, d.status("far.example.com"))
	problem := d.bridge().Apps.NotServing[0]
	assert.Equal(t, "secret_forbidden", problem.Reason)
	assert.Contains(t, problem.Detail, "scope")
	assert.Empty(t, d.bridge().Degraded)
}

func TestAbsentMalformedAndDeletedRegistriesAreThreeThings(t *testing.T) {
	w := newTown(t)
	w.secret("shop", someToken())
	d := open(t, w.option())

	assert.Equal(t, http.StatusForbidden, d.status("shop.example.com"))
	assert.Contains(t, d.degraded("RegistryAbsent", true), "does not exist")
	assert.True(t, d.bridge().Ready, "an absent Registry is valid")

	w.registry(document(app("shop", "shop.example.com")))
	d.becomes("shop.example.com", http.StatusOK)
	d.degraded("RegistryAbsent", false)

	w.registry("version: 1\napps: [")
	message := d.degraded("RegistryMalformed", true)
	assert.Contains(t, message, w.namespace+"/registry")
	assert.Equal(t, http.StatusOK, d.status("shop.example.com"), "the last good one stays in use")
	w.registry("version: 2\napps: []\n")
	eventually(t, func() bool { return d.degraded("RegistryMalformed", true) != message }, "the message never changes")
	assert.Contains(t, d.degraded("RegistryMalformed", true), "version: 2")
	assert.Equal(t, http.StatusOK, d.status("shop.example.com"))

	w.DeleteSecret(t, w.namespace, "registry")
	d.becomes("shop.example.com", http.StatusForbidden)
	d.degraded("RegistryAbsent", true)
	d.degraded("RegistryMalformed", false)

	w.PutSecret(t, w.namespace, "registry", map[string]string{})
	d.degraded("RegistryAbsent", false)
	assert.Equal(t, http.StatusForbidden, d.status("shop.example.com"), "one without data is valid, and empty")
}

func TestMalformedRegistryWithoutALastGoodOneIsUnsynced(t *testing.T) {
	w := newTown(t)
	w.registry("version: 1\nversion: 1\n")
	d := open(t, w.option())

	d.degraded("RegistryMalformed", true)
	got := d.ask("shop.example.com")
	assert.Equal(t, http.StatusServiceUnavailable, got.status)
	assert.Equal(t, "5", got.header.Get("Retry-After"))
	status, body := d.get(d.admin, "/authz_bridge/ready")
	assert.Equal(t, http.StatusServiceUnavailable, status)
	assert.Contains(t, body, "malformed")

	w.registry("version: 1\n")
	d.becomes("shop.example.com", http.StatusForbidden)
	status, _ = d.get(d.admin, "/authz_bridge/ready")
	assert.Equal(t, http.StatusOK, status)
}

// bomb is a Builder that panics with something that nobody may read.
type bomb struct{}

func (bomb) Name() string                        { return "bomb" }
func (bomb) Build(snapshot.Objects) (any, error) { panic("c4n4ry") }

func TestABuilderThatPanicsCostsNobodyElseAnything(t *testing.T) {
	w := newTown(t)
	w.secret("shop", someToken())
	w.registry(document(app("shop", "shop.example.com")))
	d := open(t, w.option())
	d.becomes("shop.example.com", http.StatusOK)

	require.NoError(t, authzbridge.RegisterBuilder(bomb{}))
	assert.Contains(t, d.degraded("BuildFailed", true), "builder bomb: panic (string)")
	assert.Equal(t, http.StatusOK, d.status("shop.example.com"))
	w.DeleteSecret(t, w.namespace, "shop")
	d.becomes("shop.example.com", http.StatusServiceUnavailable)
	assert.Positive(t, d.metric(`authz_bridge_build_errors_total{builder="bomb"}`))
	assert.True(t, d.bridge().Ready)
}

func TestASecretThatIsHiddenByItsLabelsSaysSo(t *testing.T) {
	w := newTown(t)
	w.secret("shop", someToken())
	w.registry(document(app("shop", "shop.example.com")))
	d := open(t, w.optionVia(w.kubeconfig, "label_selector authz-bridge/app=true"))

	d.becomes("shop.example.com", http.StatusServiceUnavailable)
	problem := d.bridge().Apps.NotServing[0]
	assert.Equal(t, "secret_absent", problem.Reason)
	assert.Contains(t, problem.Detail, "label_selector authz-bridge/app=true")
}

func TestErrorsStayWithTheAppThatHasThem(t *testing.T) {
	w := newTown(t)
	for _, name := range []string{"good", "first", "second"} {
		w.secret(name, someToken())
	}
	w.registry(document(
		app("good", "good.example.com"),
		app("unknown-field", "unknown-field.example.com")+"\nanyOf: []",
		app("policy", "policy.example.com")+"\npublic: [{path: /}]",
		"name: no-secret\nhostnames: [no-secret.example.com]",
		"name: Bad_Name\nhostnames: [bad-name.example.com]\nsecretRef: {name: good}",
		app("bad-host", "bad-host.example.com", "bad host"),
		app("late", "late.example.com")+"\nexpiresAt: tomorrow",
		app("expired", "expired.example.com")+"\nexpiresAt: 2020-01-01T00:00:00Z",
		app("twice", "twice-a.example.com"), app("twice", "twice-b.example.com"),
		app("first", "first.example.com", "shared.example.com", "FIRST.example.com"),
		app("second", "second.example.com", "SHARED.example.com."),
		"name: open-wildcard\nhostnames: ['*.example.com']\nsecretRef: {name: good}",
	))
	d := open(t, w.option())
	d.becomes("good.example.com", http.StatusOK)

	for host, want := range map[string]int{
		"good.example.com":          200,
		"first.example.com":         200,
		"second.example.com":        200,
		"else.example.com":          200, // the wildcard captures none of the following
		"unknown-field.example.com": 503,
		"policy.example.com":        503,
		"no-secret.example.com":     503,
		"bad-name.example.com":      503,
		"bad-host.example.com":      503,
		"late.example.com":          503,
		"twice-a.example.com":       503,
		"twice-b.example.com":       503,
		"shared.example.com":        503,
		"expired.example.com":       403,
		"else.example.org":          403,
		"bad host":                  400,
	} {
		assert.Equal(t, want, d.status(host), host)
	}
	st := d.bridge()
	assert.Equal(t, []authzbridge.AppWarning{
		{App: "first", Warning: `hostnames: 1 repeats, the last "first.example.com"; remove them`},
	}, st.Apps.Warnings)
	require.Len(t, st.Apps.Conflicts, 1)
	assert.Equal(t, "shared.example.com", st.Apps.Conflicts[0].Hostname)
	assert.Equal(t, []string{"first", "second"}, st.Apps.Conflicts[0].Apps)

	t.Log("the loser of a conflict that has gone serves at once")
	w.registry(document(app("first", "first.example.com", "shared.example.com"), app("second", "second.example.com")))
	d.becomes("shared.example.com", http.StatusOK)
	assert.Equal(t, "first", d.ask("shared.example.com").app)
}
