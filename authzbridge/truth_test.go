package authzbridge_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/authzbridge"
	"github.com/authz-bridge/authz-bridge/authzbridge/command"
	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

// statement is what a request is answered, which the handler, explain and lint must
// agree about.
type statement struct {
	name   string
	host   string
	method string // GET if empty
	path   string // "/" if empty
	header http.Header
	reason string
}

// told is what explain says of a request.
func (s *statement) told(d *door) authzbridge.Explanation {
	d.tb.Helper()
	query := url.Values{"host": {s.host}, "client_ip": {"127.0.0.1"}}
	if s.method != "" {
		query.Set("method", s.method)
	}
	if s.path != "" {
		query.Set("path", s.path)
	}
	if s.header.Get("Access-Control-Request-Method") != "" {
		query.Set("preflight", "true")
	}
	return read[authzbridge.Explanation](d, "/authz_bridge/explain?"+query.Encode())
}

// done is what the handler does: the status, and the App and the reason in words.
func (s *statement) done(d *door, header http.Header) (status int, words string) {
	d.tb.Helper()
	method, path := s.method, s.path
	if method == "" {
		method = http.MethodGet
	}
	if path == "" {
		path = "/"
	}
	r, err := http.NewRequest(method, "http://"+d.site+path, http.NoBody)
	require.NoError(d.tb, err)
	r.Host = s.host
	maps.Copy(r.Header, header)
	response, err := d.client.Do(r)
	require.NoError(d.tb, err)
	defer response.Body.Close()
	var body bytes.Buffer
	_, err = body.ReadFrom(response.Body)
	require.NoError(d.tb, err)
	return response.StatusCode, body.String()
}

// holds asserts that explain says what the handler does.
func (s *statement) holds(d *door) {
	d.tb.Helper()
	status, words := s.done(d, s.header)
	app, reason, _ := strings.Cut(words, " ")
	assert.Equal(d.tb, s.reason, reason, "%s: the handler", s.name)
	if !isPreflight(s.header) && len(s.header) > 0 {
		// Without its credentials it is another request, which explain tells of.
		status, words = s.done(d, nil)
		app, reason, _ = strings.Cut(words, " ")
	}
	e := s.told(d)
	assert.Equal(d.tb, reason, e.Reason, s.name)
	if e.Status == 0 {
		assert.Equal(d.tb, "allow", e.Outcome, s.name)
		assert.Equal(d.tb, http.StatusOK, status, s.name)
	} else {
		assert.Equal(d.tb, status, e.Status, s.name)
	}
	assert.NotEmpty(d.tb, e.Remedy, s.name)
	assert.NotEmpty(d.tb, e.Step, s.name)
	if e.App == nil {
		assert.Empty(d.tb, app, s.name)
	} else {
		assert.Equal(d.tb, app, e.App.Name, s.name)
	}
	if s.reason == "public" {
		assert.True(d.tb, e.Public, s.name)
	}
	if reason == "credentials_missing" {
		assert.NotEmpty(d.tb, e.App.Asks.AnyOf, s.name)
		assert.False(d.tb, e.Public, s.name)
	}
}

func isPreflight(h http.Header) bool { return h.Get("Access-Control-Request-Method") != "" }

// truthful starts a door that answers with the App and the reason.
func truthful(t *testing.T, option string) *door {
	t.Helper()
	d := newDoor(t, option)
	d.answer = "{http.authz_bridge.app} {http.authz_bridge.reason}"
	d.errors = `respond "{http.authz_bridge.app} {http.authz_bridge.reason}" {err.status_code}`
	require.NoError(t, d.load())
	return d
}

// lint runs the command.
func (k *desk) lint() command.Report {
	k.tb.Helper()
	var out, errs bytes.Buffer
	code := command.Run([]string{"lint", filepath.Join(k.manifests, "registry.yaml"), "--secrets", k.manifests, "--json"}, &out, &errs)
	require.Contains(k.tb, []int{command.ExitFine, command.ExitTrouble}, code, errs.String())
	var report command.Report
	require.NoError(k.tb, json.Unmarshal(out.Bytes(), &report), out.String())
	return report
}

func TestExplainAndLintTellTheTruthOfTheHandler(t *testing.T) {
	k, u := newDesk(t), allTruths(t)
	u.write(k)
	d := truthful(t, filesOption(k.manifests))
	d.becomes("open.example.com", http.StatusOK)
	for i := range u.statements {
		u.statements[i].holds(d)
	}
	assert.GreaterOrEqual(t, len(u.statements), 40)
	u.assertAllReasons(t, d)

	t.Log("lint finds the very Apps that do not serve, for the very reasons")
	report := k.lint()
	running := d.apps("reason=!allowed&limit=1000")
	want, got := make(map[string]string), make(map[string]string)
	for _, app := range running.Apps {
		want[app.Name] = app.Reason + ": " + app.Detail
	}
	conflicts, warnings := make(map[string]int), make(map[string]string)
	for _, p := range report.Problems {
		switch p.Reason {
		case "host_conflict":
			conflicts[p.App]++
		case "source_invalid":
			assert.Contains(t, p.File, "refused.yaml")
		case "warning":
			warnings[p.App] = p.Detail
		default:
			got[p.App] = p.Reason + ": " + strings.TrimSuffix(p.Detail, "; remove the App, or set a later time")
		}
	}
	assert.Equal(t, want, got)
	assert.Equal(t, map[string]int{"first": 2, "second": 2}, conflicts)
	assert.Equal(t, running.Total, report.Apps-report.Serving)
	u.assertUpstreams(t, d, warnings)
	u.assertLines(t, k, report)
}

// assertAllReasons drives what takes more than one request, and counts.
func (u *truths) assertAllReasons(t *testing.T, d *door) {
	t.Helper()
	f := startFlood(d, "slow.example.com", "wrong", 300)
	(&statement{name: "in a flood", host: "slow.example.com", reason: "credentials_missing"}).holds(d)
	f.end()
	_, metrics := d.get(d.meter, "/metrics")
	for _, reason := range snapshot.Reasons() {
		switch reason {
		case snapshot.ReasonUnsynced, snapshot.ReasonStale, snapshot.ReasonPending:
			continue // of tests below
		}
		assert.Regexp(t, `(?m)^authz_bridge_decisions_total\{app="[^"]*",reason="`+reason.String()+`"\} [1-9]`, metrics)
	}
}

// assertUpstreams is that lint, the App and explain say of upstreams what is done.
func (u *truths) assertUpstreams(t *testing.T, d *door, warnings map[string]string) {
	t.Helper()
	wrong := map[string]string{
		"astray":         `upstreams[1]: "x:99999" has no port; write host:port, with a port from 1 to 65535`,
		"nowhere-at-all": "upstreams: [] is no list; write it as in [shop.shop.svc:8080], or leave the field out",
	}
	assert.Equal(t, wrong, warnings, "of lint")
	for name, says := range wrong {
		app := read[authzbridge.AppDetail](d, "/authz_bridge/apps/"+name)
		assert.Equal(t, says, app.UpstreamsError)
		assert.Empty(t, app.Upstreams)
		e := (&statement{host: name + ".example.com"}).told(d)
		assert.Equal(t, says, e.App.UpstreamsError)
		assert.Equal(t, e.Outcome == "allow", e.Detail == says, "where it decides what a client gets")
		assert.Equal(t, e.Outcome == "allow", strings.Contains(e.Remedy, "reverse_proxy answers 503"), e.Remedy)
	}
	app := read[authzbridge.AppDetail](d, "/authz_bridge/apps/placed")
	assert.Equal(t, []string{"placed.town.svc:8080", "[2001:db8::1]:80"}, app.Upstreams)
	assert.Empty(t, app.UpstreamsError)
	assert.Contains(t, d.command(command.ExitFine, "apps", "placed"), "upstreams   placed.town.svc:8080 [2001:db8::1]:80\n")
	for _, args := range [][]string{{"apps", "astray"}, {"explain", "astray.example.com"}} {
		out := strings.Join(strings.Fields(d.command(command.ExitFine, args...)), " ")
		assert.Contains(t, out, "upstreams none that can be used "+wrong["astray"])
	}
	st := d.bridge().Apps
	assert.Equal(t, len(wrong), st.Warned)
	assert.Len(t, st.Warnings, len(wrong))
}

// assertLines looks that each line is one of the App's own.
func (u *truths) assertLines(t *testing.T, k *desk, report command.Report) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(k.manifests, "registry.yaml"))
	require.NoError(t, err)
	lines := strings.Split(string(text), "\n")
	begins := regexpLines(lines, "    - name: ")
	for _, p := range report.Problems {
		if p.Reason == "source_invalid" {
			continue
		}
		require.Positive(t, p.Line, "%+v", p)
		begin := begins[p.Line-1]
		if strings.HasPrefix(p.App, "apps[") {
			assert.Equal(t, "    - name: Bad_Name", lines[begin])
			continue
		}
		assert.Equal(t, "    - name: "+p.App, lines[begin], "%s:%d: %s", p.File, p.Line, p.Detail)
	}
	for app, want := range map[string]string{
		"unknown-field": "unheard: of",
		"bad-host":      "- 'bad host'",
		"bad-secret":    "secretRef: {name: Bad}",
		"odd-place":     "- header: Accept",
		"odd-cidr":      "allowCIDRs: [10.0.0.1/8]",
		"late":          "expiresAt: tomorrow",
		"astray":        "- x:99999",
		"nowhere":       "secretRef: {name: nowhere}",
		"wayless":       "- basic: {key: auth}",
		"weak":          "- basic: {}",
		"expired":       "expiresAt: 2020-01-01T00:00:00Z",
	} {
		at := slices.IndexFunc(report.Problems, func(p command.Problem) bool { return p.App == app })
		require.GreaterOrEqual(t, at, 0, app)
		assert.Equal(t, want, strings.TrimSpace(lines[report.Problems[at].Line-1]), app)
	}
}

// regexpLines returns for each line the last one that begins so.
func regexpLines(lines []string, prefix string) []int {
	begins, last := make([]int, len(lines)), 0
	for i, line := range lines {
		if strings.HasPrefix(line, prefix) {
			last = i
		}
		begins[i] = last
	}
	return begins
}

func TestExplainAndLintTellOfWhatCannotBeRead(t *testing.T) {
	k := newDesk(t)
	k.write("registry", "apiVersion: v1\nkind: Secret\nmetadata: {namespace: town, name: registry}\nstringData:\n  registry.yaml: |\n    version: 1\n    apps: [\n")
	d := truthful(t, filesOption(k.manifests))
	d.degraded("RegistryMalformed", true)
	(&statement{name: "a malformed Registry", host: "open.example.com", reason: "unsynced"}).holds(d)
	e := (&statement{host: "open.example.com"}).told(d)
	assert.Contains(t, e.Detail, "malformed")
	report := k.lint()
	require.Len(t, report.Problems, 1)
	assert.Equal(t, "registry_malformed", report.Problems[0].Reason)
	assert.Equal(t, 7, report.Problems[0].Line)
	require.NoError(t, caddy.Stop())

	t.Log("a manifest that was never read may define any Secret")
	u := &truths{secrets: map[string]string{"good": stringData(someToken())}}
	u.app("name: open\nhostnames: [open.example.com]\nsecretRef: {name: good}")
	u.app("name: waits\nhostnames: [waits.example.com]\nsecretRef: {name: nowhere}")
	u.write(k)
	k.write("torn", "kind: Secret\nmetadata: [half")
	require.NoError(t, d.load())
	d.becomes("open.example.com", http.StatusOK)
	(&statement{name: "pending", host: "waits.example.com", reason: "pending"}).holds(d)
	report = k.lint()
	require.Len(t, report.Problems, 2)
	assert.Equal(t, []string{"pending", "source_invalid"}, []string{report.Problems[0].Reason, report.Problems[1].Reason})
	assert.Equal(t, filepath.Join(k.manifests, "torn.yaml"), report.Problems[1].File)
	assert.Positive(t, report.Problems[1].Line)

	t.Log("no Registry, and one without Apps")
	require.NoError(t, os.Remove(filepath.Join(k.manifests, "torn.yaml")))
	require.NoError(t, os.Remove(filepath.Join(k.manifests, "registry.yaml")))
	d.becomes("open.example.com", http.StatusForbidden)
	s := &statement{name: "no Registry", host: "open.example.com", reason: "unknown_host"}
	s.holds(d)
	assert.Contains(t, s.told(d).Detail, "does not exist")
}

func TestExplainTellsOfWhatIsStale(t *testing.T) {
	k := newDesk(t)
	k.secret("registry", "registry.yaml", document(app("open", "open.example.com")))
	k.secret("open", "token", "placeholder")
	d := truthful(t, k.option())
	d.becomes("open.example.com", http.StatusOK)
	d.writes(1)
	require.NoError(t, caddy.Stop())
	k.rewrite(func(c *mirror.Contents) { c.Validated = time.Now().Add(5*time.Second - 5*time.Minute) })
	k.write("registry", "kind: Secret\nmetadata: [half")
	d.option = k.option() + "\nmax_age 5m"
	require.NoError(t, d.load())
	d.becomes("open.example.com", http.StatusServiceUnavailable)
	s := &statement{name: "stale", host: "open.example.com", reason: "stale"}
	s.holds(d)
	assert.Contains(t, s.told(d).Detail, "max_age 5m0s")
}

func TestExplainTakesRequireCredentialsAndTheAddressIntoAccount(t *testing.T) {
	k := newDesk(t)
	u := &truths{secrets: map[string]string{"good": stringData(someToken())}}
	u.app("name: open\nhostnames: [open.example.com]\nsecretRef: {name: good}")
	u.app("name: corner\nhostnames: [corner.example.com]\nsecretRef: {name: good}\nallowCIDRs: [127.0.0.0/8, 10.0.0.0/8]")
	u.app("name: nowhere\nhostnames: [nowhere.example.com]\nsecretRef: {name: nowhere}")
	u.write(k)
	d := truthful(t, filesOption(k.manifests))
	d.becomes("open.example.com", http.StatusOK)
	explain := func(query string) authzbridge.Explanation {
		return read[authzbridge.Explanation](d, "/authz_bridge/explain?"+query)
	}
	assert.Equal(t, "allowed", explain("host=open.example.com").Reason)
	e := explain("host=open.example.com&require_credentials=true")
	assert.Equal(t, "app_invalid", e.Reason)
	assert.Contains(t, e.Detail, "require_credentials")
	e = explain("host=nowhere.example.com&require_credentials=true")
	assert.Equal(t, "app_invalid", e.Reason)
	assert.Equal(t, "the directive has require_credentials, and the App has no anyOf", e.Detail, "the Secret would change nothing")
	assert.Contains(t, e.Remedy, "write anyOf")
	assert.Equal(t, "secret_absent", explain("host=nowhere.example.com").Reason)
	e = explain("host=corner.example.com")
	assert.Equal(t, "address_denied", e.Reason, "no address is no address of the App's")
	assert.Contains(t, e.Detail, "127.0.0.0/8, 10.0.0.0/8")
	assert.Equal(t, "allowed", explain("host=corner.example.com&client_ip=10.1.2.3").Reason)
	assert.Equal(t, "allowed", explain("host=corner.example.com&client_ip=::ffff:10.1.2.3").Reason)
	assert.Equal(t, "address_denied", explain("host=corner.example.com&client_ip=192.0.2.1").Reason)

	d.inside = "require_credentials"
	require.NoError(t, d.load())
	assert.Equal(t, http.StatusServiceUnavailable, d.status("open.example.com"), "what was explained")
	before := d.metric(`authz_bridge_decisions_total{app="open",reason="allowed"}`)
	explain("host=open.example.com")
	assert.Equal(t, before, d.metric(`authz_bridge_decisions_total{app="open",reason="allowed"}`), "an explanation is no decision")
}

func TestExplainTellsWhatVerifyAnswers(t *testing.T) {
	a := opened(t)
	explain := func(host, more string) authzbridge.Explanation {
		return read[authzbridge.Explanation](a.door, "/authz_bridge/explain?client_ip=203.0.113.5&host="+host+more)
	}
	for _, name := range []string{"shop", "open", "ten", "nameless", "given", "basic", "absent", "wrong", "expired", "both", "nobody"} {
		host := name + ".example.com"
		e := explain(host, "&no_inject=true")
		status := e.Status
		if e.Outcome == "allow" {
			status = http.StatusOK
		}
		assert.Equal(t, a.about(host).status, status, host)
		if name != "given" {
			assert.Equal(t, explain(host, "").Reason, e.Reason, host)
		}
	}
	e := explain("given.example.com", "&no_inject=true")
	assert.Equal(t, "app_invalid", e.Reason)
	assert.Contains(t, e.Detail, "inject")
	assert.Contains(t, e.Remedy, "take inject from the App")
	assert.Equal(t, "credentials_missing", explain("given.example.com", "").Reason)

	assert.Contains(t, a.command(command.ExitTrouble, "explain", "given.example.com", "--no-inject"), "503 Service Unavailable")
	assert.Contains(t, a.command(command.ExitFine, "explain", "given.example.com"), "401 Unauthorized")
	wrong := explain("wrong.example.com", "&no_inject=true&require_credentials=true")
	assert.Contains(t, wrong.Detail, "unheard", "an entry that is wrong is wrong for every use")
}
