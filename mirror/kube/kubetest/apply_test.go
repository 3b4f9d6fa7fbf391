package kubetest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: bridge}
spec:
  selector: {matchLabels: {app: bridge}}
  template:
    metadata: {labels: {app: bridge}}
    spec:
      containers:
      - {name: bridge, image: bridge}
`

const namespaceAndSecret = `# a comment in front
apiVersion: v1
kind: Namespace
metadata: {name: applied}
---
# nothing but a comment
---
apiVersion: v1
kind: Secret
metadata: {name: clients, namespace: applied}
stringData: {token: one}
`

func TestDryRunChecksAndStoresNothing(t *testing.T) {
	cluster := Shared(t)

	require.NoError(t, cluster.Apply(t.Context(), []byte(deployment), true))

	_, err := cluster.AdminClient().AppsV1().Deployments(metav1.NamespaceDefault).
		Get(t.Context(), "bridge", metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err), "%v", err)
}

func TestApplyStoresEveryDocumentAndMayBeRepeated(t *testing.T) {
	cluster := Shared(t)
	for range 2 {
		require.NoError(t, cluster.Apply(t.Context(), []byte(namespaceAndSecret), false))

		secret, err := getSecret(t.Context(), cluster, "applied", "clients")
		require.NoError(t, err)
		assert.Equal(t, "one", string(secret.Data["token"]))
		assert.Equal(t, "kubetest", secret.ManagedFields[0].Manager)
		cluster.PutSecret(t, "applied", "clients", map[string]string{"token": "changed by another"})
	}
}

func TestApplyTakesListsApart(t *testing.T) {
	cluster := Shared(t)
	namespace := cluster.Namespace(t, "list")
	manifest := `
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Secret, metadata: {name: a, namespace: ` + namespace + `}}
- {apiVersion: v1, kind: Secret, metadata: {name: b, namespace: ` + namespace + `}}
`

	require.NoError(t, cluster.Apply(t.Context(), []byte(manifest), false))

	secrets, err := cluster.AdminClient().CoreV1().Secrets(namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "b"}, namesOf(secrets.Items))
}

func TestApplyErrorsNameTheObjectAndTheField(t *testing.T) {
	cluster := Shared(t)
	cases := map[string]struct {
		manifest string
		want     []string
	}{
		"a field of the wrong type": {
			"apiVersion: v1\nkind: Secret\nmetadata: {name: clients}\nimmutable: maybe\n",
			[]string{"apply Secret default/clients", "immutable"},
		},
		"an unknown field": {
			"apiVersion: v1\nkind: Secret\nmetadata: {name: clients}\nstringdata: {a: b}\n",
			[]string{"apply Secret default/clients", "stringdata"},
		},
		"a key twice": {
			"apiVersion: v1\nkind: Secret\nkind: Secret\nmetadata: {name: clients}\n",
			[]string{"document 1", "kind"},
		},
		"a refused value": {
			"apiVersion: v1\nkind: Secret\nmetadata: {name: Clients}\n",
			[]string{"apply Secret default/Clients", "metadata.name"},
		},
		"an unknown kind": {
			"apiVersion: v1\nkind: Sekret\nmetadata: {name: clients}\n",
			[]string{"apply Sekret clients", "no matches for kind"},
		},
		"no name": {
			"apiVersion: v1\nkind: Secret\n",
			[]string{"metadata.name is empty"},
		},
		"no kind": {
			namespaceAndSecret + "---\nmetadata: {name: clients}\n",
			[]string{"document 4", "kind is absent"},
		},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			err := cluster.Apply(t.Context(), []byte(test.manifest), true)
			for _, want := range test.want {
				assert.ErrorContains(t, err, want)
			}
		})
	}
}

func namesOf(secrets []corev1.Secret) []string {
	var names []string
	for _, secret := range secrets {
		names = append(names, secret.Name)
	}
	return names
}
