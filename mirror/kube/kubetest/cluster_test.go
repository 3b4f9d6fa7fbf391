package kubetest

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

const frozenDeadline = 300 * time.Millisecond

func TestServerReportsTheVersionThatGoModAsksFor(t *testing.T) {
	cluster := Shared(t)
	module, err := findClusterModule()
	require.NoError(t, err)
	flags, err := module.linkerFlags()
	require.NoError(t, err)

	version, err := cluster.AdminClient().Discovery().ServerVersion()

	require.NoError(t, err)
	assert.Contains(t, flags, "gitVersion="+version.GitVersion+" ")
}

func TestSecretsAreCreatedReplacedAndDeleted(t *testing.T) {
	cluster := Shared(t)
	namespace := cluster.Namespace(t, "secrets")

	created := cluster.PutSecret(t, namespace, "clients", map[string]string{"a": "1"})
	replaced := cluster.PutSecret(t, namespace, "clients", map[string]string{"b": "2"})
	cluster.DeleteSecret(t, namespace, "clients")

	assert.Equal(t, created.UID, replaced.UID)
	assert.Equal(t, map[string][]byte{"b": []byte("2")}, replaced.Data)
	_, err := getSecret(t.Context(), cluster, namespace, "clients")
	assert.True(t, apierrors.IsNotFound(err), "%v", err)
}

func TestNamespacesOfTestsAreTheirOwnAndLeaveNoSecrets(t *testing.T) {
	cluster := Shared(t)
	names := map[string]bool{}
	for range 2 {
		t.Run("a test", func(t *testing.T) {
			namespace := cluster.Namespace(t, "same")
			cluster.PutSecret(t, namespace, "clients", nil)
			names[namespace] = true
		})
	}

	assert.Len(t, names, 2)
	for namespace := range names {
		list, err := cluster.AdminClient().CoreV1().Secrets(namespace).List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		assert.Empty(t, list.Items)
	}
}

func TestKilledAPIServerComesBackWithItsData(t *testing.T) {
	cluster := Shared(t)
	namespace := cluster.Namespace(t, "kill")
	stored := cluster.PutSecret(t, namespace, "clients", map[string]string{"token": "one"})
	url := cluster.URL()

	require.NoError(t, cluster.KillAPIServer())

	_, err := getSecret(t.Context(), cluster, namespace, "clients")
	require.ErrorContains(t, err, "connection refused")
	require.ErrorContains(t, cluster.KillAPIServer(), "does not run")

	require.NoError(t, cluster.StartAPIServer())

	require.Equal(t, url, cluster.URL())
	found, err := getSecret(t.Context(), cluster, namespace, "clients")
	require.NoError(t, err)
	assert.Equal(t, stored.ResourceVersion, found.ResourceVersion)
	assert.ErrorContains(t, cluster.StartAPIServer(), "runs already")
}

func TestFrozenProcessAnswersAfterTheThaw(t *testing.T) {
	cluster := Shared(t)
	namespace := cluster.Namespace(t, "freeze")
	cluster.PutSecret(t, namespace, "clients", nil)
	processes := map[string]struct{ freeze, thaw func() error }{
		"kube-apiserver": {cluster.FreezeAPIServer, cluster.ThawAPIServer},
		"etcd":           {cluster.FreezeEtcd, cluster.ThawEtcd},
	}
	for name, process := range processes {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, process.freeze())
			t.Cleanup(func() { _ = process.thaw() })
			ctx, cancel := context.WithTimeout(t.Context(), frozenDeadline)
			defer cancel()
			_, err := getSecret(ctx, cluster, namespace, "clients")
			require.ErrorIs(t, err, context.DeadlineExceeded)

			require.NoError(t, process.thaw())
			_, err = getSecret(t.Context(), cluster, namespace, "clients")
			assert.NoError(t, err)
		})
	}
}

func TestStoppedEtcdComesBackWithItsData(t *testing.T) {
	cluster := Shared(t)
	namespace := cluster.Namespace(t, "etcd")
	cluster.PutSecret(t, namespace, "clients", nil)

	require.NoError(t, cluster.StopEtcd())

	ctx, cancel := context.WithTimeout(t.Context(), frozenDeadline)
	defer cancel()
	_, err := getSecret(ctx, cluster, namespace, "clients")
	require.Error(t, err)
	require.ErrorContains(t, cluster.StopEtcd(), "does not run")

	require.NoError(t, cluster.StartEtcd())

	_, err = getSecret(t.Context(), cluster, namespace, "clients")
	assert.NoError(t, err)
	assert.ErrorContains(t, cluster.StartEtcd(), "runs already")
}

func TestRestoredClusterIsTheOlderOne(t *testing.T) {
	cluster := Shared(t)
	namespace := cluster.Namespace(t, "restore")
	old := cluster.PutSecret(t, namespace, "clients", map[string]string{"token": "old"})
	snapshot := filepath.Join(t.TempDir(), "snapshot")
	require.NoError(t, cluster.SnapshotEtcd(snapshot))
	cluster.PutSecret(t, namespace, "clients", map[string]string{"token": "new"})
	cluster.PutSecret(t, namespace, "later", nil)

	require.NoError(t, cluster.RestoreEtcd(snapshot))

	found, err := getSecret(t.Context(), cluster, namespace, "clients")
	require.NoError(t, err)
	assert.Equal(t, old.ResourceVersion, found.ResourceVersion)
	assert.Equal(t, "old", string(found.Data["token"]))
	_, err = getSecret(t.Context(), cluster, namespace, "later")
	assert.True(t, apierrors.IsNotFound(err), "%v", err)
	again := cluster.PutSecret(t, namespace, "clients", map[string]string{"token": "new"})
	assert.NotEqual(t, old.ResourceVersion, again.ResourceVersion)
}

func TestDataInANamedDirectoryOutlivesTheCluster(t *testing.T) {
	dir := t.TempDir()
	first := startIn(t, dir)
	uid := first.PutSecret(t, metav1.NamespaceDefault, "clients", nil).UID
	_, err := Start(Options{Dir: dir})
	require.ErrorContains(t, err, "another cluster runs in it")
	require.NoError(t, first.Stop())

	second := startIn(t, dir)

	found, err := getSecret(t.Context(), second, metav1.NamespaceDefault, "clients")
	require.NoError(t, err)
	assert.Equal(t, uid, found.UID)
}

func TestFailedStartReportsTheLogAndLeavesNothing(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)

	_, err := Start(Options{APIServerArgs: []string{"--no-such-flag"}})

	require.ErrorContains(t, err, "kube-apiserver ended before it was ready")
	require.ErrorContains(t, err, "unknown flag: --no-such-flag")
	left, err := os.ReadDir(temporary)
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestProxyStandsBetweenAClientAndTheServer(t *testing.T) {
	cluster := Shared(t)
	proxy := startProxy(t, cluster.Address())
	config := load(t, cluster.KubeconfigVia(t, cluster.Admin(), proxy.Address()))
	client, err := rest.HTTPClientFor(config) // unlike a clientset it does not retry
	require.NoError(t, err)
	require.NoError(t, getVersion(t.Context(), client, config.Host))

	proxy.Cut()
	require.Error(t, getVersion(t.Context(), client, config.Host))

	proxy.Freeze()
	ctx, cancel := context.WithTimeout(t.Context(), frozenDeadline)
	defer cancel()
	require.ErrorIs(t, getVersion(ctx, client, config.Host), context.DeadlineExceeded)

	proxy.Pass()
	assert.NoError(t, getVersion(t.Context(), client, config.Host))
	assert.Greater(t, proxy.Accepted(), 1)
}

func startIn(t *testing.T, dir string) *Cluster {
	t.Helper()
	cluster, err := Start(Options{Dir: dir})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, cluster.Stop()) })
	return cluster
}

func getSecret(ctx context.Context, cluster *Cluster, namespace, name string) (*corev1.Secret, error) {
	return cluster.AdminClient().CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
}

func getVersion(ctx context.Context, client *http.Client, server string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server+"/version", nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}
