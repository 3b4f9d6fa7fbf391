package bench

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// measureRotation changes one key at a time and asks with the new one, beside a
// Caddy that is told of a host by a reload.
func measureRotation(t *testing.T, b *bench) {
	t.Run("Secrets", func(t *testing.T) {
		w := town{size: b.pick(10_000, 1000), kinds: []kind{byAPIKey()}}
		times := rotateSecrets(t, w, b.pick(1000, 50))
		what := fmt.Sprintf("%s Apps, Secret write returned to decision served, p99", count(w.size).text)
		b.atMost(what, duration(5*time.Millisecond), duration(quantile(times, 0.99)),
			fmt.Sprintf("%d rotations; p50 %s, max %s", len(times), duration(median(times)).text, duration(quantile(times, 1)).text))
	})
	t.Run("reloads", func(t *testing.T) {
		const hosts = 10_000
		times := reloadHosts(t, hosts, b.pick(20, 3))
		b.tellMore(fmt.Sprintf("Caddy's map of %s hosts, reload through the admin API, p50", count(hosts).text), duration(median(times)).text,
			fmt.Sprintf("%d reloads; max %s; from the request until the decision is served", len(times), duration(quantile(times, 1)).text))
	})
}

// rotateSecrets leaves a pause after each, longer than the loop's own, so that
// changes do not wait for each other.
func rotateSecrets(t *testing.T, w town, rotations int) (times []time.Duration) {
	t.Helper()
	h := newHall(t)
	h.settle(t, w)
	c := newConfig(t, h.option(""))
	site := c.site(authorized)
	startCaddy(t, c).awaitServing(w.size)
	asker, err := dial(site)
	require.NoError(t, err)
	defer asker.Close()
	for i := range rotations {
		name, key := appName(rand.IntN(w.size)), fmt.Sprintf("key-%d", i)
		request := newRequest(host(name), keyHeader(key))
		require.NoError(t, h.rotate(t.Context(), name, key))
		begin := time.Now()
		untilAnswered(t, asker, request, http.StatusOK)
		times = append(times, time.Since(begin))
		<-time.After(25*time.Millisecond + rand.N(20*time.Millisecond))
	}
	return times
}

// untilAnswered asks over one connection until the status comes.
func untilAnswered(t *testing.T, asker *conn, request []byte, want int) {
	t.Helper()
	for over := time.Now().Add(patience); ; {
		status, err := asker.ask(request)
		require.NoError(t, err)
		if status == want {
			return
		}
		require.True(t, time.Now().Before(over), "never answered %d, but %d", want, status)
		<-time.After(100 * time.Microsecond)
	}
}

// reloadHosts opens and closes the last host of a map. Connections do not outlive
// a reload, so each is asked over a new one.
func reloadHosts(t *testing.T, hosts, reloads int) (times []time.Duration) {
	t.Helper()
	c := newConfig(t, "")
	site := c.site(hostMap(hosts))
	d := startCaddy(t, c)
	last := host(appName(hosts - 1))
	request := newRequest(last)
	awaitStatus(t, site, request, http.StatusOK, 10*time.Millisecond).Close()
	open := adapt(t, c.String())
	closed := adapt(t, strings.Replace(c.String(), last+" yes", last+" no", 1))
	for i := range reloads {
		config, want := closed, http.StatusForbidden
		if i%2 == 1 {
			config, want = open, http.StatusOK
		}
		begin := time.Now()
		response, err := d.client.Post("http://"+d.admin+"/load", "application/json", bytes.NewReader(config))
		require.NoError(t, err)
		response.Body.Close()
		require.Equal(t, http.StatusOK, response.StatusCode)
		awaitStatus(t, site, request, want, 100*time.Microsecond).Close()
		times = append(times, time.Since(begin))
	}
	return times
}
