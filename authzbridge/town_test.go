package authzbridge_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/authz-bridge/authz-bridge/mirror/kube/kubetest"
)

// town is a namespace of the real API server with a Registry in it, and the
// kubeconfig of a user.
type town struct {
	*kubetest.Cluster
	tb         testing.TB
	namespace  string
	kubeconfig string
	scope      string // as an option; empty for that of the cluster
}

func newTown(tb testing.TB) *town {
	tb.Helper()
	cluster := kubetest.Shared(tb)
	return &town{
		Cluster:    cluster,
		tb:         tb,
		namespace:  cluster.Namespace(tb, "town"),
		kubeconfig: cluster.Kubeconfig(tb, cluster.Admin()),
	}
}

// option is the content of the global option that mirrors the town, in its scope.
func (w *town) option() string { return w.optionVia(w.kubeconfig, w.scope) }

// in is the town with the Secrets of its Apps in another namespace.
func (w *town) in(namespace string) *town {
	other := *w
	other.namespace = namespace
	return &other
}

func (w *town) optionVia(kubeconfig, more string) string {
	return fmt.Sprintf("registry %s/registry\nsource kubernetes {\nkubeconfig %s\n%s\n}", w.namespace, kubeconfig, more)
}

// registry writes the Registry document.
func (w *town) registry(document string) {
	w.tb.Helper()
	w.PutSecret(w.tb, w.namespace, "registry", map[string]string{"registry.yaml": document})
}

// secret writes the Secret of an App.
func (w *town) secret(name string, data map[string]string) {
	w.tb.Helper()
	w.PutSecret(w.tb, w.namespace, name, data)
}

// someToken is what an App's Secret needs to open it.
func someToken() map[string]string { return map[string]string{"token": "placeholder"} }

// document lists Apps, each given as the lines of its entry.
func document(apps ...string) string {
	var b strings.Builder
	b.WriteString("version: 1\napps:\n")
	for _, app := range apps {
		b.WriteString("- " + strings.ReplaceAll(strings.TrimSpace(app), "\n", "\n  ") + "\n")
	}
	return b.String()
}

// app is the entry of an App whose Secret has its name.
func app(name string, hostnames ...string) string {
	return fmt.Sprintf("name: %s\nhostnames: ['%s']\nsecretRef: {name: %s, key: token}",
		name, strings.Join(hostnames, "', '"), name)
}

// alter changes the Secret of an App, or makes it.
func (w *town) alter(name string, change func(*corev1.Secret)) {
	w.tb.Helper()
	ctx, secrets := context.Background(), w.AdminClient().CoreV1().Secrets(w.namespace)
	secret, err := secrets.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}
		change(secret)
		_, err = secrets.Create(ctx, secret, metav1.CreateOptions{})
		require.NoError(w.tb, err)
		return
	}
	require.NoError(w.tb, err)
	if change(secret); secret.Type == "" {
		secret.Type = corev1.SecretTypeOpaque
	}
	_, err = secrets.Update(ctx, secret, metav1.UpdateOptions{})
	require.NoError(w.tb, err)
}

func bytesOf(data map[string]string) map[string][]byte {
	values := make(map[string][]byte, len(data))
	for key, value := range data {
		values[key] = []byte(value)
	}
	return values
}
