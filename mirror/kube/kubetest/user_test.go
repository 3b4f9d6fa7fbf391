package kubetest

import (
	"net"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

func TestUserMayDoNothingBeforeAGrantAndAfterItsRevocation(t *testing.T) {
	cluster := Shared(t)
	namespace := cluster.Namespace(t, "grant")
	cluster.PutSecret(t, namespace, "clients", nil)
	reader := kubernetes.NewForConfigOrDie(cluster.User("reader-of-" + namespace))
	user := "reader-of-" + namespace
	for scope, where := range map[string]string{"namespace": namespace, "cluster": ""} {
		t.Run(scope, func(t *testing.T) {
			assertForbidden(t, get(t, reader, namespace, "clients"))

			revoke := cluster.Grant(t, user, where, onSecrets("get"))
			assert.NoError(t, get(t, reader, namespace, "clients"))

			revoke()
			assertForbidden(t, get(t, reader, namespace, "clients"))
			revoke() // a second time changes nothing
		})
	}
}

func TestGrantEndsWithTheTest(t *testing.T) {
	cluster := Shared(t)
	namespace := cluster.Namespace(t, "grant-end")
	cluster.PutSecret(t, namespace, "clients", nil)
	user := "user-of-" + namespace
	client := kubernetes.NewForConfigOrDie(cluster.User(user))

	t.Run("a test", func(t *testing.T) {
		cluster.Grant(t, user, namespace, onSecrets("get"))
		require.NoError(t, get(t, client, namespace, "clients"))
	})

	assertForbidden(t, get(t, client, namespace, "clients"))
}

func TestRevocationDoesNotWaitForOtherGrants(t *testing.T) {
	cluster := Shared(t)
	namespace := cluster.Namespace(t, "grant-two")
	cluster.PutSecret(t, namespace, "clients", nil)
	user := "user-of-" + namespace
	client := kubernetes.NewForConfigOrDie(cluster.User(user))
	everything := rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}
	cluster.Grant(t, user, "", everything)

	cluster.Grant(t, user, namespace, onSecrets("get"))()

	assert.NoError(t, get(t, client, namespace, "clients"))
}

func TestResourceNamesAllowOneSecretAndNoWiderList(t *testing.T) {
	cluster := Shared(t)
	namespace := cluster.Namespace(t, "names")
	cluster.PutSecret(t, namespace, "mine", nil)
	cluster.PutSecret(t, namespace, "other", nil)
	user := "user-of-" + namespace
	client := kubernetes.NewForConfigOrDie(cluster.User(user))
	rule := onSecrets("get", "list", "watch")
	rule.ResourceNames = []string{"mine"}

	cluster.Grant(t, user, namespace, rule)

	assert.NoError(t, get(t, client, namespace, "mine"))
	assert.NoError(t, list(t, client, namespace, "metadata.name=mine"))
	assertForbidden(t, get(t, client, namespace, "other"))
	assertForbidden(t, list(t, client, namespace, "metadata.name=other"))
	assertForbidden(t, list(t, client, namespace, ""))
}

func TestUsersAreWhoTheySay(t *testing.T) {
	cluster := Shared(t)
	namespace := cluster.Namespace(t, "who")
	token := cluster.ServiceAccountToken(t, namespace, "bridge")
	admin := cluster.Admin()
	cases := map[string]struct {
		config *rest.Config
		name   string
		group  string
	}{
		"admin":           {admin, "kubetest-admin", "system:masters"},
		"certificate":     {cluster.User("ada", "team", "readers"), "ada", "readers"},
		"service account": {cluster.TokenUser(token), "system:serviceaccount:" + namespace + ":bridge", "system:serviceaccounts"},
		"through a file":  {load(t, cluster.Kubeconfig(t, cluster.User("ada", "team"))), "ada", "team"},
		"token through a file": {
			load(t, cluster.Kubeconfig(t, cluster.TokenUser(token))), "system:serviceaccount:" + namespace + ":bridge", "system:serviceaccounts",
		},
		"at another address": {load(t, cluster.KubeconfigVia(t, admin, "localhost:"+port(t, cluster.Address()))), "kubetest-admin", "system:masters"},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			review, err := kubernetes.NewForConfigOrDie(test.config).AuthenticationV1().SelfSubjectReviews().
				Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})

			require.NoError(t, err)
			assert.Equal(t, test.name, review.Status.UserInfo.Username)
			assert.Contains(t, review.Status.UserInfo.Groups, test.group)
		})
	}
}

func TestStrangersAreNotServed(t *testing.T) {
	cluster := Shared(t)
	other := startIn(t, t.TempDir())
	foreign := other.User("ada")
	foreign.Host, foreign.CAData = cluster.URL(), cluster.Admin().CAData
	strangers := map[string]*rest.Config{
		"nobody":                 cluster.TokenUser(""),
		"a made-up token":        cluster.TokenUser("made-up"),
		"another cluster's user": foreign,
	}
	for name, config := range strangers {
		t.Run(name, func(t *testing.T) {
			err := get(t, kubernetes.NewForConfigOrDie(config), metav1.NamespaceDefault, "clients")
			assert.True(t, apierrors.IsUnauthorized(err), "%v", err)
		})
	}
}

func TestKubeconfigIsForItsOwnerOnly(t *testing.T) {
	cluster := Shared(t)

	info, err := os.Stat(cluster.Kubeconfig(t, cluster.Admin()))

	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode())
}

func TestServerNameIsSetWhereTheCertificateNeedsIt(t *testing.T) {
	cases := map[string]string{
		"127.0.0.1:6443":        "",
		"[::1]:6443":            "",
		"localhost:6443":        "",
		"10.1.2.3:6443":         "localhost",
		"proxy.example.com:443": "localhost",
	}
	for address, want := range cases {
		assert.Equal(t, want, serverNameAt(address), address)
	}
}

func onSecrets(verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: verbs}
}

func get(t *testing.T, client kubernetes.Interface, namespace, name string) error {
	t.Helper()
	_, err := client.CoreV1().Secrets(namespace).Get(t.Context(), name, metav1.GetOptions{})
	return err
}

func list(t *testing.T, client kubernetes.Interface, namespace, fieldSelector string) error {
	t.Helper()
	_, err := client.CoreV1().Secrets(namespace).List(t.Context(), metav1.ListOptions{FieldSelector: fieldSelector})
	return err
}

func assertForbidden(t *testing.T, err error) {
	t.Helper()
	assert.True(t, apierrors.IsForbidden(err), "%v", err)
}

func load(t *testing.T, kubeconfig string) *rest.Config {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	require.NoError(t, err)
	return config
}

func port(t *testing.T, address string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	return port
}
