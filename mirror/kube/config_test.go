package kube

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const kubeconfigText = `
apiVersion: v1
kind: Config
current-context: near
clusters:
- {name: near, cluster: {server: "https://near.example.com:6443"}}
- {name: far, cluster: {server: "https://far.example.com:6443", certificate-authority: ca.crt}}
- {name: odd, cluster: {server: "https://bad host:6443"}}
- {name: torn, cluster: {server: "https://torn.example.com", certificate-authority-data: dG9ybg==}}
users:
- {name: me, user: {token: s3cret}}
contexts:
- {name: near, context: {cluster: near, user: me}}
- {name: far, context: {cluster: far, user: me}}
- {name: odd, context: {cluster: odd, user: me}}
- {name: torn, context: {cluster: torn, user: me}}
- {name: lost, context: {cluster: gone, user: me}}
- {name: nobody, context: {cluster: near, user: gone}}
`

func writeKubeconfig(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, writeFile(path, []byte(text)))
	return path
}

// outsideOfClusters keeps a test from being taken for a Pod.
func outsideOfClusters(t *testing.T) {
	t.Helper()
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	t.Setenv("KUBERNETES_SERVICE_PORT", "")
}

func TestKubeconfigIsLoaded(t *testing.T) {
	outsideOfClusters(t)
	path := writeKubeconfig(t, kubeconfigText)
	t.Run("with its current context", func(t *testing.T) {
		config, err := LoadConfig(path, "")
		require.NoError(t, err)
		assert.Equal(t, "https://near.example.com:6443", config.Host)
		assert.Equal(t, "s3cret", config.BearerToken)
	})
	t.Run("with another context, its files beside it", func(t *testing.T) {
		ca := filepath.Join(filepath.Dir(path), "ca.crt")
		require.NoError(t, writeFile(ca, testCA(t)))
		config, err := LoadConfig(path, "far")
		require.NoError(t, err)
		assert.Equal(t, "https://far.example.com:6443", config.Host)
		assert.Equal(t, ca, config.CAFile)
	})
}

func TestKubeconfigsThatAreRefused(t *testing.T) {
	outsideOfClusters(t)
	good := writeKubeconfig(t, kubeconfigText)
	missing := filepath.Join(t.TempDir(), "missing")
	undecided := writeKubeconfig(t, strings.Replace(kubeconfigText, "current-context: near", "", 1))
	empty := writeKubeconfig(t, "")
	garbage := writeKubeconfig(t, "clusters: {")
	known := "far, lost, near, nobody, odd, torn"
	tests := map[string]struct {
		path, context string
		contains      []string
	}{
		"neither a file nor a cluster": {"", "", []string{"kubeconfig: missing", "does not run in a cluster", "set kubeconfig to the path"}},
		"context without a file":       {"", "near", []string{`context "near": there is none without a kubeconfig`, "set kubeconfig, or remove context"}},
		"file does not exist":          {missing, "", []string{`kubeconfig "` + missing + `": does not exist; correct the path`}},
		"path is a directory":          {filepath.Dir(good), "", []string{`kubeconfig "` + filepath.Dir(good) + `": `, "check it with kubectl config view"}},
		"no YAML":                      {garbage, "", []string{`kubeconfig "` + garbage + `": `, "check it with kubectl config view"}},
		"no contexts":                  {empty, "", []string{`kubeconfig "` + empty + `": has no contexts; add one`}},
		"no current context":           {undecided, "", []string{"context: missing", "set context to one of: " + known}},
		"unknown context":              {good, "nowhere", []string{`context "nowhere": not in kubeconfig "` + good + `"; use one of: ` + known}},
		"context without its cluster":  {good, "lost", []string{`context "lost": its cluster "gone" is not in kubeconfig "` + good + `"; add it`}},
		"context without its user":     {good, "nobody", []string{`context "nobody": its user "gone" is not in kubeconfig "` + good + `"; add it`}},
		"address of no server":         {good, "odd", []string{`context "odd": `, "correct its cluster or its user"}},
		"certificate authority torn":   {good, "torn", []string{`context "torn": `, "correct its cluster or its user"}},
		"certificate file missing":     {good, "far", []string{`context "far": `, "ca.crt"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			config, err := LoadConfig(test.path, test.context)
			require.Error(t, err)
			assert.Nil(t, config)
			for _, text := range test.contains {
				assert.ErrorContains(t, err, text)
			}
			assert.NotContains(t, err.Error(), "s3cret")
		})
	}
}

func TestKubeconfigThatMayNotBeRead(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	path := writeKubeconfig(t, kubeconfigText)
	require.NoError(t, os.Chmod(path, 0))
	_, err := LoadConfig(path, "")
	assert.EqualError(t, err, `kubeconfig "`+path+`": permission denied; let the user of this process read it`)
}

func TestServiceAccountThatCannotBeReadNamesTheFix(t *testing.T) {
	const token = "/var/run/secrets/kubernetes.io/serviceaccount/token"
	if _, err := os.Stat(token); err == nil {
		t.Skip("this is a Pod")
	}
	t.Setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
	t.Setenv("KUBERNETES_SERVICE_PORT", "443")
	_, err := LoadConfig("", "")
	require.ErrorContains(t, err, "the service account of this Pod cannot be read")
	assert.ErrorContains(t, err, "mount its token, or set kubeconfig")
}
