package bench

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// measureMemory compares a process that mirrors many Apps with one that mirrors
// none, so that all is in it, what the Source keeps for itself as well.
func measureMemory(t *testing.T, b *bench) {
	apps := b.pick(100_000, 10_000)
	none, many := heapWithFiles(t, 0), heapWithFiles(t, apps)
	b.tellMore(fmt.Sprintf("live heap of the process per App, %s Apps", count(apps).text),
		plainBytes((many-none)/float64(apps)).text, "API keys, source files, all that the process keeps")
}

func heapWithFiles(t *testing.T, apps int) (heap float64) {
	t.Helper()
	t.Run(fmt.Sprintf("apps=%d", apps), func(t *testing.T) {
		w := town{size: apps, kinds: []kind{byAPIKey()}}
		c := newConfig(t, w.writeFiles(t))
		c.site(authorized)
		d := startCaddy(t, c)
		d.awaitServing(apps)
		heap = d.heap()
	})
	return heap
}

// measureBulk starts the bridge in a cluster that is full of large Secrets, and in
// one that is not.
func measureBulk(t *testing.T, b *bench) {
	secrets := b.pick(10_000, 500)
	const size = 100_000
	w := town{size: 10, kinds: []kind{byAPIKey()}}
	h := newHall(t)
	h.settle(t, w)
	without := syncAndWatch(t, h, w)

	value := make([]byte, size)
	h.createAll(t, secrets, func(i int) *corev1.Secret {
		return newSecret(fmt.Sprintf("bulk-%d", i), "blob", value)
	})
	with := syncAndWatch(t, h, w)

	what := fmt.Sprintf("heap that %s unreferenced Secrets of 100 KB add", count(secrets).text)
	b.atMost(what+", after sync", mebibytes(16<<20), mebibytes(with.live-without.live),
		mebibytes(with.live).text+" : "+mebibytes(without.live).text)
	b.atMost(what+", at peak, garbage included", mebibytes(64<<20), mebibytes(with.peak-without.peak),
		fmt.Sprintf("%s : %s; in sync after %s", mebibytes(with.peak).text, mebibytes(without.peak).text, duration(with.took).text))
}

// footprint is what a process took to get in sync.
type footprint struct {
	live, peak float64
	took       time.Duration
}

func syncAndWatch(t *testing.T, h *hall, w town) (f footprint) {
	t.Helper()
	c := newConfig(t, h.option(""))
	site := c.site(authorized)
	begin := time.Now()
	d := startCaddy(t, c)
	defer d.stop()
	peak := watchHeap(d)
	d.awaitServing(w.size)
	f.took = time.Since(begin)
	awaitStatus(t, site, w.requests(0)[0], http.StatusOK, 10*time.Millisecond).Close()
	f.live = d.heap()
	f.peak = peak()
	require.Positive(t, f.peak)
	return f
}

// watchHeap looks at the heap again and again until the peak is asked for.
func watchHeap(d *caddy) (peak func() float64) {
	var done atomic.Bool
	var watching sync.WaitGroup
	highest := 0.0
	watching.Go(func() {
		for !done.Load() {
			if now, err := d.tryMetric(heapSeries); err == nil {
				highest = max(highest, now)
			}
			<-time.After(10 * time.Millisecond)
		}
	})
	return func() float64 {
		done.Store(true)
		watching.Wait()
		return highest
	}
}
