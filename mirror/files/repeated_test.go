package files

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

func TestASecretThatIsDefinedTwiceIsRefusedAlone(t *testing.T) {
	one := manifestOf(openKey, "token", "one")
	tests := []struct {
		name   string
		files  map[string]string
		detail string
	}{
		{
			"in two manifests",
			map[string]string{"a.yaml": one, "b.yaml": "\n" + one},
			"defined in both a.yaml:1 and b.yaml:2; remove one",
		},
		{
			"in one manifest",
			map[string]string{"a.yaml": one + "---\n" + one},
			"defined in both a.yaml:1 and a.yaml:9; remove one",
		},
		{
			"in a manifest and a tree",
			map[string]string{"a.yaml": one, "demo/open/token": "one"},
			"defined in both a.yaml:1 and the directory demo/open; remove one",
		},
		{
			"three times",
			map[string]string{"a.yaml": one, "b.json": `{"apiVersion":"v1","kind":"Secret","metadata":{"namespace":"demo","name":"open"}}`, "demo/open/token": "one"},
			"defined in a.yaml:1, b.json:1 and the directory demo/open; remove all but one",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t, openKey, otherKey)
			f.write("other.yaml", manifestOf(otherKey, "token", "two"))
			for name, content := range tt.files {
				f.write(name, content)
			}
			f.settle()
			assert.Equal(t, snapshot.Forbidden(tt.detail), f.state(openKey))
			assert.Equal(t, "two", f.value(otherKey, "token"))
			entries := f.logs.FilterMessage("secret refused").All()
			if assert.NotEmpty(t, entries) {
				assert.Equal(t, map[string]any{"secret": "demo/open", "detail": tt.detail}, entries[len(entries)-1].ContextMap())
			}

			for name := range tt.files {
				f.remove(name)
			}
			f.remove("demo")
			f.write("a.yaml", one)
			f.settle()
			assert.Equal(t, "one", f.value(openKey, "token"))
		})
	}
}

func TestARegistryThatIsDefinedTwiceKeepsTheLastGoodOne(t *testing.T) {
	f := newFixture(t)
	f.write("a.yaml", manifestOf(registryKey, "registry.yaml", "version: 1"))
	f.settle()
	f.forget()
	f.write("b.yaml", manifestOf(registryKey, "registry.yaml", "version: 2"))
	f.settle()
	assert.NotContains(t, f.calls(), "registry")
	failure, _ := f.failure("registry")
	assert.Equal(t, mirror.Failure{
		Kind:   mirror.FailureInvalid,
		Detail: "authz-bridge/registry: defined in both a.yaml:1 and b.yaml:1; remove one; the last good one stays in use",
	}, failure)

	f.remove("a.yaml")
	f.settle()
	registry, _ := f.registry()
	document, _ := registry.Value("registry.yaml")
	assert.Equal(t, "version: 2", document)
	assert.Empty(t, f.failing)
}
