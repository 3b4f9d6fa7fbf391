package kube

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

func writeFile(path string, data []byte) error { return os.WriteFile(path, data, 0o600) }

func TestRow24StormEndsInItsLastState(t *testing.T) {
	t.Parallel() // it takes long, and leaves the cluster alone
	b := newBench(t)
	b.startSynced(t, b.cluster.Admin(), b.shopScope())
	calls := b.look(func() int { return b.secretCalls })
	const patches = 3000
	secrets := b.cluster.AdminClient().CoreV1().Secrets(b.shop)
	for i := 1; i <= patches; i++ {
		patch := fmt.Appendf(nil, `{"stringData":{"token":"storm-%d"}}`, i)
		_, err := secrets.Patch(t.Context(), "first", types.MergePatchType, patch, metav1.PatchOptions{})
		require.NoError(t, err)
	}
	b.awaitValue(t, b.key("first"), fmt.Sprint("storm-", patches))
	b.stop()
	assert.LessOrEqual(t, b.secretCalls-calls, patches, "one call an event")
	assert.Empty(t, b.resyncs)
}

// spy is a handler that remembers what a Replace was made of.
type spy struct {
	handler
	mu       sync.Mutex
	replaced []*corev1.Secret
	done     chan struct{}
}

func (s *spy) replace(secrets []*corev1.Secret, version string) {
	s.mu.Lock()
	s.replaced = slices.Clone(secrets)
	s.mu.Unlock()
	s.handler.replace(secrets, version)
	close(s.done)
}

func TestUnreferencedSecretsAreNotKept(t *testing.T) {
	t.Parallel() // it takes long, and leaves the cluster alone
	const many, size = 2000, 20_000
	b := newBench(t)
	b.putMany(t, many, size)
	b.put(t, "clients", "one")

	l := newLedger(b.shopScope())
	l.open(b.recorder, func(snapshot.Key) { t.Error("nothing is to be read") })
	l.reference(b.references("clients"))
	watched := l.areas[snapshot.Key{Namespace: b.shop}]
	s := &spy{handler: watched, done: make(chan struct{})}
	api, err := newClient(clientConfig(b.cluster.Admin()))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { newWatcher(watched.target, s, api, newValidation(newRecorder()), &running).run(ctx) })
	<-s.done
	cancel()
	running.Wait()
	api.close()

	require.Len(t, s.replaced, many+1)
	var bytes int
	for _, secret := range s.replaced {
		for _, value := range secret.Data {
			bytes += len(value)
		}
		assert.Equal(t, secret.Name != "clients", isStub(secret))
	}
	assert.Equal(t, len("one"), bytes, "of all Secrets, what was gathered are the bytes of the referenced one")
	assert.Len(t, watched.entries, 1)
	assert.Equal(t, "one", b.held(b.key("clients")))
}

func (b *bench) putMany(t *testing.T, many, size int) {
	t.Helper()
	secrets := b.cluster.AdminClient().CoreV1().Secrets(b.shop)
	data := map[string][]byte{"blob": bytes.Repeat([]byte("x"), size)}
	numbers := make(chan int)
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for i := range numbers {
				secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("blob-", i)}, Data: data}
				if _, err := secrets.Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
					t.Errorf("create: %v", err)
				}
			}
		})
	}
	for i := range many {
		numbers <- i
	}
	close(numbers)
	workers.Wait()
}

// goroutines returns the stacks of those that run in this package (tests
// excepted) or in client-go for it.
func goroutines() []string {
	buffer := make([]byte, 16<<20)
	buffer = buffer[:runtime.Stack(buffer, true)]
	var found []string
	for stack := range strings.SplitSeq(string(buffer), "\n\n") {
		ours := strings.Contains(stack, "mirror/kube.(*") && !strings.Contains(stack, "_test.go")
		if ours || strings.Contains(stack, "client-go/tools/cache") || strings.Contains(stack, "client-go/util/workqueue") {
			found = append(found, stack)
		}
	}
	return found
}

func TestNoGoroutineIsLeft(t *testing.T) {
	outages := map[string]func(*testing.T, *bench){
		"after all was well": func(*testing.T, *bench) {},
		"while the connection is cut": func(t *testing.T, b *bench) {
			b.proxied.Cut()
			b.awaitOutage(t)
		},
		"while the connection is frozen": func(_ *testing.T, b *bench) {
			b.proxied.Freeze()
			b.source.Reference(b.references("first", "later")) // a read that hangs
		},
	}
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			require.Empty(t, goroutines(), "left by another test")
			b := newBench(t)
			b.proxied = b.proxy(t)
			b.startSynced(t, via(b.cluster.Admin(), b.proxied), b.shopScope())
			assert.NotEmpty(t, goroutines())
			outage(t, b)

			begin := time.Now()
			b.stop()
			assert.Less(t, time.Since(begin), 2*time.Second, "Run returns at once")
			calls := b.look(func() int { return b.secretCalls + b.registryCalls })
			assert.EventuallyWithT(t, func(c *assert.CollectT) { assert.Empty(c, goroutines()) },
				2*lastPause, 10*time.Millisecond)
			assert.Equal(t, calls, b.secretCalls+b.registryCalls)
		})
	}
}

func TestRunEndsThatNeverGotAnywhere(t *testing.T) {
	b := newBench(t)
	b.start(t, b.cluster.User("nobody-"+b.shop), Scope{})
	b.stop()
	assert.Empty(t, b.failures["secrets in all namespaces"])
}
