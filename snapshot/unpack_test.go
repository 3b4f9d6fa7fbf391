package snapshot_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

const yamlDocument = `version: 1
apps:
- name: shop
  hostnames: [shop.example.com, "*.shop.example.com"]
  secretRef: {namespace: shop, name: shop-clients, key: token}
  secretReady: true
  expiresAt: 2027-03-01T00:00:00Z
- name: blog
  hostnames:
  - blog.example.com
  secretRef:
    name: blog
`

const jsonDocument = `{"version": 1, "apps": [
	{"name": "shop", "hostnames": ["shop.example.com", "*.shop.example.com"],
	 "secretRef": {"namespace": "shop", "name": "shop-clients", "key": "token"},
	 "secretReady": true, "expiresAt": "2027-03-01T00:00:00Z"},
	{"name": "blog", "hostnames": ["blog.example.com"], "secretRef": {"name": "blog"}}]}`

func TestEachDataKeyHoldsTheSameDocument(t *testing.T) {
	want, err := parseText("registry.json", jsonDocument)
	require.NoError(t, err)
	require.Len(t, want.Entries(), 2)

	for dataKey, text := range map[string]string{
		"registry.yaml":    yamlDocument,
		"registry.json.gz": gzipped(t, jsonDocument),
		"registry.yaml.gz": gzipped(t, yamlDocument),
	} {
		t.Run(dataKey, func(t *testing.T) {
			got, err := parseText(dataKey, text)
			require.NoError(t, err)
			assert.Equal(t, want, got)
		})
	}
}

func TestRegistryWithoutAppsIsValid(t *testing.T) {
	packed := func(text string) string { return gzipped(t, text) }
	tests := map[string]map[string]string{
		"no data":          nil,
		"empty data":       {},
		"apps left out":    {"registry.json": `{"version": 1}`},
		"apps null":        {"registry.json": `{"version": 1, "apps": null}`},
		"apps empty":       {"registry.json": `{"version": 1, "apps": []}`},
		"yaml, left out":   {"registry.yaml": "version: 1\n"},
		"yaml, null":       {"registry.yaml": "version: 1\napps:\n"},
		"yaml, empty":      {"registry.yaml": "version: 1\napps: []\n"},
		"json.gz":          {"registry.json.gz": packed(`{"version": 1}`)},
		"yaml.gz":          {"registry.yaml.gz": packed("version: 1\n")},
		"other keys too":   {"registry.yaml": "version: 1\n", "README": "x", "Registry.json": "x"},
		"document marker":  {"registry.yaml": "---\nversion: 1\n...\n"},
		"byte order mark":  {"registry.yaml": "\ufeffversion: 1\n"},
		"comment at end":   {"registry.yaml": "version: 1\n# the end\n"},
		"JSON in YAML key": {"registry.yaml": `{"version": 1, "apps": []}`},
		"1.0 is 1 in YAML": {"registry.yaml": "version: 1.0\n"},
	}
	for about, data := range tests {
		t.Run(about, func(t *testing.T) {
			reg, err := snapshot.ParseRegistry(registrySecret(data))
			require.NoError(t, err)
			assert.True(t, reg.Present())
			assert.Empty(t, reg.Entries())
			assert.Empty(t, reg.References())

			apps := build(t, snapshot.NewObjects(start, reg, nil))
			assert.Equal(t, "unknown_host", answer(apps, "shop.example.com"))
			assert.True(t, apps.RegistryPresent())
		})
	}
}

func TestAbsentRegistryIsValidAndHasNoApps(t *testing.T) {
	reg := snapshot.AbsentRegistry(registryKey)
	assert.Equal(t, registryKey, reg.Key())
	assert.False(t, reg.Present())
	assert.Empty(t, reg.UID())
	assert.Empty(t, reg.Version())
	assert.Empty(t, reg.Entries())
	assert.Empty(t, reg.References())

	apps := build(t, snapshot.NewObjects(start, reg, nil))
	assert.False(t, apps.RegistryPresent())
	assert.Equal(t, "unknown_host", answer(apps, "shop.example.com"))
}

func TestRow14DocumentThatCannotBeUnpackedIsMalformed(t *testing.T) {
	whole := gzipped(t, jsonDocument)
	corrupt := []byte(whole)
	corrupt[len(corrupt)-5] ^= 0xff // in the checksum
	tests := []struct {
		about string
		data  map[string]string
		want  []string
	}{
		{
			"no known key",
			map[string]string{"apps.yaml": yamlDocument},
			[]string{"no known data key", "registry.yaml, registry.json, registry.yaml.gz, registry.json.gz"},
		},
		{"key in another case", map[string]string{"Registry.yaml": yamlDocument}, []string{"no known data key"}},
		{
			"YAML and JSON",
			map[string]string{"registry.yaml": yamlDocument, "registry.json": jsonDocument},
			[]string{`"registry.json" and "registry.yaml"`, "remove all but one"},
		},
		{
			"JSON packed and not",
			map[string]string{"registry.json": jsonDocument, "registry.json.gz": whole},
			[]string{`"registry.json" and "registry.json.gz"`},
		},
		{
			"known keys that are empty",
			map[string]string{"registry.yaml": "", "registry.yaml.gz": ""},
			[]string{`"registry.yaml" and "registry.yaml.gz"`},
		},
		{"gzip that is none", map[string]string{"registry.json.gz": jsonDocument}, []string{"registry.json.gz: unpacking: "}},
		{"gzip that is empty", map[string]string{"registry.yaml.gz": ""}, []string{"registry.yaml.gz: unpacking: "}},
		{"gzip cut in the header", map[string]string{"registry.json.gz": whole[:5]}, []string{"registry.json.gz: unpacking: "}},
		{"gzip cut in the middle", map[string]string{"registry.json.gz": whole[:len(whole)/2]}, []string{"registry.json.gz: unpacking: unexpected EOF"}},
		{"gzip without its last byte", map[string]string{"registry.json.gz": whole[:len(whole)-1]}, []string{"registry.json.gz: unpacking: unexpected EOF"}},
		{"gzip with another checksum", map[string]string{"registry.json.gz": string(corrupt)}, []string{"registry.json.gz: unpacking: "}},
		{"bytes after the gzip", map[string]string{"registry.json.gz": whole + "tail"}, []string{"registry.json.gz: unpacking: "}},
		{"JSON under a YAML key cut short", map[string]string{"registry.yaml": jsonDocument[:40]}, []string{"registry.yaml: yaml: "}},
	}
	for _, tt := range tests {
		t.Run(tt.about, func(t *testing.T) {
			reg, err := snapshot.ParseRegistry(registrySecret(tt.data))
			requireMalformed(t, reg, err, tt.want...)
		})
	}
}

func TestDocumentOverTheBoundIsMalformed(t *testing.T) {
	const text = `{"version": 1}`
	padding := gzippedSpaces(t, snapshot.MaxDocument-len(text))
	require.Less(t, len(padding), 1<<20, "fits into a Secret")

	_, err := parseText("registry.json.gz", gzipped(t, text)+padding)
	require.NoError(t, err, "at the bound")
	reg, err := parseText("registry.json.gz", gzipped(t, text+" ")+padding)
	requireMalformed(t, reg, err, "registry.json.gz: larger than 64 MiB after unpacking; split the Registry")
	reg, err = parseText("registry.yaml", strings.Repeat(" ", snapshot.MaxDocument+1))
	requireMalformed(t, reg, err, "registry.yaml: larger than 64 MiB")
}

// gzippedSpaces packs n spaces as members of 1 MiB, which makes it quick.
func gzippedSpaces(t *testing.T, n int) string {
	t.Helper()
	member := gzipped(t, strings.Repeat(" ", 1<<20))
	return strings.Repeat(member, n>>20) + gzipped(t, strings.Repeat(" ", n&(1<<20-1)))
}

func TestYAMLThatIsNoOneDocumentIsMalformed(t *testing.T) {
	tests := []struct{ about, text, want string }{
		{"second document", "version: 1\n---\nversion: 1\n", "more than one document; remove every --- but the first"},
		{"second document, empty", "version: 1\n---\n", "more than one document"},
		{"second document, broken", "version: 1\n---\n[", "more than one document"},
		{"NUL", "version: 1\n\x00", "control characters are not allowed"},
		{"broken UTF-8", "version: 1\n# \xff", "yaml: "},
		{"tab for indentation", "version: 1\napps:\n\t- name: shop\n", "yaml: line"},
		{"unclosed list", "version: 1\napps: [", "yaml: line"},
		{"unquoted wildcard", "version: 1\napps:\n- name: shop\n  hostnames: [*.example.com]\n", "yaml: line 4"},
		{"alias of nothing", "version: 1\napps: *nothing\n", "this is no valid YAML"},
		{"alias of itself", "version: 1\napps: &a [*a]\n", "line 2: aliases are not read; write the value out"},
		{"infinity", "version: 1\napps: .inf\n", "this is no valid YAML"},
		{"mapping as a key", "version: 1\n? {a: b}\n: c\n", "this is no valid YAML"},
		{"merge key", "version: 1\n<<: {apps: []}\n", "line 2: merge keys are not read"},
		{"binary", "version: 1\napps: !!binary aGVsbG8=\n", "line 2: !!binary is not read"},
		{"deep nesting", "version: 1\napps: " + strings.Repeat("[", 20_000), "exceeded max depth"},
		{"deep nesting by indentation", deepIndent(20_000), "exceeded max depth"},
	}
	for _, tt := range tests {
		t.Run(tt.about, func(t *testing.T) {
			for dataKey, text := range map[string]string{"registry.yaml": tt.text, "registry.yaml.gz": gzipped(t, tt.text)} {
				reg, err := parseText(dataKey, text)
				requireMalformed(t, reg, err, dataKey+": ", tt.want)
			}
		})
	}
}

func deepIndent(depth int) string {
	return "a:\n" + strings.Repeat("- ", depth) + "b\n"
}

func TestYAMLErrorsQuoteNothingOfTheDocument(t *testing.T) {
	const canary = "c4n4ry"
	for _, text := range []string{
		"token: *" + canary, "? {a: " + canary + "}\n: x\n", "a: !!float " + canary, "a: !!timestamp " + canary,
		canary + ": 1\n" + canary + ": 2\n", "%" + canary + "\n---\na: b\n",
	} {
		_, err := snapshot.YAMLToJSON([]byte(text))
		require.Error(t, err, text)
		assert.NotContains(t, err.Error(), canary, text)
	}
}

func TestDocumentsOfTooManyValuesAreRefusedUnread(t *testing.T) {
	for about, c := range map[string]struct{ dataKey, before, item, after string }{
		"mappings":             {"registry.json.gz", `{"version": 1, "apps": [`, "{},", `{}]}`},
		"null":                 {"registry.json.gz", `{"version": 1, "apps": [`, "null,", `null]}`},
		"quoted brackets":      {"registry.json.gz", `{"version": 1, "apps": [`, `"\"[",`, `""]}`},
		"a list in a line":     {"registry.yaml.gz", "version: 1\napps: [", "a,", "a]\n"},
		"lines":                {"registry.yaml.gz", "version: 1\napps:\n", "-\n", ""},
		"carriage returns":     {"registry.yaml.gz", "version: 1\rapps:\r", "-\r", ""},
		"next lines":           {"registry.yaml.gz", "version: 1\napps:\n", "-\u0085", ""},
		"line separators":      {"registry.yaml.gz", "version: 1\napps:\n", "-\u2028", ""},
		"paragraph separators": {"registry.yaml.gz", "version: 1\napps:\n", "-\u2029", ""},
	} {
		t.Run(about, func(t *testing.T) {
			packed := gzipped(t, c.before+strings.Repeat(c.item, 5<<19)+c.after)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			reg, err := parseText(c.dataKey, packed)
			runtime.ReadMemStats(&after)

			requireMalformed(t, reg, err, c.dataKey+": ", "values")
			assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(128<<20))
		})
	}
}

func TestYAMLAliasBombIsRefusedBeforeItExpands(t *testing.T) {
	billion := "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
	for i := range 9 {
		prev, next := string(rune('0'+i)), string(rune('1'+i))
		billion += "a" + next + ": &a" + next + " [" + strings.Repeat("*a"+prev+", ", 9) + "x]\n"
	}
	tests := []struct{ about, text, want string }{
		{"lists of lists", billion, "aliases are not read"},
		{"one long string many times", "x: &x " + strings.Repeat("x", 500_000) + "\ny: [" + strings.Repeat("*x,", 100_000) + "]\n", "aliases are not read"},
		{"one long key many times", "x: &x {" + strings.Repeat("x", 1000) + ": 1}\ny: [" + strings.Repeat("*x,", 100_000) + "]\n", "aliases are not read"},
	}
	for _, tt := range tests {
		t.Run(tt.about, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			reg, err := parseText("registry.yaml", tt.text)
			runtime.ReadMemStats(&after)

			requireMalformed(t, reg, err, "registry.yaml: ", tt.want)
			assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20), "bytes allocated")
		})
	}
}
