package bench

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

// measureStart starts the process again and again, with the cluster there, and
// with nothing but the Cache.
func measureStart(t *testing.T, b *bench) {
	starts := b.pick(11, 2)
	w := town{size: b.pick(10_000, 1000), kinds: []kind{byAPIKey()}}
	h := newHall(t)
	h.settle(t, w)
	request := w.requests(0)[0]

	nothing := timeStarts(t, starts, "", bare, request)
	live := timeStarts(t, starts, h.option(""), authorized, request)
	cached := h.option(fmt.Sprintf("startup_timeout 0s\ncache %s/cache {\nkey {env.BENCH_CACHE_KEY}\npersist_interval 1s\n}", t.TempDir()))
	writeCache(t, cached, w.size)
	if err := h.KillAPIServer(); err != nil {
		t.Fatal(err)
	}
	fromCache := timeStarts(t, starts, cached, authorized, request)

	what := fmt.Sprintf("%s Apps, ", count(w.size).text)
	b.atMost(what+"from the Cache, without an API server", duration(150*time.Millisecond), duration(median(fromCache)), spread(fromCache))
	b.atMost(what+"live", duration(400*time.Millisecond), duration(median(live)), spread(live))
	b.tellMore("the same Caddy that only answers", duration(median(nothing)).text, spread(nothing))
}

func spread(times []time.Duration) string {
	return fmt.Sprintf("median of %d, the slowest %s", len(times), duration(quantile(times, 1)).text)
}

const cacheKey = "BENCH_CACHE_KEY=0123456789abcdef0123456789abcdef"

// timeStarts returns how long it took from the start of each process until it
// answered the request with 200.
func timeStarts(t *testing.T, starts int, option, content string, request []byte) (all []time.Duration) {
	t.Helper()
	for range starts {
		c := newConfig(t, option)
		site := c.site(content)
		begin := time.Now()
		d := startCaddy(t, c, cacheKey)
		asker := awaitStatus(t, site, request, http.StatusOK, time.Millisecond)
		all = append(all, time.Since(begin))
		asker.Close()
		d.stop()
	}
	return all
}

// writeCache runs the bridge until it has stored what it serves.
func writeCache(t *testing.T, option string, apps int) {
	t.Helper()
	c := newConfig(t, option)
	c.site(authorized)
	d := startCaddy(t, c, cacheKey)
	d.awaitServing(apps)
	d.stop() // stores once more
}
