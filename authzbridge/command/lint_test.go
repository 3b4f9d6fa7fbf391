package command_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/authzbridge/command"
)

// run returns the exit code, and what is printed.
func run(args ...string) (code int, out, errs string) {
	var stdout, stderr bytes.Buffer
	code = command.Run(args, &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func packed(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.String()
}

func lint(t *testing.T, args ...string) command.Report {
	t.Helper()
	code, out, errs := run(append([]string{"lint", "--json"}, args...)...)
	require.Contains(t, []int{command.ExitFine, command.ExitTrouble}, code, errs)
	var report command.Report
	require.NoError(t, json.Unmarshal([]byte(out), &report), out)
	return report
}

const wrongYAML = `version: 1
apps:
# One that is right.
- name: good
  hostnames: [good.example.com]
  secretRef: {name: good}
- name: wrong
  hostnames:
  - wrong.example.com
  - "bad host"
  secretRef: {name: wrong}
`

const wrongJSON = `{
	"version": 1,
	"apps": [
		{"name": "good", "hostnames": ["good.example.com"], "secretRef": {"name": "good"}},
		{
			"name": "wrong\/",
			"hostnames": ["wrong.example.com"],
			"secretRef": {"name": "wrong"}
		}
	]
}`

func indented(text, by string) string {
	return by + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n"+by)
}

func TestLintFindsTheLineInEveryFormOfARegistry(t *testing.T) {
	const head = "apiVersion: v1\nkind: Secret\nmetadata: {namespace: edge, name: apps}\n"
	inBase64 := base64.StdEncoding.EncodeToString([]byte(wrongYAML))
	quoted, err := json.Marshal(wrongYAML)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		file, text string
		line       int
		inside     string
		registry   string
	}{
		"a document in YAML":           {"registry.yaml", wrongYAML, 10, "", "authz-bridge/registry"},
		"another extension":            {"r.yml", wrongYAML, 10, "", "authz-bridge/registry"},
		"a document in JSON":           {"registry.json", wrongJSON, 6, "", "authz-bridge/registry"},
		"packed YAML":                  {"registry.yaml.gz", packed(t, wrongYAML), 0, "registry.yaml:10", "authz-bridge/registry"},
		"packed JSON":                  {"registry.json.gz", packed(t, wrongJSON), 0, "registry.json:6", "authz-bridge/registry"},
		"a manifest with a block":      {"s.yaml", head + "stringData:\n  registry.yaml: |\n" + indented(wrongYAML, "    "), 15, "", "edge/apps"},
		"behind other documents":       {"s.yaml", "# comment\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: edge}\n---\n" + head + "stringData:\n  registry.yaml: |\n" + indented(wrongYAML, "    "), 21, "", "edge/apps"},
		"a manifest with JSON":         {"s.yaml", head + "stringData:\n  registry.json: |\n" + strings.ReplaceAll(indented(wrongJSON, "    "), "\t", "  "), 11, "", "edge/apps"},
		"a manifest in quotes":         {"s.yaml", head + "stringData:\n  registry.yaml: " + string(quoted), 5, "registry.yaml:10", "edge/apps"},
		"a manifest in base64":         {"s.yaml", head + "data:\n  registry.yaml: " + inBase64, 5, "registry.yaml:10", "edge/apps"},
		"a manifest with a packed one": {"s.yaml", head + "data:\n  registry.yaml.gz: " + base64.StdEncoding.EncodeToString([]byte(packed(t, wrongYAML))), 5, "registry.yaml:10", "edge/apps"},
		"a manifest in JSON": {
			"s.json", "{\"apiVersion\": \"v1\", \"kind\": \"Secret\",\n\"metadata\": {\"namespace\": \"edge\", \"name\": \"apps\"},\n\"stringData\": {\n\"registry.yaml\": " + string(quoted) + "}}",
			4, "registry.yaml:10", "edge/apps",
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := write(t, c.file, c.text)
			report := lint(t, path)
			require.Len(t, report.Problems, 1)
			p := report.Problems[0]
			assert.Equal(t, c.registry, report.Registry)
			assert.Equal(t, path, p.File)
			assert.Equal(t, c.line, p.Line)
			assert.Equal(t, c.inside, p.Inside)
			assert.Equal(t, "app_invalid", p.Reason)
			assert.Equal(t, 2, report.Apps)
			assert.Equal(t, 1, report.Serving)
			assert.False(t, report.SecretsRead)
		})
	}
}

func TestLintSaysWhereADocumentIsMalformed(t *testing.T) {
	for name, c := range map[string]struct {
		file, text string
		line       int
		detail     string
	}{
		"no YAML":                    {"r.yaml", "version: 1\napps:\n- name: [\n", 3, "did not find expected node content"},
		"an alias":                   {"r.yaml", "version: 1\napps:\n- &a {name: b}\n- *a\n", 4, "aliases are not read"},
		"a field twice":              {"r.yaml", "version: 1\napps:\n- name: a\n  name: b\n", 4, "a key is there twice"},
		"two documents":              {"r.yaml", "version: 1\n---\nversion: 1\n", 1, "more than one document"},
		"another version":            {"r.yaml", "# ours\nversion: 2\n", 2, "version: 2 is not known here"},
		"no version":                 {"r.yaml", "apps: []\n", 1, "version: missing"},
		"hostnames that are no list": {"r.yaml", "version: 1\napps:\n- name: a\n  hostnames: b\n", 4, "apps[0]: hostnames: found string; write a list"},
		"a field of nobody":          {"r.yaml", "version: 1\nappps: []\n", 2, `unknown field "appps"`},
		"no JSON":                    {"r.json", "{\n\"version\": 1,,\n}", 2, "invalid character"},
		"a field twice in JSON":      {"r.json", "{\"version\": 1,\n\"apps\": [{\n\"name\": \"a\",\n\"name\": \"b\"}]}", 4, `duplicate field "name"`},
		"JSON that is cut":           {"r.json", "{\n\"version\": 1,\n\"apps\": [", 3, "unexpected end of JSON input"},
		"what is not packed":         {"r.yaml.gz", "version: 1", 0, "unpacking"},
		"nothing":                    {"r.json", "", 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := write(t, c.file, c.text)
			report := lint(t, path)
			require.Len(t, report.Problems, 1)
			p := report.Problems[0]
			assert.Equal(t, "registry_malformed", p.Reason)
			assert.Contains(t, p.Detail, c.detail)
			if c.line > 0 {
				assert.Equal(t, c.line, p.Line)
			}
			code, out, _ := run("lint", path)
			assert.Equal(t, command.ExitTrouble, code)
			assert.Contains(t, strings.Join(strings.Fields(out), " "), "keeps the last good one")
		})
	}
}

func TestLintTellsWarningsFromProblems(t *testing.T) {
	path := write(t, "r.yaml", `version: 1
apps:
- name: late
  hostnames: [late.example.com, LATE.example.com]
  secretRef: {name: x}
  expiresAt: 2020-01-01T00:00:00Z
`)
	code, out, _ := run("lint", path)
	assert.Equal(t, command.ExitFine, code)
	assert.Equal(t, path+":4: warning: late\n", firstLine(out))
	report := lint(t, path)
	require.Len(t, report.Problems, 2)
	assert.Equal(t, "app_expired", report.Problems[1].Reason)
	assert.Equal(t, 6, report.Problems[1].Line)
	assert.Zero(t, report.Serving)
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line + "\n"
}

func TestLintLooksAtTheSecrets(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	put("a.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {namespace: edge, name: weak}\nstringData: {auth: 'alice:c4n4ry'}\n"+
		"---\napiVersion: v1\nkind: Secret\nmetadata: {namespace: shop, name: good}\nstringData: {token: c4n4ry}\n")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "shop", "tree"), 0o700))
	put("shop/tree/token", "")
	path := write(t, "registry.yaml", `version: 1
apps:
- name: weak
  hostnames: [weak.example.com]
  secretRef: {name: weak, key: auth}
  anyOf:
  - apiKey: {from: [{header: X-API-Key}], key: other}
  - basic: {}
- name: good
  hostnames: [good.example.com]
  secretRef: {namespace: shop, name: good}
- name: tree
  hostnames: [tree.example.com]
  secretRef: {namespace: shop, name: tree, key: token}
- name: absent
  hostnames: [absent.example.com]
  secretRef: {namespace: shop, name: absent}
`)
	report := lint(t, path, "--secrets", dir, "--registry", "edge/registry")
	assert.Equal(t, "edge/registry", report.Registry)
	assert.True(t, report.SecretsRead)
	assert.Equal(t, 1, report.Serving)
	var got []string
	for _, p := range report.Problems {
		got = append(got, strings.Join([]string{p.App, p.Reason, strings.TrimPrefix(p.Secret, dir)}, " "))
	}
	assert.Equal(t, []string{"weak secret_key_absent /a.yaml:1", "tree secret_invalid /shop/tree", "absent secret_absent "}, got)
	assert.Equal(t, []int{7, 14, 17}, []int{report.Problems[0].Line, report.Problems[1].Line, report.Problems[2].Line})

	put("a.yaml", "kind: [")
	_, out, _ := run("lint", path, "--secrets", dir, "--registry", "edge/registry")
	assert.Contains(t, out, filepath.Join(dir, "a.yaml")+":1: error: source_invalid")
	assert.Contains(t, strings.Join(strings.Fields(out), " "), "error: good: pending")
	assert.NotContains(t, out, "c4n4ry")
}

func TestLintHasNoAnswerWithoutARegistry(t *testing.T) {
	const head = "apiVersion: v1\nkind: Secret\nmetadata: {namespace: edge, name: "
	for name, c := range map[string]struct{ file, text, says string }{
		"another extension":       {"registry.txt", "version: 1", "is neither YAML nor JSON by its name"},
		"another Secret":          {"s.yaml", head + "one}\nstringData: {token: c4n4ry}", "defines no Secret with one of registry.yaml"},
		"two":                     {"s.yaml", head + "one}\nstringData: {registry.yaml: a}\n---\n" + head + "two}\nstringData: {registry.yaml: a}", "say which with --registry"},
		"a manifest that is torn": {"s.yaml", "kind: Secret\nmetadata: [c4n4ry", "s.yaml:1: "},
		"a Secret that is wrong":  {"s.yaml", head + "one}\ndata: {registry.yaml: '%c4n4ry'}", "is no base64"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errs := run("lint", write(t, c.file, c.text))
			assert.Equal(t, command.ExitNoAnswer, code)
			assert.Empty(t, out)
			assert.Contains(t, strings.Join(strings.Fields(errs), " "), c.says)
			assert.NotContains(t, errs, "c4n4ry")
		})
	}
	two := write(t, "s.yaml", head+"one}\nstringData: {registry.yaml: 'version: 1'}\n---\n"+head+"two}\nstringData: {registry.yaml: 'version: 2'}")
	assert.Empty(t, lint(t, two, "--registry", "edge/one").Problems)
	assert.Len(t, lint(t, two, "--registry", "edge/two").Problems, 1)
	code, _, errs := run("lint", two, "--registry", "edge/z")
	assert.Equal(t, command.ExitNoAnswer, code)
	assert.Contains(t, errs, "edge/z")
}
