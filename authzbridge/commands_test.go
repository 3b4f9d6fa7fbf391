package authzbridge_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/authzbridge"
	"github.com/authz-bridge/authz-bridge/authzbridge/command"
)

// command runs one that asks, prints for people, and looks at what is printed.
func (d *door) command(code int, args ...string) string {
	d.tb.Helper()
	out := d.run(code, args...)
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		if words := strings.Fields(line); len(words) > 2 { // a label and a long word cannot be broken
			assert.LessOrEqual(d.tb, utf8.RuneCountInString(line), 80, line)
		}
		assert.Equal(d.tb, strings.TrimRight(line, " "), line)
		for _, r := range line {
			assert.True(d.tb, unicode.IsPrint(r), "%q", line)
		}
	}
	return out
}

func (d *door) run(code int, args ...string) string {
	d.tb.Helper()
	var out, errs bytes.Buffer
	got := command.Run(append(args, "--address", d.admin), &out, &errs)
	assert.Equal(d.tb, code, got, "%v: %s", args, errs.String())
	assert.Empty(d.tb, errs.String())
	return out.String()
}

func runJSON[T any](d *door, code int, args ...string) T {
	d.tb.Helper()
	var got T
	require.NoError(d.tb, json.Unmarshal([]byte(d.run(code, append(args, "--json")...)), &got))
	return got
}

func TestCommandsPrintWhatTheAdminAPIAnswers(t *testing.T) {
	w := newTown(t)
	w.secret("shop", someToken())
	w.registry(document(app("shop", "shop.example.com")))
	d := open(t, w.option())
	d.becomes("shop.example.com", http.StatusOK)

	out := d.command(command.ExitFine, "status")
	assert.Contains(t, out, "\nhash        "+d.bridge().Hash+"\n")
	assert.Contains(t, out, "live, ready")
	assert.Contains(t, out, "1 of 1 serve, with 1 hostname, 0 in conflict")
	assert.Equal(t, d.bridge().Hash, runJSON[authzbridge.Status](d, command.ExitFine, "status").Hash)

	out = d.command(command.ExitFine, "apps")
	assert.Contains(t, out, "shop  allowed  shop.example.com  "+w.namespace+"/shop")
	assert.Equal(t, d.apps(""), runJSON[authzbridge.AppList](d, command.ExitFine, "apps"))
	assert.Contains(t, d.command(command.ExitFine, "apps", "shop"), "open by its hostname alone")
	assert.Contains(t, d.command(command.ExitFine, "explain", "shop.example.com"), "goes on to the next handler")
	assert.Contains(t, d.command(command.ExitTrouble, "explain", "nobody.example.com"), "403 Forbidden")

	w.DeleteSecret(t, w.namespace, "shop")
	d.becomes("shop.example.com", http.StatusServiceUnavailable)
	d.command(command.ExitFine, "status")
	d.command(command.ExitTrouble, "apps")
	d.command(command.ExitTrouble, "apps", "shop")
	assert.Contains(t, d.command(command.ExitTrouble, "explain", "shop.example.com"), "does not exist; create it")
	assert.Equal(t, "secret_absent", runJSON[authzbridge.Explanation](d, command.ExitTrouble, "explain", "shop.example.com").Reason)

	w.registry("version: 1\napps: [")
	message := d.degraded("RegistryMalformed", true)
	out = d.command(command.ExitTrouble, "status")
	assert.Contains(t, strings.Join(strings.Fields(out), " "), strings.Join(strings.Fields(message), " "))
	assert.Equal(t, 1, strings.Count(strings.Join(strings.Fields(out), " "), "is malformed"), "it is said once")
}

func TestCommandsFitATerminalWhateverTheyPrint(t *testing.T) {
	long := strings.Repeat("n", 63)
	domain := strings.Repeat("h", 60) + "." + strings.Repeat("i", 60) + "." + strings.Repeat("j", 60) + ".example.com"
	w := newTown(t)
	name := strings.Repeat("s", 60) + "." + strings.Repeat("t", 60) + "." + strings.Repeat("u", 60)
	w.secret(name, map[string]string{"auth": passwordLine(t, "alice", "pw"), "keys": "alice the-key\nbad b4d-key more", "up": "x"})
	w.registry(document(
		"name: "+long+"\nhostnames: ["+domain+", a."+domain[10:]+", '*."+domain[2:]+"']\nsecretRef: {name: "+name+", key: keys}\n"+
			"anyOf:\n- apiKey: {from: [{header: X-API-Key}, {header: Authorization, scheme: Bearer}, {cookie: "+long+"}], format: lines}\n"+
			"- basic: {key: auth, realm: "+strings.Repeat("r", 60)+"}\n"+
			"public: [{path: /"+strings.Repeat("p", 200)+"}]\nallowCIDRs: [10.0.0.0/8, 192.168.0.0/16, 172.16.0.0/12, '2001:db8::/32', 'fd00::/8', 100.64.0.0/10]",
		"name: \"a\\e[31mb\\r\"\nhostnames: [odd.example.com]\nsecretRef: {name: x}",
		"name: "+long[1:]+"\nhostnames: ["+domain[1:]+"]\nsecretRef: {name: "+name+"x, key: keys}",
		"name: twin\nhostnames: [twin.example.com]\nsecretRef: {name: x}",
		"name: other-twin\nhostnames: [twin.example.com]\nsecretRef: {name: x}",
	))
	d := open(t, w.option())
	d.becomes("odd.example.com", http.StatusServiceUnavailable)
	for _, args := range [][]string{
		{"status"},
		{"apps"},
		{"apps", long[1:]},
		{"apps", "apps[1]"},
		{"explain", "odd.example.com"},
		{"explain", "twin.example.com"},
		{"explain", domain, "--client-ip", "2001:db9::1"},
		{"explain", "a\x1b[2Jb"},
		{"apps", "--limit", "2"},
		{"apps", "--limit", "0"},
		{"apps", "--reason", "!allowed", "--namespace", w.namespace},
	} {
		code := command.ExitTrouble
		if args[0] == "status" {
			code = command.ExitFine
		}
		d.command(code, args...)
	}
	out := d.command(command.ExitFine, "explain", domain, "--client-ip", "10.1.2.3", "--path", "/x")
	assert.Contains(t, out, "401 Unauthorized")
	assert.Contains(t, d.command(command.ExitTrouble, "apps", "--limit", "2"), "2 are shown; --limit 0 shows all")
	assert.Len(t, runJSON[authzbridge.AppList](d, command.ExitTrouble, "apps", "--limit", "2").Apps, 2)
	assert.Contains(t, d.command(command.ExitFine, "apps", long), "warning")
}

func TestAppsMarksHostnamesInConflictOfAppsThatServe(t *testing.T) {
	k := newDesk(t)
	k.secret("open", "token", "placeholder")
	k.secret("registry", "registry.yaml", document(
		app("open", "open.example.com"),
		"name: twin\nhostnames: [twin.example.com, '*.twin.example.com']\nsecretRef: {name: open}",
		"name: other-twin\nhostnames: [twin.example.com, '*.twin.example.com']\nsecretRef: {name: open}",
	))
	d := open(t, filesOption(k.manifests))
	d.becomes("open.example.com", http.StatusOK)
	assert.Equal(t, http.StatusServiceUnavailable, d.status("twin.example.com"))
	assert.Equal(t, int64(2), d.metric("authz_bridge_hostnames_conflicting"))
	assert.Equal(t, int64(3), d.metric(`authz_bridge_apps{reason="allowed"}`))

	out := d.command(command.ExitTrouble, "apps")
	assert.Equal(t, 2, strings.Count(out, "host_conflict: twin.example.com +1 claimed by other Apps as well"), out)
	assert.Contains(t, strings.Join(strings.Fields(out), " "), "3 of 3 Apps serve, 2 with a hostname in conflict;")
	assert.NotContains(t, d.command(command.ExitTrouble, "apps", "--reason", "host_conflict"), "open.example.com")
	assert.Contains(t, d.command(command.ExitTrouble, "apps", "twin"), "conflict    *.twin.example.com: claimed by twin, other-twin; remove it from all")
	d.command(command.ExitFine, "apps", "open")
	d.command(command.ExitFine, "apps", "--reason", "!host_conflict")

	k.secret("registry", "registry.yaml", document(
		app("open", "open.example.com"),
		"name: twin\nhostnames: [twin.example.com, '*.twin.example.com']\nsecretRef: {name: open}",
	))
	d.becomes("twin.example.com", http.StatusOK)
	d.command(command.ExitFine, "apps")
	assert.Equal(t, int64(0), d.metric("authz_bridge_hostnames_conflicting"))
}
