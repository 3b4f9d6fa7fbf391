package authzbridge_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/mirror"
)

func TestWhatIsOlderThanMaxAgeIsClosedByItselfAndOpenedByAValidation(t *testing.T) {
	// left is how long it is served: more than a start takes.
	const maxAge, left = 5 * time.Minute, 5 * time.Second
	r := newReach(t)
	r.secret("open", someToken())
	r.registry(document(app("open", "open.example.com")))
	d := r.stored(t, "open.example.com", http.StatusOK)
	r.proxy.Cut()
	ready := d.probed(t)
	d.option = r.option("startup_timeout 0s", "max_age 5m")
	d.inside = "unknown pass"
	until := time.Now().Add(left)
	r.rewrite(func(c *mirror.Contents) { c.Validated = until.Add(-maxAge) })
	require.NoError(t, d.load())
	require.Equal(t, http.StatusOK, d.status("open.example.com"))
	served := d.bridge()
	assert.Equal(t, "from_cache", served.State)
	assert.Equal(t, http.StatusOK, ready())

	t.Log("nothing happens but that time passes")
	d.becomes("open.example.com", http.StatusServiceUnavailable)
	assert.False(t, time.Now().Before(until), "not too early")
	assertStale(t, d)
	assert.Greater(t, d.bridge().Generation, served.Generation)
	assert.Equal(t, http.StatusServiceUnavailable, ready())
	assert.Equal(t, http.StatusServiceUnavailable, d.status("unknown.example.com"), "it may have become known")

	t.Log("a reload opens nothing")
	d.inside = ""
	require.NoError(t, d.load())
	assert.Equal(t, http.StatusServiceUnavailable, d.status("open.example.com"))

	r.proxy.Pass()
	d.becomes("open.example.com", http.StatusOK)
	assert.Equal(t, http.StatusOK, ready())
	d.degraded("Stale", false)
	assert.False(t, d.bridge().Stale)
	assert.Less(t, *d.bridge().AgeSeconds, maxAge.Seconds())
	d.writes(1)
	assert.WithinDuration(t, time.Now(), r.contents().Validated, maxAge)
}

func assertStale(t *testing.T, d *door) {
	t.Helper()
	assert.Equal(t, "5", d.ask("open.example.com").header.Get("Retry-After"))
	words := d.degraded("Stale", true)
	assert.Contains(t, words, "(cache), longer ago than max_age 5m0s; every request is refused until it is validated")
	st := d.bridge()
	assert.True(t, st.Stale)
	assert.False(t, st.Ready)
	assert.Contains(t, st.Reasons, words)
	assert.GreaterOrEqual(t, *st.AgeSeconds, 300.0)
	status, body := d.get(d.admin, "/authz_bridge/ready")
	assert.Equal(t, http.StatusServiceUnavailable, status)
	assert.Contains(t, body, words)
	d.assertMetrics(map[string]int64{
		`authz_bridge_ready`:                    0,
		`authz_bridge_degraded{reason="Stale"}`: 1,
	})
	assert.GreaterOrEqual(t, d.metric("authz_bridge_snapshot_age_seconds"), int64(300))
	assert.Positive(t, d.metric(`authz_bridge_decisions_total{app="",reason="stale"}`))
	eventually(t, func() bool {
		return strings.Contains(d.logged(), `"authz_bridge":{"app":"","reason":"stale"`)
	}, "the access log does not say why")
}
