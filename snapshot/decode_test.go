package snapshot_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

// requireMalformed asks for an error that names the Secret, its version and
// each of the words.
func requireMalformed(t *testing.T, reg *snapshot.Registry, err error, words ...string) {
	t.Helper()
	require.Error(t, err)
	require.Nil(t, reg)
	var malformed *snapshot.MalformedError
	require.ErrorAs(t, err, &malformed)
	require.Equal(t, registryKey, malformed.Registry)
	require.Equal(t, "7", malformed.Version)
	require.ErrorIs(t, err, malformed.Err)
	require.True(t, strings.HasPrefix(err.Error(), "registry edge/registry (version 7) is malformed: "), err.Error())
	for _, w := range words {
		require.Contains(t, err.Error(), w)
	}
	requireReadable(t, err)
}

// requireReadable asks for one line that fits on a screen.
func requireReadable(t *testing.T, err error) {
	t.Helper()
	require.True(t, utf8.ValidString(err.Error()))
	require.NotContains(t, err.Error(), "\n")
	require.NotContains(t, err.Error(), "Go ")
	require.Less(t, len(err.Error()), 1200)
}

func TestDocumentThatCannotBeReadIsMalformed(t *testing.T) {
	tests := []struct{ about, text, want string }{
		{"empty", "", "unexpected end of JSON input"},
		{"null", "null", "version: missing"},
		{"empty mapping", "{}", `version: missing; write "version: 1"`},
		{"list", "[]", "found array; write a mapping"},
		{"string", `"version: 1"`, "found string; write a mapping"},
		{"cut short", jsonDocument[:60], "unexpected end of JSON input"},
		{"comma too many", `{"version": 1,}`, "at byte 15"},
		{"single quotes", `{'version': 1}`, "invalid character"},
		{"trailing letter", `{"version": 1} x`, "after top-level value"},
		{"trailing document", `{"version": 1}{"version": 1}`, "after top-level value"},
		{"trailing NUL", "{\"version\": 1}\x00", "after top-level value"},
		{"byte order mark", "\ufeff{\"version\": 1}", "invalid character"},
		{"nested too deeply", `{"version": 1, "apps": ` + strings.Repeat("[", 20_000), "exceeded max depth"},

		{"version left out", `{"apps": []}`, "version: missing"},
		{"version null", `{"version": null}`, "version: missing"},
		{"version as a string", `{"version": "1"}`, "version: found string; write a whole number"},
		{"version 1.0", `{"version": 1.0}`, "version: found number 1.0; write a whole number"},
		{"version 1e0", `{"version": 1e0}`, "version: found number 1e0"},
		{"version true", `{"version": true}`, "version: found bool"},
		{"version too long", `{"version": 1` + strings.Repeat("0", 5000) + `}`, "version: found number 1000"},
		{"version 0", `{"version": 0}`, "version: 0 is not known here; this release reads version 1"},
		{"version 2", `{"version": 2, "apps": []}`, "version: 2 is not known"},
		{"version 2 of another structure", `{"version": 2, "apps": {"shop": ["a"]}, "defaults": 1}`, "version: 2 is not known"},
		{"version 2 of other entries", `{"version": 2, "apps": [{"name": 5, "hosts": "x"}]}`, "version: 2 is not known"},
		{"version in another case", `{"Version": 1}`, "version: missing"},

		{"unknown field", `{"version": 1, "aps": []}`, `unknown field "aps"`},
		{"five unknown fields", `{"version": 1, "a": 1, "b": 1, "c": 1, "d": 1, "e": 1}`, `unknown field "a", unknown field "b", unknown field "c", and 2 more`},
		{"version twice", `{"version": 1, "version": 1}`, `duplicate field "version"`},
		{"version twice, first another", `{"version": 2, "version": 1}`, `duplicate field "version"`},
		{"apps twice", `{"version": 1, "apps": [], "apps": []}`, `duplicate field "apps"`},
		{"apps twice and a wrong entry", `{"version": 1, "apps": [{"name": 5, "hostnames": []}], "apps": []}`, `duplicate field "apps"`},
		{"apps twice, once escaped", `{"version": 1, "apps": [], "app\u0073": []}`, `duplicate field "apps"`},

		{"apps no list", `{"version": 1, "apps": {}}`, "apps: found object; write a list"},
		{"entry no mapping", `{"version": 1, "apps": ["shop"]}`, "apps[0]: found string; write a mapping"},
		{"entry a list", `{"version": 1, "apps": [null, []]}`, "apps[1]: found array; write a mapping"},
	}
	for _, tt := range tests {
		t.Run(tt.about, func(t *testing.T) {
			reg, err := parseText("registry.json", tt.text)
			requireMalformed(t, reg, err, tt.want)
		})
	}
}

// What follows would leave open which hostnames are to be reserved.
func TestEntryThatSpoilsTheDocument(t *testing.T) {
	const good = `{"name": "blog", "hostnames": ["blog.example.com"], "secretRef": {"name": "blog"}}`
	tests := []struct{ about, entry, want string }{
		{"hostnames a string", `{"name": "shop", "hostnames": "shop.example.com"}`, "apps[1]: hostnames: found string; write a list"},
		{"hostnames a mapping", `{"name": "shop", "hostnames": {"a": "b"}}`, "apps[1]: hostnames: found object; write a list"},
		{"a number among the hostnames", `{"name": "shop", "hostnames": ["shop.example.com", 7]}`, "apps[1]: hostnames: found number; write a string"},
		{"hostnames a number, name wrong too", `{"name": 5, "hostnames": 7}`, "apps[1]: hostnames: found number"},
		{"hostnames twice", `{"name": "shop", "hostnames": ["a.com"], "hostnames": ["b.com"]}`, `apps[1]: duplicate field "hostnames"`},
		{"hostnames twice and a wrong type before", `{"secretReady": 5, "hostnames": ["a.com"], "hostnames": ["b.com"]}`, `apps[1]: duplicate field "hostnames"`},
		{"hostnames twice and a wrong type after", `{"hostnames": ["a.com"], "hostnames": ["b.com"], "secretRef": 5}`, `apps[1]: duplicate field "hostnames"`},
		{"hostnames twice and an unknown field", `{"hostnames": ["a.com"], "hostnames": ["b.com"], "anyOf": []}`, `apps[1]: duplicate field "hostnames"`},
		{"hostnames twice behind 200 unknown fields", `{` + unknownFields(200) + `"hostnames": ["a.com"], "hostnames": ["b.com"]}`, `apps[1]: duplicate field "hostnames"`},
		{"hostnames twice and a time that is a number", `{"expiresAt": 5, "hostnames": ["a.com"], "hostnames": ["b.com"]}`, `apps[1]: duplicate field "hostnames"`},
		{"name twice", `{"name": "shop", "name": "shop"}`, `apps[1]: duplicate field "name"`},
		{"unknown field twice", `{"anyOf": [], "anyOf": []}`, `apps[1]: duplicate field "anyOf"`},
		{"secretRef twice", `{"secretRef": {"name": "a"}, "secretRef": {"name": "b"}}`, `apps[1]: duplicate field "secretRef"`},
		{"name twice in secretRef", `{"secretRef": {"name": "a", "name": "b"}}`, `apps[1]: secretRef: duplicate field "name"`},
		{"name twice in secretRef and a wrong type", `{"secretReady": 5, "secretRef": {"name": "a", "name": "b"}}`, `apps[1]: secretRef: duplicate field "name"`},
	}
	for _, tt := range tests {
		t.Run(tt.about, func(t *testing.T) {
			reg, err := parseText("registry.json", `{"version": 1, "apps": [`+good+`, `+tt.entry+`]}`)
			requireMalformed(t, reg, err, tt.want)
		})
	}
}

func unknownFields(n int) string {
	var fields strings.Builder
	for i := range n {
		fields.WriteString(`"x` + strings.Repeat("x", i) + `": 1, `)
	}
	return fields.String()
}

func TestFieldThatIsRepeatedInYAMLIsMalformed(t *testing.T) {
	const head = "version: 1\napps:\n- name: shop\n  hostnames: [shop.example.com]\n"
	for about, text := range map[string]string{
		"at the top":          head + "  secretRef: {name: shop}\nversion: 1\n",
		"in an entry":         head + "  secretRef: {name: shop}\n  hostnames: [b.example.com]\n",
		"in secretRef":        head + "  secretRef: {name: shop, name: blog}\n",
		"in an unknown field": head + "  secretRef: {name: shop}\n  anyOf: [{a: 1, a: 2}]\n",
		"once quoted":         head + "  secretRef: {name: shop}\n  \"name\": blog\n",
	} {
		t.Run(about, func(t *testing.T) {
			reg, err := parseText("registry.yaml", text)
			requireMalformed(t, reg, err, "registry.yaml: yaml: line ", "a key is there twice; remove one")
		})
	}
}

func TestErrorsAreBoundedInLength(t *testing.T) {
	long := strings.Repeat("\u00fcber", 20_000)
	t.Run("malformed JSON", func(t *testing.T) {
		reg, err := parseText("registry.json", `{"version": 1, "`+long+`": 1}`)
		requireMalformed(t, reg, err, "unknown field")
	})
	t.Run("malformed YAML", func(t *testing.T) {
		reg, err := parseText("registry.yaml", long+": 1\n"+long+": 1\n")
		requireMalformed(t, reg, err, "registry.yaml: ")
	})
	for about, e := range map[string]entry{
		"name":          app(long, "a.example.com"),
		"hostname":      app("shop", long),
		"expiry":        app("shop", "a.example.com").with("expiresAt", long),
		"expiry, list":  app("shop", "a.example.com").with("expiresAt", []string{long}),
		"secret":        app("shop", "a.example.com").with("secretRef", entry{"name": long}),
		"namespace":     app("shop", "a.example.com").with("secretRef", entry{"name": "shop", "namespace": long}),
		"data key":      app("shop", "a.example.com").with("secretRef", entry{"name": "shop", "key": long}),
		"unknown field": app("shop", "a.example.com").with(long, 1),
	} {
		t.Run(about, func(t *testing.T) {
			err := registry(t, e).Entries()[0].Err
			require.Error(t, err)
			requireReadable(t, err)
			assert.Less(t, len(err.Error()), 600)
		})
	}
}
