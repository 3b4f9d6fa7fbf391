package bench

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/authz-bridge/authz-bridge/mirror/kube/kubetest"
)

const (
	namespace = metav1.NamespaceDefault
	dataKey   = "token"

	// mostRequests bounds the Apps of one kind that are asked.
	mostRequests = 10_000

	// writers is how many write to an API server at once.
	writers = 16
)

// town is Apps of some kinds in turn, each with a Secret of its own.
type town struct {
	size  int
	kinds []kind
}

func appName(i int) string { return fmt.Sprintf("app-%d", i) }

func host(app string) string { return app + ".example.com" }

func (w town) kindOf(i int) kind { return w.kinds[i%len(w.kinds)] }

// requests returns one for each App of a kind, in no order.
func (w town) requests(k int) [][]byte {
	var all [][]byte
	for i := k; i < w.size; i += len(w.kinds) {
		name := appName(i)
		all = append(all, newRequest(host(name), w.kinds[k].header(name)...))
	}
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	most := mostRequests
	if w.kinds[k].most > 0 {
		most = w.kinds[k].most
	}
	return all[:min(len(all), most)]
}

type secretRef struct {
	Name string `json:"name"`
	Key  string `json:"key"`
}

type entry struct {
	Name      string          `json:"name"`
	Hostnames []string        `json:"hostnames"`
	SecretRef secretRef       `json:"secretRef"`
	AnyOf     json.RawMessage `json:"anyOf,omitempty"`
}

// registry returns the document that lists all Apps.
func (w town) registry(t *testing.T) []byte {
	t.Helper()
	entries := make([]entry, w.size)
	for i := range entries {
		name := appName(i)
		entries[i] = entry{
			Name:      name,
			Hostnames: []string{host(name)},
			SecretRef: secretRef{Name: name, Key: dataKey},
			AnyOf:     json.RawMessage(w.kindOf(i).anyOf),
		}
	}
	text, err := json.Marshal(map[string]any{"version": 1, "apps": entries})
	require.NoError(t, err)
	return text
}

// hall is an API server of its own with a town in it.
type hall struct {
	*kubetest.Cluster
	kubeconfig string
	secrets    typedcorev1.SecretInterface
}

func newHall(t *testing.T) *hall {
	t.Helper()
	cluster, err := kubetest.Start(kubetest.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cluster.Stop()) })
	admin := cluster.Admin()
	admin.ContentType = runtime.ContentTypeProtobuf // the cheapest for both sides
	client, err := kubernetes.NewForConfig(admin)
	require.NoError(t, err)
	return &hall{
		Cluster:    cluster,
		kubeconfig: cluster.Kubeconfig(t, cluster.Admin()),
		secrets:    client.CoreV1().Secrets(namespace),
	}
}

// settle writes the Secrets of a town, and then its Registry.
func (h *hall) settle(t *testing.T, w town) {
	t.Helper()
	h.createAll(t, w.size, func(i int) *corev1.Secret {
		name := appName(i)
		return newSecret(name, dataKey, []byte(w.kindOf(i).value(name)))
	})
	var packed bytes.Buffer
	gz := gzip.NewWriter(&packed)
	_, err := gz.Write(w.registry(t))
	require.NoError(t, err)
	require.NoError(t, gz.Close())
	h.createAll(t, 1, func(int) *corev1.Secret {
		return newSecret("registry", "registry.json.gz", packed.Bytes())
	})
}

// createAll writes so many Secrets, as fast as it goes.
func (h *hall) createAll(t *testing.T, n int, secret func(i int) *corev1.Secret) {
	t.Helper()
	atOnce := timetable{rate: int(time.Second), calls: n, workers: writers}
	_, err := atOnce.run(func(_, i int) error {
		_, err := h.secrets.Create(t.Context(), secret(i), metav1.CreateOptions{})
		return err
	})
	require.NoError(t, err)
}

// rotate gives an App's Secret another key.
func (h *hall) rotate(ctx context.Context, name, key string) error {
	_, err := h.secrets.Update(ctx, newSecret(name, dataKey, []byte(key)), metav1.UpdateOptions{})
	return err
}

func newSecret(name, key string, value []byte) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Data:       map[string][]byte{key: value},
	}
}

// option is the content of the global option for the town in the hall.
func (h *hall) option(more string) string {
	return fmt.Sprintf("registry %s/registry\nsource kubernetes {\nkubeconfig %s\n}\n%s", namespace, h.kubeconfig, more)
}

// writeFiles writes a town as manifests and returns the content of the global option
// for it.
func (w town) writeFiles(t *testing.T) (option string) {
	t.Helper()
	const inOneFile = 1000
	dir := t.TempDir()
	for begin := 0; begin < w.size; begin += inOneFile {
		var text bytes.Buffer
		for i := begin; i < min(begin+inOneFile, w.size); i++ {
			name := appName(i)
			text.WriteString("---\n")
			require.NoError(t, json.NewEncoder(&text).Encode(newManifest(name, dataKey, w.kindOf(i).value(name))))
		}
		file := filepath.Join(dir, fmt.Sprintf("secrets-%d.yaml", begin))
		require.NoError(t, os.WriteFile(file, text.Bytes(), 0o600))
	}
	manifest, err := json.Marshal(newManifest("registry", "registry.json", string(w.registry(t))))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "registry.json"), manifest, 0o600))
	return fmt.Sprintf("registry %s/registry\nsource files %s", namespace, dir)
}

func newManifest(name, key, value string) map[string]any {
	return map[string]any{
		"apiVersion": "v1",
		"kind":       "Secret",
		"metadata":   map[string]string{"namespace": namespace, "name": name},
		"stringData": map[string]string{key: value},
	}
}
