package command_test

import (
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/authzbridge/command"
)

// assertFits passes over lines of one word, such as a path.
func assertFits(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if len(strings.Fields(line)) < 2 {
			continue
		}
		assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), 80, line)
	}
}

func TestHelpFitsATerminalAndSaysWhatACommandExitsWith(t *testing.T) {
	code, out, _ := run("--help")
	assert.Equal(t, command.ExitFine, code)
	assertFits(t, out)
	_, plain, _ := run()
	assert.Equal(t, out, plain)
	for _, name := range []string{"status", "apps", "explain", "lint", "rbac"} {
		assert.Contains(t, out, "\n  "+name+" ")
		code, out, _ := run(name, "--help")
		assert.Equal(t, command.ExitFine, code)
		assert.Contains(t, out, "Exit codes:")
		assert.Contains(t, out, "--json")
		assertFits(t, out)
	}
}

func TestThereIsNoAnswerToWrongArguments(t *testing.T) {
	registry := write(t, "registry.yaml", "version: 1\n")
	for _, args := range [][]string{
		{"nothing"},
		{"status", "more"},
		{"apps", "a", "b"},
		{"apps", "a", "--reason", "stale"},
		{"apps", "--limit", "-1"},
		{"apps", "--limit", "x"},
		{"explain"},
		{"explain", "a", "--unheard"},
		{"lint"},
		{"lint", registry + ".not"},
		{"lint", registry, "--registry", "nameless"},
		{"lint", registry, "--secrets", registry + ".not"},
		{"rbac"},
		{"rbac", registry, "--service-account", "nameless"},
		{"rbac", registry, "--name", "Bad_Name"},
		{"rbac", write(t, "registry.yaml", "version: 2\n")},
		{"status", "--config", registry + ".not"},
	} {
		code, out, errs := run(args...)
		assert.Equal(t, command.ExitNoAnswer, code, args)
		assert.Empty(t, out, args)
		assert.True(t, strings.HasPrefix(errs, "Error: "), "%v: %s", args, errs)
		assertFits(t, errs)
	}
}

func TestThereIsNoAnswerWithoutACaddy(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	require.NoError(t, l.Close())
	for _, args := range [][]string{{"status"}, {"apps"}, {"apps", "shop"}, {"explain", "shop.example.com"}} {
		code, out, errs := run(append(args, "--address", address)...)
		assert.Equal(t, command.ExitNoAnswer, code)
		assert.Empty(t, out)
		assert.Contains(t, strings.Join(strings.Fields(errs), " "), "no Caddy answers at "+address)
		assertFits(t, errs)
	}
}

func TestRolesArePrintedForEachNamespace(t *testing.T) {
	path := write(t, "registry.yaml", `version: 1
apps:
- {name: a, hostnames: [a.example.com], secretRef: {namespace: shop, name: b}}
- {name: b, hostnames: [b.example.com], secretRef: {namespace: shop, name: a, key: k}}
- {name: c, hostnames: [c.example.com], secretRef: {namespace: shop, name: a}}
- {name: d, hostnames: [d.example.com], secretRef: {name: mine}}
- {name: e, hostnames: [e.example.com], secretRef: {name: mine}, unheard: of}
`)
	code, out, errs := run("rbac", path, "--registry", "edge/apps", "--service-account", "caddy/front", "--name", "readers", "--json")
	assert.Equal(t, command.ExitTrouble, code, "one App gets no rights")
	assert.Contains(t, strings.Join(strings.Fields(errs), " "), `no rights for 1 App whose entry is wrong`)
	assert.Contains(t, errs, `unknown field "unheard"`)
	assertFits(t, errs)
	assert.JSONEq(t, `{"apiVersion": "v1", "kind": "List", "items": [
		{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"namespace": "edge", "name": "readers", "labels": {"app.kubernetes.io/name": "authz-bridge"}},
			"rules": [{"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["apps", "mine"], "verbs": ["list", "watch"]}]},
		{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"namespace": "edge", "name": "readers", "labels": {"app.kubernetes.io/name": "authz-bridge"}},
			"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "readers"},
			"subjects": [{"kind": "ServiceAccount", "namespace": "caddy", "name": "front"}]},
		{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"namespace": "shop", "name": "readers", "labels": {"app.kubernetes.io/name": "authz-bridge"}},
			"rules": [{"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["a", "b"], "verbs": ["list", "watch"]}]},
		{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"namespace": "shop", "name": "readers", "labels": {"app.kubernetes.io/name": "authz-bridge"}},
			"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "readers"},
			"subjects": [{"kind": "ServiceAccount", "namespace": "caddy", "name": "front"}]}
	]}`, out)
}

func TestRolesForMoreSecretsThanAreWatchedComeWithAWarning(t *testing.T) {
	type app map[string]any
	var apps []app
	for i := range 1001 {
		name := fmt.Sprintf("app-%d", i)
		apps = append(apps, app{"name": name, "hostnames": []string{name + ".example.com"}, "secretRef": app{"name": name}})
	}
	text, err := json.Marshal(map[string]any{"version": 1, "apps": apps})
	require.NoError(t, err)
	code, out, errs := run("rbac", write(t, "registry.json", string(text)))
	assert.Equal(t, command.ExitTrouble, code)
	assert.Contains(t, strings.Join(strings.Fields(errs), " "), "1001 Secrets; the scope referenced watches 1000")
	assert.Contains(t, errs, "the Registry is taken for authz-bridge/registry")
	assert.NotEmpty(t, out)
}
