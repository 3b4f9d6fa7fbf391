package kube

import (
	"net/http"
	"net/url"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

// newTestWatcher watches for the Secret "clients" alone. What it asks is noted.
func newTestWatcher(t *testing.T, b *bench) (w *watcher, asked func() []url.Values) {
	t.Helper()
	var mu sync.Mutex
	var queries []url.Values
	config := b.cluster.Admin()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(request *http.Request) (*http.Response, error) {
			mu.Lock()
			queries = append(queries, request.URL.Query())
			mu.Unlock()
			return next.RoundTrip(request)
		})
	})
	api, err := newClient(clientConfig(config))
	require.NoError(t, err)
	t.Cleanup(api.close)
	l := newLedger(b.shopScope())
	l.open(b.recorder, nil)
	l.reference(b.references("clients"))
	a := l.areas[snapshot.Key{Namespace: b.shop}]
	asked = func() []url.Values {
		mu.Lock()
		defer mu.Unlock()
		return queries
	}
	return newWatcher(a.target, a, api, newValidation(newRecorder()), &sync.WaitGroup{}), asked
}

func TestListOfAnOldServerIsFreshAndSlim(t *testing.T) {
	b := newBench(t)
	b.put(t, "clients", "one")
	b.put(t, "unreferenced", "two")
	w, asked := newTestWatcher(t, b)
	w.mustList.Store(true)
	listed, err := w.list(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
	require.NoError(t, err)

	assert.Empty(t, asked()[0].Get("resourceVersion"), "any version would do for 0")
	for _, secret := range listed.(*corev1.SecretList).Items {
		assert.Equal(t, secret.Name != "clients", isStub(&secret), secret.Name)
		assert.Equal(t, secret.Name == "clients", len(secret.Data) > 0, secret.Name)
	}
	assert.Empty(t, b.recoveries)
}

func TestListIsNotTriedWhereTheWatchFailed(t *testing.T) {
	b := newBench(t)
	w, asked := newTestWatcher(t, b)
	_, err := w.list(t.Context(), metav1.ListOptions{})
	require.ErrorIs(t, err, errNoWatch)
	assert.Empty(t, asked())
}

func TestWatchAsksForWhatTheScopeShows(t *testing.T) {
	b := newBench(t)
	w, asked := newTestWatcher(t, b)
	w.target.labels = "team=web"
	events, err := w.watch(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	events.Stop()
	w.running.Wait()

	assert.Equal(t, "type!=helm.sh/release.v1,type!=kubernetes.io/service-account-token", asked()[0].Get("fieldSelector"))
	assert.Equal(t, "team=web", asked()[0].Get("labelSelector"))
	assert.Equal(t, "metadata.name=registry", registryTarget(shopKey("registry")).fields().String())
}
