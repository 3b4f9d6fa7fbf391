package authzbridge_test

import (
	"bytes"
	"context"
	"net/http"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/authz-bridge/authz-bridge/mirror/kube/kubetest"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

// Row 21 of the table of failures: another cluster at the same address, whose
// certificate the same CA bundle verifies.
func TestRow21ACacheOfAnotherClusterIsDroppedAtTheFirstContact(t *testing.T) {
	home, away := newTown(t), startAway(t)
	away.namespace = home.namespace
	away.makeNamespace(t)
	home.secret("open", someToken())
	home.registry(document(app("open", "open.example.com"), app("both", "both.example.com")))
	home.secret("both", someToken())
	away.secret("theirs", someToken())
	away.registry(document(app("theirs", "theirs.example.com"), app("both", "both.example.com")))
	away.Grant(t, "replica", "", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "list", "watch"}})

	cluster := "it is of cluster " + home.id(t) + ", and this is cluster " + away.id(t)
	registry := "it has the registry with UID " + home.registryUID(t) + ", and this one has " + away.registryUID(t)
	for name, c := range map[string]struct {
		user *rest.Config
		says string // of why it is dropped
	}{
		"the cluster is known":                 {away.Admin(), cluster + "|" + registry}, // the Registry may come first
		"nobody may know, but the UIDs differ": {away.User("replica"), registry},
	} {
		t.Run(name, func(t *testing.T) {
			board, bundle := newSwitchboard(t), bytes.Join([][]byte{home.Admin().CAData, away.Admin().CAData}, nil)
			at := func(w *town, user *rest.Config) string {
				user.CAData = bundle
				return w.KubeconfigVia(t, user, board.address())
			}
			kubeconfig := at(home, home.Admin())
			v := newVault(t, originOf(t, kubeconfig, home.namespace))
			options := cacheOption(v.dir, "persist_interval 1s") + "\nstartup_timeout 0s"
			board.connect(home.Address())
			d := open(t, home.optionVia(kubeconfig, "")+options)
			d.becomes("open.example.com", http.StatusOK)
			d.writes(1)
			eventually(t, func() bool { return v.contents().Cluster == home.id(t) }, "the cluster is never stored")
			require.NoError(t, caddy.Stop())

			board.connect("")
			d.option = home.optionVia(at(away, c.user), "") + options
			require.NoError(t, d.load())
			require.Equal(t, http.StatusOK, d.status("open.example.com"), "nobody can know yet")
			require.Equal(t, "from_cache", d.bridge().State)

			board.connect(away.Address())
			d.becomes("theirs.example.com", http.StatusOK)
			assert.Equal(t, "live", d.bridge().State)
			assert.Equal(t, http.StatusForbidden, d.status("open.example.com"), "nothing is left of it")
			assert.Equal(t, http.StatusServiceUnavailable, d.status("both.example.com"), "their Secret is not there, whatever ours was")
			assert.Regexp(t, `"msg":"cache refused","reason":"(`+c.says+`)"`, d.logged())
			d.writes(1)
			d.degraded("CacheRefused", false)
			stored := v.contents()
			assert.Equal(t, snapshot.SecretPresent, stored.Secrets[keyIn(home.namespace, "theirs")].Status)
			assert.Equal(t, away.registryUID(t), stored.Registry.UID())
			require.NoError(t, caddy.Stop())
		})
	}
}

// startAway starts a second cluster.
func startAway(t *testing.T) *town {
	t.Helper()
	cluster, err := kubetest.Start(kubetest.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cluster.Stop()) })
	return &town{Cluster: cluster, tb: t}
}

func (w *town) makeNamespace(t *testing.T) {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
	_, err := w.AdminClient().CoreV1().Namespaces().Create(context.Background(), namespace, metav1.CreateOptions{})
	require.NoError(t, err)
}

// id is what tells the cluster from every other.
func (w *town) id(t *testing.T) string {
	t.Helper()
	namespace, err := w.AdminClient().CoreV1().Namespaces().Get(context.Background(), metav1.NamespaceSystem, metav1.GetOptions{})
	require.NoError(t, err)
	return "kube-system/" + string(namespace.UID)
}

func (w *town) registryUID(t *testing.T) string {
	t.Helper()
	secret, err := w.AdminClient().CoreV1().Secrets(w.namespace).Get(context.Background(), "registry", metav1.GetOptions{})
	require.NoError(t, err)
	return string(secret.UID)
}
