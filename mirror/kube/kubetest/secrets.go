package kubetest

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Namespace makes a namespace with a name of its own that starts with the
// prefix. Its Secrets go with the test, as far as the API server still answers;
// the empty namespace stays until the cluster stops.
func (c *Cluster) Namespace(tb testing.TB, prefix string) string {
	tb.Helper()
	ctx, cancel := callContext()
	defer cancel()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix + "-"}}
	namespace, err := c.client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
	require.NoError(tb, err, "create namespace %s-*", prefix)
	tb.Cleanup(func() { c.deleteSecrets(tb, namespace.Name) })
	return namespace.Name
}

func (c *Cluster) deleteSecrets(tb testing.TB, namespace string) {
	ctx, cancel := callContext()
	defer cancel()
	err := c.client.CoreV1().Secrets(namespace).
		DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
	if err != nil {
		tb.Logf("kubetest: clean up: secrets of namespace %s: %v", namespace, err)
	}
}

// PutSecret makes the Secret, or gives the one that is there exactly this data.
// It returns what the API server answers.
func (c *Cluster) PutSecret(tb testing.TB, namespace, name string, data map[string]string) *corev1.Secret {
	tb.Helper()
	ctx, cancel := callContext()
	defer cancel()
	secrets := c.client.CoreV1().Secrets(namespace)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: toBytes(data)}
	stored, err := secrets.Update(ctx, secret, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		stored, err = secrets.Create(ctx, secret, metav1.CreateOptions{})
	}
	require.NoError(tb, err, "put secret %s/%s", namespace, name)
	return stored
}

// DeleteSecret deletes the Secret, which must be there.
func (c *Cluster) DeleteSecret(tb testing.TB, namespace, name string) {
	tb.Helper()
	ctx, cancel := callContext()
	defer cancel()
	err := c.client.CoreV1().Secrets(namespace).Delete(ctx, name, metav1.DeleteOptions{})
	require.NoError(tb, err, "delete secret %s/%s", namespace, name)
}

func toBytes(data map[string]string) map[string][]byte {
	values := make(map[string][]byte, len(data))
	for key, value := range data {
		values[key] = []byte(value)
	}
	return values
}
