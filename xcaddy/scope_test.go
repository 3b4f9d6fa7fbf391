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

func TestOverlayCluster(t *testing.T) {
	c := deployedCluster(t, cluster)

	t.Run("may read Secrets everywhere and nothing else", func(t *testing.T) {
		assertRights(t, c, []authorizationv1.ResourceRule{readSecrets, tellClusters}, namespace, "shop", "kube-system")
		account := asAccount(t, c, serviceAccount)
		assertListsAndWatches(t, account, metav1.NamespaceAll)
		assertForbidsAllElse(t, account, "shop")
	})
	t.Run("serves the example with these rights", func(t *testing.T) {
		assertServesTheExample(t, c, cluster)
	})
	t.Run("judges the client that the proxy of the comment names", func(t *testing.T) {
		c.PutSecret(t, namespace, "registry", map[string]string{"registry.yaml": `version: 1
apps:
- name: shop
  hostnames: [shop.example.com]
  secretRef: {namespace: shop, name: shop-clients}
  allowCIDRs: [203.0.113.0/24, 127.0.0.1]
`})
		caddyfile := replaceEach(t, uncomment(t, readCaddyfile(t, cluster), "servers "), "static 10.0.0.10", "static 127.0.0.1")
		pod := runPodWith(t, accountKubeconfig(t, c), cluster, caddyfile)
		pod.await(t, http.StatusOK, pod.probe(pod.container.ReadinessProbe))
		asked := pod.request("shop.example.com")
		asked.forwardedFor = "203.0.113.7"
		assert.Equal(t, http.StatusOK, pod.status(t, asked))
		for _, claimed := range []string{"198.51.100.7", "203.0.113.7, 198.51.100.7"} {
			asked.forwardedFor = claimed
			assert.Equal(t, http.StatusForbidden, pod.status(t, asked), claimed)
		}
		applyExample(t, c)
	})
	t.Run("is alive, ready and serving without the API server that it had", func(t *testing.T) {
		pod := runPod(t, accountKubeconfig(t, c), cluster)
		pod.await(t, http.StatusOK, pod.probe(pod.container.ReadinessProbe))
		require.NoError(t, c.KillAPIServer())

		assert.Equal(t, http.StatusOK, pod.status(t, pod.probe(pod.container.LivenessProbe)))
		assert.Equal(t, http.StatusOK, pod.status(t, pod.probe(pod.container.ReadinessProbe)))
		assert.Equal(t, http.StatusOK, pod.status(t, pod.request("shop.example.com")))
	})
}

func TestOverlayNamespaces(t *testing.T) {
	c := deployedCluster(t, namespaces)

	t.Run("may read Secrets there and nothing else", func(t *testing.T) {
		assertRights(t, c, []authorizationv1.ResourceRule{readSecrets}, namespace, "shop")
		account := asAccount(t, c, serviceAccount)
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
		assertServesTheExample(t, c, namespaces)
	})
}

func TestOverlayLeastPrivilege(t *testing.T) {
	c := deployedCluster(t, leastPrivilege)

	t.Run("may read the Registry and the Secrets of Apps, and nothing else", func(t *testing.T) {
		assertRights(t, c, []authorizationv1.ResourceRule{readSecret("registry")}, namespace)
		assertRights(t, c, []authorizationv1.ResourceRule{readSecret("shop-clients")}, "shop")
		assertRights(t, c, nil, "kube-system", metav1.NamespaceDefault)
		account := asAccount(t, c, serviceAccount)
		for _, name := range []string{namespace, "shop", metav1.NamespaceAll} {
			assertForbidsAllElse(t, account, name)
			for _, selector := range []string{"", "metadata.name=other"} {
				options := metav1.ListOptions{FieldSelector: selector}
				_, err := account.CoreV1().Secrets(name).List(t.Context(), options)
				assert.True(t, apierrors.IsForbidden(err), "list %q in %q: %v", selector, name, err)
				_, err = account.CoreV1().Secrets(name).Watch(t.Context(), options)
				assert.True(t, apierrors.IsForbidden(err), "watch %q in %q: %v", selector, name, err)
			}
		}
		_, err := account.CoreV1().Secrets("shop").Get(t.Context(), "shop-clients", metav1.GetOptions{})
		assert.True(t, apierrors.IsForbidden(err), "not even get: %v", err)
	})
	t.Run("serves the example with these rights", func(t *testing.T) {
		assertServesTheExample(t, c, leastPrivilege)
	})
}

// deployedCluster starts a cluster of the test's own, as the rights that
// another test deploys must not be there, and applies an overlay to it.
func deployedCluster(tb testing.TB, overlay string) *kubetest.Cluster {
	tb.Helper()
	c, err := kubetest.Start(kubetest.Options{})
	require.NoError(tb, err)
	tb.Cleanup(func() { assert.NoError(tb, c.Stop()) })
	applyNamespaces(tb, c, overlay)
	apply(tb, c, build(tb, overlay))
	return c
}

func assertServesTheExample(t *testing.T, c *kubetest.Cluster, overlay string) {
	t.Helper()
	applyExample(t, c)
	pod := runPod(t, accountKubeconfig(t, c), overlay)

	pod.await(t, http.StatusOK, pod.probe(pod.container.ReadinessProbe))
	assert.Equal(t, http.StatusOK, pod.status(t, pod.probe(pod.container.StartupProbe)))
	assert.Equal(t, http.StatusOK, pod.status(t, pod.probe(pod.container.LivenessProbe)))
	assert.Equal(t, http.StatusOK, pod.status(t, pod.request("shop.example.com")))
	assert.Equal(t, http.StatusForbidden, pod.status(t, pod.request("nobody.example.com")))

	c.DeleteSecret(t, "shop", "shop-clients")
	pod.await(t, http.StatusServiceUnavailable, pod.request("shop.example.com"))
	applyExample(t, c)
	pod.await(t, http.StatusOK, pod.request("shop.example.com"))
}

// accountKubeconfig is what the Pod has of its ServiceAccount.
func accountKubeconfig(tb testing.TB, c *kubetest.Cluster) string {
	tb.Helper()
	token := c.ServiceAccountToken(tb, namespace, serviceAccount)
	return c.Kubeconfig(tb, c.TokenUser(token))
}
