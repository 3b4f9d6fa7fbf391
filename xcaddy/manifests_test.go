package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/authz-bridge/authz-bridge/mirror/kube/kubetest"
)

const (
	namespace      = "authz-bridge"
	serviceAccount = "authz-bridge"
)

func readManifest(tb testing.TB, name string) []byte {
	tb.Helper()
	content, err := os.ReadFile(filepath.Join("deploy", name))
	require.NoError(tb, err)
	return content
}

// manifestNames are the files of deploy/ that an API server can read.
func manifestNames(tb testing.TB) []string {
	tb.Helper()
	entries, err := os.ReadDir("deploy")
	require.NoError(tb, err)
	var names []string
	for _, entry := range entries {
		if !entry.IsDir() && entry.Name() != "kustomization.yaml" {
			names = append(names, entry.Name())
		}
	}
	require.NotEmpty(tb, names)
	return names
}

// applyManifests stores the manifests in the order given.
func applyManifests(tb testing.TB, cluster *kubetest.Cluster, names ...string) {
	tb.Helper()
	for _, name := range names {
		require.NoError(tb, cluster.Apply(tb.Context(), readManifest(tb, name), false), name)
	}
}

// applyNamespaces stores the namespaces of all manifests and nothing else: a
// dry run in a namespace asks for a real one.
func applyNamespaces(tb testing.TB, cluster *kubetest.Cluster) {
	tb.Helper()
	for _, name := range manifestNames(tb) {
		for document := range bytes.SplitSeq(readManifest(tb, name), []byte("\n---\n")) {
			if bytes.Contains(document, []byte("kind: Namespace\n")) {
				require.NoError(tb, cluster.Apply(tb.Context(), document, false), name)
			}
		}
	}
}

func readDeployment(tb testing.TB) *appsv1.Deployment {
	tb.Helper()
	deployment := new(appsv1.Deployment)
	require.NoError(tb, yaml.UnmarshalStrict(readManifest(tb, "deployment.yaml"), deployment))
	return deployment
}

func readCaddyfile(tb testing.TB) string {
	tb.Helper()
	configMap := new(corev1.ConfigMap)
	require.NoError(tb, yaml.UnmarshalStrict(readManifest(tb, "configmap.yaml"), configMap))
	require.Contains(tb, configMap.Data, "Caddyfile")
	return configMap.Data["Caddyfile"]
}
