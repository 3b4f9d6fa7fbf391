package authzbridge_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/authzbridge"
)

// read asks the admin API for something that is there.
func read[T any](d *door, path string) T {
	d.tb.Helper()
	var got T
	status, body := d.get(d.admin, path)
	require.Equal(d.tb, http.StatusOK, status, "%s: %s", path, body)
	decoder := json.NewDecoder(strings.NewReader(body))
	decoder.DisallowUnknownFields()
	require.NoError(d.tb, decoder.Decode(&got), body)
	return got
}

func (d *door) apps(query string) authzbridge.AppList {
	d.tb.Helper()
	return read[authzbridge.AppList](d, "/authz_bridge/apps?"+query)
}

func namesOf(list authzbridge.AppList) []string {
	names := []string{}
	for _, app := range list.Apps {
		names = append(names, app.Name)
	}
	return names
}

func TestAnOperatorCanProveThatEveryReplicaHasDroppedAKey(t *testing.T) {
	w := newTown(t)
	w.secret("shop", map[string]string{"token": "old"})
	w.secret("bank", someToken())
	w.registry(document(app("shop", "shop.example.com"), app("bank", "bank.example.com"), app("late", "late.example.com")))
	replica := func(order string) (*door, authzbridge.Status) {
		// Another option makes another Mirror, which reads everything anew.
		d := open(t, w.option()+"\n"+order)
		d.becomes("shop.example.com", http.StatusOK)
		return d, d.bridge()
	}
	_, first := replica("max_age 10h")
	require.Len(t, first.Hash, 64)
	assert.Equal(t, authzbridge.SecretsStatus{Total: 3, Present: 2, Absent: 1}, first.Secrets)
	require.NoError(t, caddy.Stop())
	d, second := replica("max_age 11h")
	assert.Equal(t, first.Hash, second.Hash, "it depends on nothing but what was read")
	assert.Equal(t, first.Hash, d.apps("").Hash)
	old := *d.apps("secret=" + w.namespace + "/shop").Apps[0].Secret
	assert.Equal(t, "present", old.Status)

	t.Log("a rotated key is another version, and another hash")
	stored := w.PutSecret(t, w.namespace, "shop", map[string]string{"token": "fresh"})
	eventually(t, func() bool { return d.bridge().Hash != first.Hash }, "the hash never changes")
	fresh := *read[authzbridge.AppDetail](d, "/authz_bridge/apps/shop").Secret
	assert.Equal(t, authzbridge.SecretVersion{
		Namespace: w.namespace, Name: "shop", Key: "token", Status: "present", UID: string(stored.UID), Version: stored.ResourceVersion,
	}, fresh)
	assert.Equal(t, old.UID, fresh.UID)
	rotated := d.bridge().Hash

	t.Log("one that is gone, and made anew with the same bytes, is another object")
	w.DeleteSecret(t, w.namespace, "shop")
	d.becomes("shop.example.com", http.StatusServiceUnavailable)
	assert.Equal(t, authzbridge.SecretsStatus{Total: 3, Present: 1, Absent: 2}, d.bridge().Secrets)
	gone := *d.apps("name=shop").Apps[0].Secret
	assert.Equal(t, authzbridge.SecretVersion{Namespace: w.namespace, Name: "shop", Key: "token", Status: "absent"}, gone)
	w.secret("shop", map[string]string{"token": "fresh"})
	d.becomes("shop.example.com", http.StatusOK)
	assert.NotContains(t, []string{first.Hash, rotated}, d.bridge().Hash)

	t.Log("so is a Registry that says the same in other words")
	before := d.bridge()
	w.registry("# the same\n" + document(app("shop", "shop.example.com"), app("bank", "bank.example.com"), app("late", "late.example.com")))
	eventually(t, func() bool { return d.bridge().Hash != before.Hash }, "the hash never changes")
	assert.NotEqual(t, before.Registry.Version, d.bridge().Registry.Version)
}

func TestWhatIsServedFromTheCacheHasTheHashThatItHadLive(t *testing.T) {
	r := newReach(t)
	r.secret("shop", someToken())
	r.registry(document(app("shop", "shop.example.com"), app("late", "late.example.com")))
	d := open(t, r.option())
	d.becomes("shop.example.com", http.StatusOK)
	d.writes(1)
	live := d.bridge()
	require.NoError(t, caddy.Stop())
	r.proxy.Cut()
	d.option = r.option("startup_timeout 0s")
	require.NoError(t, d.load())
	d.inState("from_cache")
	assert.Equal(t, live.Hash, d.bridge().Hash)
	assert.Equal(t, live.Secrets, d.bridge().Secrets)
}

func TestAppsAreToldInPagesAndByWhatIsAskedFor(t *testing.T) {
	w := newTown(t)
	w.secret("good", someToken())
	entries := []string{"name: bad\nhostnames: [bad.example.com]", "name: Odd\nhostnames: [odd.example.com]\nsecretRef: {name: good}"}
	for i := range 7 {
		entries = append(entries, fmt.Sprintf("name: app-%d\nhostnames: [app-%d.example.com]\nsecretRef: {name: good}", i, i))
	}
	entries = append(entries, app("absent", "absent.example.com", "shared.example.com"), app("other", "shared.example.com"))
	w.registry(document(entries...))
	d := open(t, w.option())
	d.becomes("app-0.example.com", http.StatusOK)

	all := d.apps("")
	assert.Equal(t, 11, all.Total)
	assert.Len(t, all.Apps, 11)
	assert.Nil(t, all.Next)

	var paged []string
	query := "limit=4"
	for pages := 1; ; pages++ {
		page := d.apps(query)
		assert.Equal(t, 11, page.Total)
		paged = append(paged, namesOf(page)...)
		if page.Next == nil {
			assert.Equal(t, 3, pages)
			break
		}
		query = fmt.Sprintf("limit=4&after=%d", *page.Next)
	}
	assert.Equal(t, namesOf(all), paged)

	for query, want := range map[string][]string{
		"reason=app_invalid":                         {"bad", "apps[1]"},
		"reason=host_conflict":                       {"absent", "other"},
		"reason=!host_conflict&limit=2":              {"bad", "apps[1]"},
		"reason=!allowed":                            {"bad", "apps[1]", "absent", "other"},
		"reason=!allowed&limit=1":                    {"bad"},
		"reason=secret_absent":                       {"absent", "other"},
		"name=app-3":                                 {"app-3"},
		"name=none":                                  {},
		"secret=" + w.namespace + "/absent":          {"absent"},
		"namespace=nowhere":                          {},
		"namespace=" + w.namespace + "&name=app-6":   {"app-6"},
		"reason=stale":                               {},
		"reason=allowed&limit=10000&after=7":         {"app-6"},
		"reason=allowed&after=9223372036854775807":   {},
		"secret=" + w.namespace + "/good&name=app-0": {"app-0"},
	} {
		assert.Equal(t, want, namesOf(d.apps(query)), query)
	}

	one := read[authzbridge.AppDetail](d, "/authz_bridge/apps/absent")
	assert.Equal(t, "secret_absent", one.Reason)
	assert.Contains(t, one.Detail, "does not exist; create it")
	require.Len(t, one.Conflicts, 1)
	assert.Equal(t, []string{"absent", "other"}, one.Conflicts[0].Apps)
	assert.Equal(t, []string{"shared.example.com"}, one.Conflicting)
	assert.Equal(t, 2, all.Conflicting)
	for _, entry := range all.Apps {
		assert.Equal(t, entry.Name == "absent" || entry.Name == "other", len(entry.Conflicting) > 0, entry.Name)
	}
	assert.Equal(t, int64(1), d.metric("authz_bridge_hostnames_conflicting"))
	assert.Nil(t, read[authzbridge.AppDetail](d, "/authz_bridge/apps/"+url.PathEscape("apps[1]")).Secret)
}

func TestTheAdminAPIRefusesWhatItDoesNotUnderstand(t *testing.T) {
	w := newTown(t)
	w.registry("version: 1\n")
	d := open(t, w.option())
	d.becomes("shop.example.com", http.StatusForbidden)
	for path, want := range map[string]string{
		"/apps?resaon=allowed":                   `400 "resaon" is no parameter; use reason, `,
		"/apps?reason=closed":                    `400 reason: "closed" is none`,
		"/apps?limit=0":                          "400 limit: ",
		"/apps?limit=10001":                      "400 limit: ",
		"/apps?limit=":                           "400 limit: ",
		"/apps?after=-1":                         "400 after: ",
		"/apps?name=a&name=b":                    "400 name: is there 2 times",
		"/apps?secret=shop":                      `400 secret: "shop" is no Secret; write <namespace>/<name>`,
		"/apps/shop":                             `404 app "shop": `,
		"/apps/shop?x=y":                         `400 "x": there are no parameters here`,
		"/explain":                               "400 host: missing",
		"/explain?host=a&path=x":                 `400 path: "x" is no path`,
		"/explain?host=a&path=":                  `400 path: "" is no path`,
		"/explain?host=a&path=http://b/":         "400 path: ",
		"/explain?host=a&client_ip=here":         `400 client_ip: "here" is no address`,
		"/explain?host=a&preflight=perhaps":      `400 preflight: "perhaps" is no choice`,
		"/explain?host=a&require_credentials=no": `400 require_credentials: "no" is no choice`,
		"/explain?host=a&no_inject=maybe":        `400 no_inject: "maybe" is no choice`,
		"/explain?host=a&hosts=b":                `400 "hosts" is no parameter`,
	} {
		status, body := d.get(d.admin, "/authz_bridge"+path)
		var said struct {
			Error string `json:"error"`
		}
		require.NoError(t, json.Unmarshal([]byte(body), &said), "%s: %s", path, body)
		assert.True(t, strings.HasPrefix(fmt.Sprintf("%d %s", status, said.Error), want), "%s: %d %s", path, status, said.Error)
	}
	response, err := d.client.Post("http://"+d.admin+"/authz_bridge/apps", "text/plain", http.NoBody)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	assert.Equal(t, http.StatusMethodNotAllowed, response.StatusCode)
}

func TestAppsAreUnavailableWhileNothingIsServed(t *testing.T) {
	w := newTown(t)
	w.registry("version: 2\n")
	d := open(t, w.option())
	d.degraded("RegistryMalformed", true)
	for _, path := range []string{"/apps", "/apps/shop"} {
		status, body := d.get(d.admin, "/authz_bridge"+path)
		assert.Equal(t, http.StatusServiceUnavailable, status)
		assert.Contains(t, body, "nothing has been read yet")
	}
	assert.Empty(t, d.bridge().Hash)
}
