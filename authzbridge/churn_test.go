package authzbridge_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/authzbridge"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

// version is a Registry in which one App, named after the version, has the same
// two hostnames in every version and one of its own.
func version(n int) string {
	return document(fmt.Sprintf("name: v%d\nhostnames: [a.example.com, b.example.com, v%d.example.com]\nsecretRef: {name: shared}", n, n))
}

func TestNoReaderSeesHalfAChangeWhileTheRegistryChurns(t *testing.T) {
	const versions = 200
	w := newTown(t)
	w.secret("shared", someToken())
	w.registry(version(0))
	d := newDoor(t, w.option())
	d.errors = `respond "{http.authz_bridge.app} {http.authz_bridge.generation}" {err.status_code}`
	require.NoError(t, d.load())
	d.becomes("a.example.com", http.StatusOK)

	var readers sync.WaitGroup
	var done atomic.Bool
	var looked, asked atomic.Int64
	for range 2 {
		readers.Go(func() {
			for !done.Load() {
				apps, ok := authzbridge.CurrentApps()
				if !assert.True(t, ok) || !assert.NoError(t, whole(apps)) {
					return
				}
				looked.Add(1)
			}
		})
	}
	for range 3 {
		readers.Go(func() {
			var last uint64
			for !done.Load() {
				generation, same, err := d.askBoth()
				if !assert.NoError(t, err) || !assert.GreaterOrEqual(t, generation, last, "the generation went back") {
					return
				}
				last = generation
				if same {
					asked.Add(1)
				}
			}
		})
	}
	for n := 1; n <= versions; n++ {
		w.registry(version(n))
	}
	last := "v" + strconv.Itoa(versions)
	eventually(t, func() bool { return d.ask("a.example.com").app == last }, "the last state is never served")
	done.Store(true)
	readers.Wait()
	assert.Positive(t, looked.Load())
	assert.Positive(t, asked.Load())
	st := d.bridge()
	assert.Equal(t, 3, st.Apps.Hostnames)
	t.Logf("%d generations, %d looks, %d pairs of requests to one version", st.Generation, looked.Load(), asked.Load())
}

// whole checks that the hostname index and the App set agree.
func whole(apps *snapshot.Apps) error {
	hostnames := 0
	for i := range apps.Len() {
		app := apps.At(i)
		for _, h := range app.Hostnames {
			hostnames++
			if found, reason := apps.Lookup(h); found != app {
				return fmt.Errorf("%s belongs to %s, and the index says %v", h, app.Name, reason)
			}
		}
	}
	if hostnames != apps.Hostnames() {
		return fmt.Errorf("%d hostnames in the Apps, %d in the index", hostnames, apps.Hostnames())
	}
	return nil
}

// askBoth asks for a hostname that is always open, and for the one of the version
// that answered. It returns the generation that answered first, and whether the
// second answer is of the same one, so that both must agree.
func (d *door) askBoth() (generation uint64, same bool, err error) {
	always, err := d.try("a.example.com")
	if err != nil {
		return 0, false, err
	}
	app, rest, _ := strings.Cut(always.body, " ")
	generation, err = strconv.ParseUint(rest, 10, 64)
	if always.status != http.StatusOK || err != nil {
		return 0, false, fmt.Errorf("a.example.com: %d %q", always.status, always.body)
	}
	own, err := d.try(app + ".example.com")
	if err != nil {
		return 0, false, err
	}
	same = own.status == http.StatusOK
	if same && own.app != app {
		return 0, false, fmt.Errorf("%s.example.com belongs to %q", app, own.body)
	}
	if !same && own.body == " "+rest {
		return 0, false, fmt.Errorf("%s.example.com: %d in generation %s, which has it", app, own.status, rest)
	}
	return generation, same, nil
}

func TestTheLastStateOfABurstIsServed(t *testing.T) {
	w := newTown(t)
	w.secret("shared", someToken())
	w.registry(version(0))
	d := open(t, w.option())
	d.becomes("a.example.com", http.StatusOK)

	before, begin := d.bridge().Rebuilds, time.Now()
	for n := 1; n <= 300; n++ {
		w.secret("shared", map[string]string{"token": strconv.Itoa(n)})
	}
	w.DeleteSecret(t, w.namespace, "shared")
	d.becomes("a.example.com", http.StatusServiceUnavailable)
	rebuilds := d.bridge().Rebuilds - before
	// The pause after each build is 20 ms at least.
	most := uint64(time.Since(begin)/(20*time.Millisecond)) + 2
	assert.LessOrEqual(t, rebuilds, most)
	require.Positive(t, rebuilds)
}

func TestAnAppExpiresByItself(t *testing.T) {
	w := newTown(t)
	w.secret("shop", someToken())
	expiry := time.Now().Add(3 * time.Second).Truncate(time.Second).Add(time.Second)
	w.registry(document(app("shop", "shop.example.com") + "\nexpiresAt: " + expiry.UTC().Format(time.RFC3339)))
	d := open(t, w.option())
	d.becomes("shop.example.com", http.StatusOK)
	require.True(t, time.Now().Before(expiry), "the test was too slow to see the App open")

	d.becomes("shop.example.com", http.StatusForbidden)
	assert.False(t, time.Now().Before(expiry))
	eventually(t, func() bool { return d.bridge().Apps.Serving == 0 }, "the expiry wakes nobody")
	assert.Equal(t, "app_expired", d.bridge().Apps.NotServing[0].Reason)
}
