package main

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/authz-bridge/authz-bridge/mirror/kube/kubetest"
)

func TestScopeCluster(t *testing.T) {
	cluster := deployedCluster(t, "rbac.yaml")

	t.Run("may read Secrets everywhere and nothing else", func(t *testing.T) {
		assertRights(t, cluster, []authorizationv1.ResourceRule{readSecrets, tellClusters}, namespace, "shop", "kube-system")
		account := asAccount(t, cluster, serviceAccount)
		assertListsAndWatches(t, account, metav1.NamespaceAll)
		assertForbidsAllElse(t, account, "shop")
	})
	t.Run("serves the example with these rights", func(t *testing.T) {
		assertServesTheExample(t, cluster, "scope cluster")
	})
	t.Run("is alive, ready and serving without the API server that it had", func(t *testing.T) {
		pod := runPod(t, accountKubeconfig(t, cluster), "scope cluster")
		pod.await(t, http.StatusOK, pod.probe(pod.container.StartupProbe))
		require.NoError(t, cluster.KillAPIServer())

		assert.Equal(t, http.StatusOK, pod.status(t, pod.probe(pod.container.LivenessProbe)))
		assert.Equal(t, http.StatusOK, pod.status(t, pod.probe(pod.container.ReadinessProbe)))
		assert.Equal(t, http.StatusOK, pod.status(t, pod.request("shop.example.com")))
	})
}

func TestScopeNamespaces(t *testing.T) {
	cluster := deployedCluster(t, "rbac-namespaces.yaml")

	t.Run("may read Secrets there and nothing else", func(t *testing.T) {
		assertRights(t, cluster, []authorizationv1.ResourceRule{readSecrets}, namespace, "shop")
		account := asAccount(t, cluster, serviceAccount)
		for _, name := range []string{namespace, "shop"} {
			assertListsAndWatches(t, account, name)
			assertForbidsAllElse(t, account, name)
		}
		for _, name := range []string{"kube-system", metav1.NamespaceAll} {
			_, err := account.CoreV1().Secrets(name).List(t.Context(), metav1.ListOptions{})
			assert.True(t, apierrors.IsForbidden(err), "list in %q: %v", name, err)
		}
	})
	t.Run("serves the example with these rights", func(t *testing.T) {
		assertServesTheExample(t, cluster, scopeInTheComment(t))
	})
}

// deployedCluster starts a cluster of the test's own, as the rights that
// another test deploys must not be there.
func deployedCluster(tb testing.TB, rbac string) *kubetest.Cluster {
	tb.Helper()
	cluster, err := kubetest.Start(kubetest.Options{})
	require.NoError(tb, err)
	tb.Cleanup(func() { assert.NoError(tb, cluster.Stop()) })
	applyNamespaces(tb, cluster)
	applyManifests(tb, cluster, "serviceaccount.yaml", rbac)
	return cluster
}

func assertServesTheExample(t *testing.T, cluster *kubetest.Cluster, scope string) {
	t.Helper()
	applyManifests(t, cluster, "example-registry.yaml", "example-app-secret.yaml")
	pod := runPod(t, accountKubeconfig(t, cluster), scope)

	pod.await(t, http.StatusOK, pod.probe(pod.container.StartupProbe))
	assert.Equal(t, http.StatusOK, pod.status(t, pod.probe(pod.container.ReadinessProbe)))
	assert.Equal(t, http.StatusOK, pod.status(t, pod.probe(pod.container.LivenessProbe)))
	assert.Equal(t, http.StatusOK, pod.status(t, pod.request("shop.example.com")))
	assert.Equal(t, http.StatusForbidden, pod.status(t, pod.request("nobody.example.com")))

	cluster.DeleteSecret(t, "shop", "shop-clients")
	pod.await(t, http.StatusServiceUnavailable, pod.request("shop.example.com"))
	applyManifests(t, cluster, "example-app-secret.yaml")
	pod.await(t, http.StatusOK, pod.request("shop.example.com"))
}

// accountKubeconfig is what the Pod has of its ServiceAccount.
func accountKubeconfig(tb testing.TB, cluster *kubetest.Cluster) string {
	tb.Helper()
	token := cluster.ServiceAccountToken(tb, namespace, serviceAccount)
	return cluster.Kubeconfig(tb, cluster.TokenUser(token))
}
