package main

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/authz-bridge/authz-bridge/mirror/kube/kubetest"
)

const (
	namespace      = "authz-bridge"
	serviceAccount = "authz-bridge"
)

// The overlays of deploy/.
const (
	cluster        = "overlays/cluster"
	namespaces     = "overlays/namespaces"
	leastPrivilege = "overlays/least-privilege"
)

func overlays() []string { return []string{cluster, namespaces, leastPrivilege} }

func readManifest(tb testing.TB, name string) []byte {
	tb.Helper()
	content, err := os.ReadFile(filepath.Join("deploy", name))
	require.NoError(tb, err)
	return content
}

var built struct {
	mu  sync.Mutex // guards the rest
	all map[string][]byte
}

// build returns what `kubectl apply -k` would apply, built once in the process.
func build(tb testing.TB, dir string) []byte {
	tb.Helper()
	built.mu.Lock()
	defer built.mu.Unlock()
	if manifests, known := built.all[dir]; known {
		return manifests
	}
	if built.all == nil {
		built.all = make(map[string][]byte)
	}
	built.all[dir] = kustomize(tb, deployed(tb, dir))
	return built.all[dir]
}

// deployed is the whole path of a directory of deploy/.
func deployed(tb testing.TB, dir string) string {
	tb.Helper()
	path, err := filepath.Abs(filepath.Join("deploy", dir))
	require.NoError(tb, err)
	return path
}

// kustomize is what it says: testdata/deploy has its library.
func kustomize(tb testing.TB, target string) []byte {
	tb.Helper()
	module := filepath.Join("..", "testdata", "deploy")
	for _, dir := range []string{"deploy", module} {
		lookAt(tb, dir)
	}
	command := exec.CommandContext(tb.Context(), "go", "run", "./kustomize", target)
	command.Dir = module
	command.Env = append(os.Environ(), "GOWORK=off")
	var problem bytes.Buffer
	command.Stderr = &problem
	manifests, err := command.Output()
	require.NoError(tb, err, problem.String())
	return manifests
}

// lookAt lets go test know that a result depends on the files in a directory, which
// another process reads.
func lookAt(tb testing.TB, dir string) {
	tb.Helper()
	require.NoError(tb, filepath.WalkDir(dir, func(string, fs.DirEntry, error) error { return nil }))
}

// documents are those of one kind.
func documents(manifests []byte, kind string) [][]byte {
	var found [][]byte
	for document := range bytes.SplitSeq(manifests, []byte("\n---\n")) {
		if bytes.Contains(append([]byte("\n"), document...), []byte("\nkind: "+kind+"\n")) {
			found = append(found, document)
		}
	}
	return found
}

// read decodes the one object of a kind in an overlay.
func read[T any](tb testing.TB, overlay, kind string) *T {
	tb.Helper()
	return decode[T](tb, build(tb, overlay), kind)
}

func decode[T any](tb testing.TB, manifests []byte, kind string) *T {
	tb.Helper()
	found := documents(manifests, kind)
	require.Len(tb, found, 1, kind)
	object := new(T)
	require.NoError(tb, yaml.UnmarshalStrict(found[0], object))
	return object
}

func readDeployment(tb testing.TB, overlay string) *appsv1.Deployment {
	tb.Helper()
	return read[appsv1.Deployment](tb, overlay, "Deployment")
}

func readCaddyfile(tb testing.TB, overlay string) string {
	tb.Helper()
	configMap := read[corev1.ConfigMap](tb, overlay, "ConfigMap")
	require.Contains(tb, configMap.Data, "Caddyfile")
	return configMap.Data["Caddyfile"]
}

// apply stores what was built, or files of deploy/.
func apply(tb testing.TB, c *kubetest.Cluster, manifests ...[]byte) {
	tb.Helper()
	for _, each := range manifests {
		require.NoError(tb, c.Apply(tb.Context(), each, false))
	}
}

// applyNamespaces stores the namespaces of an overlay and of the example, and nothing
// else: what is applied in a namespace asks for a real one, even by dry run.
func applyNamespaces(tb testing.TB, c *kubetest.Cluster, overlay string) {
	tb.Helper()
	apply(tb, c, documents(build(tb, overlay), "Namespace")...)
	apply(tb, c, documents(readManifest(tb, "example/app-secret.yaml"), "Namespace")...)
}

func applyExample(tb testing.TB, c *kubetest.Cluster) {
	tb.Helper()
	apply(tb, c, readManifest(tb, "example/registry.yaml"), readManifest(tb, "example/app-secret.yaml"))
}
