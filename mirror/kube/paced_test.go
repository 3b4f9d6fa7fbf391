package kube

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/authz-bridge/authz-bridge/mirror"
)

// brisk is a pace that tests can wait for.
func brisk() pace {
	return pace{pause: 50 * time.Millisecond, timeout: 5 * time.Second, news: 50 * time.Millisecond, late: time.Hour}
}

// newBrisk is a bench whose Source probes often, with a Registry and a Secret
// "clients".
func newBrisk(t *testing.T) *bench {
	t.Helper()
	b := newBench(t)
	b.pace = brisk()
	b.putRegistry(t, "one")
	b.put(t, "clients", "one")
	return b
}

// startWith starts a Source and returns when its watches are in sync.
func (b *bench) startWith(t *testing.T, config *rest.Config, names ...string) {
	t.Helper()
	b.start(t, config, b.shopScope())
	b.reference(t, names...)
	b.await(t, "the watches are in sync", func() bool { return len(b.states) == len(names) })
}

func (b *bench) probeTitle() string { return "probe of " + b.registryTitle() }

func (b *bench) putRegistry(t *testing.T, text string) {
	t.Helper()
	b.cluster.PutSecret(t, b.team, registryName, map[string]string{"registry.yaml": text})
}

// move has the revision of the data move on without a change of any Secret.
func (b *bench) move(t *testing.T) {
	t.Helper()
	_, err := b.cluster.AdminClient().CoreV1().ConfigMaps(b.shop).Create(t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "move-"}}, metav1.CreateOptions{})
	require.NoError(t, err)
}

// lastFresh is what was told last.
func (r *recorder) lastFresh() mirror.Freshness {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fresher()
}

func (r *recorder) fresher() mirror.Freshness {
	if len(r.fresh) == 0 {
		return mirror.Freshness{}
	}
	return r.fresh[len(r.fresh)-1]
}

func (r *recorder) awaitAsOf(t *testing.T, after time.Time) {
	t.Helper()
	r.await(t, "all is known as of later", func() bool { return r.fresher().AsOf.After(after) })
}

func (r *recorder) awaitContact(t *testing.T, after time.Time) {
	t.Helper()
	r.await(t, "contact", func() bool { return r.fresher().Contact.After(after) })
}

// awaitHealth returns when changes arrive and are known as of after now. The changes
// bring the watches to the revisions of the probes; bookmarks would take a minute.
func (b *bench) awaitHealth(t *testing.T) {
	t.Helper()
	begin := time.Now()
	for i := 0; !b.lastFresh().AsOf.After(begin); i++ {
		require.Less(t, time.Since(begin), patience, "no change is known as of later")
		token := fmt.Sprint("well-", i)
		b.putRegistry(t, token)
		b.put(t, "clients", token)
		b.awaitValue(t, b.key("clients"), token)
	}
}
