package authzbridge_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// quiet keeps Caddy's own words out of what the tests print.
const quiet = `"logging": {"logs": {"default": {"level": "ERROR"}}}`

// farKubeconfig names a server that nobody can reach, in the context prod.
func farKubeconfig(t *testing.T) string {
	t.Helper()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(kubeconfig, []byte(`
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://192.0.2.1:6443"}}]
users: [{name: u, user: {token: placeholder}}]
contexts: [{name: prod, context: {cluster: c, user: u}}]
current-context: prod
`), 0o600))
	return kubeconfig
}

// What only the JSON can say wrongly, or only the machine can tell; the Caddyfile's
// own errors are in its golden files.
func TestBadConfigurationNamesTheOptionAndTheFix(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, []byte("no kubeconfig"), 0o600))
	kubeconfig := farKubeconfig(t)
	t.Setenv("KUBERNETES_SERVICE_HOST", "") // as outside of a Pod
	source := func(options string) string {
		return `{"registry": "a/b", "source": {"type": "kubernetes"` + options + `}}`
	}
	for name, c := range map[string]struct {
		app  string
		says []string
	}{
		"no registry":                {`{}`, []string{"registry", "missing", "write `registry"}},
		"registry without namespace": {`{"registry": "b"}`, []string{"registry", `"b" has no namespace`, "write `registry"}},
		"registry from nowhere":      {`{"registry": "{env.NO_SUCH_VARIABLE}/b"}`, []string{"registry", "NO_SUCH_VARIABLE"}},
		"unknown field":              {`{"registry": "a/b", "registri": 1}`, []string{"registri"}},
		"unknown source":             {`{"registry": "a/b", "source": {"type": "consul"}}`, []string{"source", "consul"}},
		"source without type":        {`{"registry": "a/b", "source": {}}`, []string{"source", "type"}},
		"unknown scope":              {source(`, "scope": {"kind": "galaxy"}`), []string{"scope", "galaxy", "cluster", "namespaces"}},
		"referenced with namespaces": {source(`, "scope": {"kind": "referenced", "namespaces": ["a"]}`), []string{"scope referenced", "takes no namespaces", "remove them"}},
		"no namespaces":              {source(`, "scope": {"kind": "namespaces"}`), []string{"scope namespaces", "at least one"}},
		"bad namespace":              {source(`, "scope": {"kind": "namespaces", "namespaces": ["A"]}`), []string{"scope namespaces", `"A"`}},
		"bad selector":               {source(`, "label_selector": "a=(b"`), []string{"label_selector", "a=(b"}},
		"missing kubeconfig":         {source(`, "kubeconfig": "/does/not/exist"`), []string{"kubeconfig", "/does/not/exist"}},
		"no kubeconfig":              {source(`, "kubeconfig": "` + file + `"`), []string{"kubeconfig", file}},
		"unknown context":            {source(`, "kubeconfig": "` + kubeconfig + `", "context": "test"`), []string{"context", "test", "prod"}},
		"context without kubeconfig": {source(`, "context": "test"`), []string{"context", "kubeconfig"}},
		"not in a Pod":               {`{"registry": "a/b"}`, []string{"kubeconfig"}},
		"missing directory":          {`{"registry": "a/b", "source": {"type": "files", "dir": "/does/not/exist"}}`, []string{"source files", "/does/not/exist", "name a directory"}},
		"file for a directory":       {`{"registry": "a/b", "source": {"type": "files", "dir": "` + file + `"}}`, []string{"source files", file}},
		"no directory":               {`{"registry": "a/b", "source": {"type": "files"}}`, []string{"source files", "write `source files <dir>`"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := caddy.Load([]byte(`{"admin": {"disabled": true}, `+quiet+`, "apps": {"authz_bridge": `+c.app+`}}`), true)
			require.Error(t, err)
			for _, word := range c.says {
				assert.ErrorContains(t, err, word)
			}
		})
	}
}

func TestAHandlerWithoutTheGlobalOptionNamesIt(t *testing.T) {
	for _, handler := range []string{`{"handler": "authz_bridge"}`, `{"handler": "authz_bridge_ready"}`} {
		err := caddy.Load([]byte(`{"admin": {"disabled": true}, `+quiet+`, "apps": {"http": {"servers": {"s":
			{"listen": ["127.0.0.1:0"], "routes": [{"handle": [`+handler+`]}]}}}}}`), true)
		require.ErrorContains(t, err, caddy.ErrNotConfigured.Error())
		assert.ErrorContains(t, err, "add the global option `authz_bridge")
	}
}

func TestAHandlerRefusesAnUnknownChoice(t *testing.T) {
	for _, unknown := range []string{"maybe", "200", "399", "600", "-403"} {
		err := caddy.Load([]byte(`{"admin": {"disabled": true}, `+quiet+`, "apps": {"authz_bridge": {"registry": "a/b"}, "http": {"servers": {"s":
			{"listen": ["127.0.0.1:0"], "routes": [{"handle": [{"handler": "authz_bridge", "unknown": "`+unknown+`"}]}]}}}}}`), true)
		assert.ErrorContains(t, err, "write deny, pass, or a status from 400 to 599", unknown)
	}
}
