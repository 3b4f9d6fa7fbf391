package files

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

func decodeAll(file, text string) ([]*definition, ignored, error) {
	d := decoder{
		registry: registryKey,
		wanted:   func(snapshot.Key) bool { return true },
		seal:     newSeal(),
	}
	return d.decode(file, []byte(text))
}

const header = "apiVersion: v1\nkind: Secret\nmetadata: {namespace: demo, name: open}\n"

func TestWhatAManifestDefines(t *testing.T) {
	tests := []struct {
		name, file, text string
		key              snapshot.Key
		kind             string
		data             map[string]string
	}{
		{
			"data is base64 and may be wrapped", "a.yaml", header + "data:\n  token: |\n    bm90LWEt\n    c2VjcmV0\n",
			openKey, "Opaque",
			map[string]string{"token": "not-a-secret"},
		},
		{
			"stringData wins over data", "a.yaml", header + "data: {a: b25l, b: b25l}\nstringData: {b: two}\n",
			openKey, "Opaque",
			map[string]string{"a": "one", "b": "two"},
		},
		{
			"the namespace defaults to the Registry's", "a.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: registry}\n",
			registryKey, "Opaque", nil,
		},
		{
			"the type is kept", "a.yaml", header + "type: kubernetes.io/basic-auth\nstringData: {username: u}\n",
			openKey, "kubernetes.io/basic-auth",
			map[string]string{"username": "u"},
		},
		{
			"a null value is empty, as in the API", "a.yaml", header + "data: {token: null}\nstringData:\n",
			openKey, "Opaque",
			map[string]string{"token": ""},
		},
		{
			"JSON", "a.json", `{"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "demo", "name": "open"}, "stringData": {"a": "---\n"}}`,
			openKey, "Opaque",
			map[string]string{"a": "---\n"},
		},
		{
			"what kubectl prints", "a.yaml", `apiVersion: v1
data: {token: b25l}
immutable: false
kind: Secret
metadata:
  annotations: {kubectl.kubernetes.io/last-applied-configuration: "{}"}
  creationTimestamp: "2026-09-01T00:00:00Z"
  finalizers: [a/b]
  generation: 1
  labels: {app: demo}
  managedFields: [{manager: kubectl}]
  name: open
  namespace: demo
  ownerReferences: [{name: x}]
  resourceVersion: "12"
  uid: 3e0f
type: Opaque
`,
			openKey, "Opaque",
			map[string]string{"token": "one"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			defined, others, err := decodeAll(tt.file, tt.text)
			require.NoError(t, err)
			require.Len(t, defined, 1)
			assert.Empty(t, others)
			require.Empty(t, defined[0].refusal)
			secret := defined[0].secret
			assert.Equal(t, tt.key, defined[0].key)
			assert.Equal(t, tt.key, secret.Key())
			assert.Equal(t, tt.kind, secret.Type())
			require.Equal(t, len(tt.data), secret.Len())
			for name, value := range tt.data {
				got, _ := secret.Value(name)
				assert.Equal(t, value, got, name)
			}
		})
	}
}

func TestSeveralDocumentsInOneFile(t *testing.T) {
	text := "# nothing here\n---\n" + header + "---\n\n# nor here\n--- # the next\n" +
		"apiVersion: v1\nkind: Namespace\n...\n--- {apiVersion: v1, kind: Secret, metadata: {name: registry}}\n---\n"
	defined, others, err := decodeAll("a.yaml", text)
	require.NoError(t, err)
	assert.Empty(t, others)
	require.Len(t, defined, 2)
	assert.Equal(t, openKey, defined[0].key)
	assert.Equal(t, 3, defined[0].line)
	assert.Equal(t, registryKey, defined[1].key)
	assert.Equal(t, 13, defined[1].line)
}

func TestAMarkerInsideOfAValueIsNoMarker(t *testing.T) {
	defined, _, err := decodeAll("a.yaml", header+"stringData:\n  a: |\n    ---\n    b: c\n    ...\n  ---x: d\r\n---\r\n# end\r\n")
	require.NoError(t, err)
	require.Len(t, defined, 1)
	a, _ := defined[0].secret.Value("a")
	assert.Equal(t, "---\nb: c\n...\n", a)
}

func TestAFileThatDefinesNothing(t *testing.T) {
	for _, text := range []string{"", "\n", "# a comment\n", "---\n---\n"} {
		defined, others, err := decodeAll("a.yaml", text)
		require.NoError(t, err)
		assert.Empty(t, defined)
		assert.Empty(t, others)
	}
}

func TestAManifestThatNobodyCanPlaceIsRefusedWhole(t *testing.T) {
	tests := []struct{ name, file, text, words string }{
		{"broken syntax", "a.yaml", header + "---\na: b: c\n", "a.yaml:5: mapping values are not allowed in this context"},
		{"a tab", "a.yaml", "a:\n\tb: c\n", "a.yaml:2: found character that cannot start any token"},
		{"a key that is there twice", "a.yaml", header + "type: a\ntype: b\n", "a.yaml:5: a key is there twice; remove one"},
		{"no mapping", "a.yaml", "\n- a\n", "a.yaml:2: the document: is of type array and must be a mapping"},
		{"no kind", "a.yaml", "apiVersion: v1\n", `a.yaml:1: kind or apiVersion: missing; a manifest of a Secret has "apiVersion: v1" and "kind: Secret"`},
		{"no name", "a.yaml", "apiVersion: v1\nkind: Secret\n", `a.yaml:1: metadata.name: "" is no name of a Secret; use lower-case letters, digits, hyphens and dots`},
		{"a path as a name", "a.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: ../x}\n", `a.yaml:1: metadata.name: "../x" is no name of a Secret; use lower-case letters, digits, hyphens and dots`},
		{"a namespace that is none", "a.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {namespace: A_B, name: x}\n", `a.yaml:1: metadata.namespace: "A_B" is no namespace; use lower-case letters, digits and hyphens`},
		{"a name that is a number", "a.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: 5}\n", "a.yaml:1: metadata.name: is of type number and must be text; put it in quotes"},
		{"broken JSON", "a.json", "{\n\n\"a\": }", "a.json:3: this is no valid JSON"},
		{"an empty JSON file", "a.json", "", "a.json:1: this is no valid JSON"},
		{"two JSON documents", "a.json", "{}\n{}", "a.json:2: this is no valid JSON"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := decodeAll(tt.file, tt.text)
			assert.EqualError(t, err, tt.words)
		})
	}
}

func TestASecretThatIsWrongIsRefusedAlone(t *testing.T) {
	tests := []struct{ name, text, words string }{
		{"an unknown field", header + "stringdata: {}\n", `unknown field "stringdata"; remove it, or correct its name`},
		{"an unknown field in metadata", "apiVersion: v1\nkind: Secret\nmetadata: {namespace: demo, name: open, lables: {}}\n", `unknown field "metadata.lables"; remove it, or correct its name`},
		{"no base64", header + "data: {token: not-a-secret}\n", `data: key "token": is no base64; encode it, or write it under stringData`},
		{"a number as a value", header + "stringData: {pin: 1234}\n", "stringData: is of type number and must be text; put it in quotes"},
		{"a boolean as a value", header + "stringData: {pin: yes}\n", "stringData: is of type bool and must be text; put it in quotes"},
		{"a list as data", header + "data: [a]\n", "data: is of type array and must be a mapping"},
		{"a key that is a path", header + "stringData: {../a: b}\n", `data: key "../a" is no key of a Secret; use letters, digits, hyphens, underscores and dots`},
		{"immutable that is text", header + "immutable: 'no'\n", "immutable: is of type string and must be true or false"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			defined, _, err := decodeAll("a.yaml", tt.text)
			require.NoError(t, err)
			require.Len(t, defined, 1)
			assert.Nil(t, defined[0].secret)
			assert.Equal(t, "a.yaml:1: "+tt.words, defined[0].refusal)
		})
	}
}

func TestNoErrorQuotesAValue(t *testing.T) {
	const value = "hunter2hunter2"
	for _, text := range []string{
		header + "stringData: {token: *" + value + "}\n",
		header + "stringData: {token: {{ " + value + " }}}\n",
		header + "stringData: {token: !!int " + value + "}\n",
		header + "stringData: {token: !!float '" + value + "'}\n",
		header + "stringData: {token: &" + value + " [*" + value + "]}\n",
		header + "stringData: {? [" + value + "] : b}\n",
		header + "stringData: {token: '" + value + "}\n",
		header + "stringData: {token: \"" + value + "\\q\"}\n",
		header + "stringData: " + value + "\n",
		header + "data: {token: " + value + "%}\n",
		header + "data: {token: [" + value + "]}\n",
		header + "immutable: " + value + "\n",
		header + "stringData:\n  token: " + value + ": b\n",
		header + "stringData:\n   token: a\n  " + value + ": b\n",
		value + "\n",
		"{" + value,
	} {
		for _, file := range []string{"a.yaml", "a.json"} {
			defined, _, err := decodeAll(file, text)
			words := fmt.Sprint(err)
			for _, def := range defined {
				require.Nil(t, def.secret, text)
				words += def.refusal
			}
			assert.NotEqual(t, "<nil>", words, text)
			assert.NotContains(t, words, value[:4], text)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add("a.yaml", header+"stringData: {a: b}\n---\nkind: x")
	f.Add("a.json", `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"}}`)
	f.Fuzz(func(t *testing.T, file, text string) {
		defined, _, err := decodeAll(file, text)
		if err != nil && len(defined) > 0 {
			t.Fatal("definitions beside an error")
		}
		for _, def := range defined {
			if !snapshot.ValidLabel(def.key.Namespace) || !snapshot.ValidSubdomain(def.key.Name) {
				t.Fatalf("key %v", def.key)
			}
			if (def.secret == nil) == (def.refusal == "") {
				t.Fatal("a Secret is there or refused")
			}
		}
	})
}

func FuzzEveryValueComesBack(f *testing.F) {
	f.Add("not-a-secret")
	f.Add("---\n...\n")
	f.Fuzz(func(t *testing.T, value string) {
		encoded, err := json.Marshal(base64.StdEncoding.EncodeToString([]byte(value)))
		require.NoError(t, err)
		for _, file := range []string{"a.yaml", "a.json"} {
			text := `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"data":{"a":` + string(encoded) + `}}`
			defined, _, err := decodeAll(file, text+strings.Repeat("\n", 2))
			require.NoError(t, err)
			got, _ := defined[0].secret.Value("a")
			require.Equal(t, value, got)
		}
	})
}
