package authzbridge_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

// Row 1 of the table of failures: the API server is down at the start.
func TestRow1TheCacheServesAColdStartUntilTheAPIServerIsBack(t *testing.T) {
	r := newReach(t)
	r.secret("shop", clients("c4n4ry-key-of-shop"))
	r.secret("open", someToken())
	r.registry(document(app("shop", "shop.example.com")+byKey, app("open", "open.example.com"), app("late", "late.example.com")))
	d := r.stored(t, "open.example.com", http.StatusOK)
	r.rewrite(func(c *mirror.Contents) { c.Validated = c.Validated.Add(-time.Hour) })
	kept := r.contents()

	r.outage(t)
	ready := d.probed(t)
	d.option = r.option("startup_timeout 1s")
	begin := time.Now()
	require.NoError(t, d.load())
	assert.Equal(t, http.StatusOK, d.status("open.example.com"), "held until the cache is served")
	assert.GreaterOrEqual(t, time.Since(begin), time.Second, "the source has that long")
	assertServesTheCache(t, d, kept.Validated)
	assert.Equal(t, http.StatusOK, ready())
	assert.Equal(t, http.StatusServiceUnavailable, d.status("late.example.com"))
	assert.Equal(t, http.StatusForbidden, d.status("unknown.example.com"))
	assert.Equal(t, http.StatusUnauthorized, d.status("shop.example.com"))
	right := http.Header{"X-Api-Key": {"c4n4ry-key-of-shop"}}
	assert.Equal(t, http.StatusOK, d.send("shop.example.com", right).status)

	t.Log("what is written meanwhile is served once it can be read, and not before")
	require.NoError(t, r.StartAPIServer())
	r.secret("late", someToken())
	r.DeleteSecret(t, r.namespace, "open")
	assert.Equal(t, "from_cache", d.bridge().State)
	assert.Equal(t, http.StatusOK, d.status("open.example.com"))
	assert.Equal(t, http.StatusServiceUnavailable, d.status("late.example.com"))
	assert.Equal(t, kept.Validated, r.contents().Validated, "nothing is written while the cache is served")
	cached := d.told()
	r.proxy.Pass()
	d.inState("live")
	assert.Equal(t, http.StatusOK, d.status("late.example.com"), "live replaces it whole")
	assert.Equal(t, http.StatusServiceUnavailable, d.status("open.example.com"))
	assert.Equal(t, http.StatusOK, d.send("shop.example.com", right).status)
	d.writes(1)
	assertServesLive(t, d)
	assert.Equal(t, snapshot.SecretPresent, r.contents().Secrets[keyIn(r.namespace, "late")].Status)

	for _, texts := range []map[string]string{cached, d.told()} {
		canaries{"key": cacheKey, "key of shop": "c4n4ry-key-of-shop"}.assertNowhere(t, texts)
	}
}

// outage has no API server, from before the start of the next process on; when the
// test has started one, it is still out of the process's reach.
func (r *reach) outage(t *testing.T) {
	t.Helper()
	r.proxy.Cut()
	require.NoError(t, r.KillAPIServer())
	t.Cleanup(func() { _ = r.StartAPIServer() }) // it runs already, unless the test has failed
}

func assertServesTheCache(t *testing.T, d *door, validated time.Time) {
	t.Helper()
	before := time.Since(validated).Seconds()
	st := d.bridge()
	assert.Equal(t, "from_cache", st.State)
	assert.True(t, st.Ready)
	assert.False(t, st.Stale)
	assert.Equal(t, uint64(1), st.Generation)
	require.NotNil(t, st.AgeSeconds)
	assert.GreaterOrEqual(t, *st.AgeSeconds, before-0.001, "the age goes on from where it was")
	assert.LessOrEqual(t, *st.AgeSeconds, time.Since(validated).Seconds())
	assert.Equal(t, "cache", st.Oldest)
	assert.Nil(t, st.LastContact)
	assert.Nil(t, st.LastValidation)
	require.NotNil(t, st.Cache)
	assert.True(t, st.Cache.Serving)
	assert.Nil(t, st.Cache.LastWrite)
	assert.Zero(t, st.Cache.Writes)
	words := d.degraded("ServingFromCache", true)
	assert.Contains(t, words, "the cache is served, as of "+validated.UTC().Format(time.RFC3339))
	assert.NotEmpty(t, d.degraded("ContactLost", true), "and why the source is not in sync")
	assert.Contains(t, d.bridge().Reasons, words)
	status, body := d.get(d.admin, "/authz_bridge/ready")
	assert.Equal(t, http.StatusOK, status)
	assert.Contains(t, body, words)
	assert.Contains(t, d.logged(), "serving from the cache until the source is in sync")
	d.assertMetrics(map[string]int64{
		`authz_bridge_state{state="from_cache"}`:                 1,
		`authz_bridge_state{state="live"}`:                       0,
		`authz_bridge_ready`:                                     1,
		`authz_bridge_degraded{reason="ServingFromCache"}`:       1,
		`authz_bridge_last_contact_timestamp_seconds`:            0,
		`authz_bridge_last_validation_timestamp_seconds`:         0,
		`authz_bridge_cache_writes_total{result="success"}`:      0,
		`authz_bridge_cache_writes_total{result="failure"}`:      0,
		`authz_bridge_cache_last_write_timestamp_seconds`:        0,
		`authz_bridge_decisions_total{app="",reason="unsynced"}`: 0,
	})
	assert.GreaterOrEqual(t, d.metric("authz_bridge_snapshot_age_seconds"), int64(before))
}

func assertServesLive(t *testing.T, d *door) {
	t.Helper()
	d.degraded("ServingFromCache", false)
	d.degraded("ContactLost", false)
	st := d.bridge()
	assert.Equal(t, "live", st.State)
	require.NotNil(t, st.AgeSeconds)
	assert.Less(t, *st.AgeSeconds, 90.0)
	assert.NotEqual(t, "cache", st.Oldest)
	assert.NotNil(t, st.LastContact)
	assert.False(t, st.Cache.Serving)
	assert.NotNil(t, st.Cache.LastWrite)
	assert.Empty(t, st.Degraded)
	d.assertMetrics(map[string]int64{
		`authz_bridge_state{state="from_cache"}`:            0,
		`authz_bridge_state{state="live"}`:                  1,
		`authz_bridge_degraded{reason="ServingFromCache"}`:  0,
		`authz_bridge_cache_writes_total{result="failure"}`: 0,
	})
	assert.Positive(t, d.metric(`authz_bridge_cache_writes_total{result="success"}`))
	assert.Positive(t, d.metric("authz_bridge_cache_last_write_timestamp_seconds"))
	assert.Positive(t, d.metric("authz_bridge_last_contact_timestamp_seconds"))
	assert.Less(t, d.metric("authz_bridge_snapshot_age_seconds"), int64(90))
}

func (d *door) assertMetrics(want map[string]int64) {
	d.tb.Helper()
	for series, value := range want {
		assert.Equal(d.tb, value, d.metric(series), series)
	}
}

func TestRow1WithoutACacheAColdStartDuringAnOutageIsUnsyncedAndSaysWhy(t *testing.T) {
	r := newReach(t)
	r.secret("open", someToken())
	r.registry(document(app("open", "open.example.com")))
	r.proxy.Cut()
	d := newDoor(t, r.option("startup_timeout 0s"))
	ready := d.probed(t)
	require.NoError(t, d.load())

	got := d.ask("open.example.com")
	assert.Equal(t, http.StatusServiceUnavailable, got.status)
	assert.Equal(t, "5", got.header.Get("Retry-After"))
	assert.Equal(t, http.StatusServiceUnavailable, ready())
	d.degraded("ContactLost", true)
	st := d.bridge()
	assert.Equal(t, "unsynced", st.State)
	assert.False(t, st.Ready)
	assert.Contains(t, st.Reasons, "registry "+r.namespace+"/registry: not read yet")
	assert.Greater(t, len(st.Reasons), 1, "and why it is not: %v", st.Reasons)
	assert.Nil(t, st.AgeSeconds)
	assert.False(t, st.Cache.Serving)
	d.degraded("CacheRefused", false)
	assert.Contains(t, d.logged(), "no cache yet; waiting for the source")
	assert.NoDirExists(t, r.dir)
	d.assertMetrics(map[string]int64{`authz_bridge_state{state="unsynced"}`: 1, `authz_bridge_ready`: 0})
	assert.NotContains(t, d.told()["the metrics"], "\nauthz_bridge_snapshot_age_seconds ")

	r.proxy.Pass()
	d.becomes("open.example.com", http.StatusOK)
	d.writes(1)
	assert.Equal(t, http.StatusOK, ready())
	assert.NotEmpty(t, r.contents().Secrets)
}

func TestALiveStartNeverServesTheCache(t *testing.T) {
	r := newReach(t)
	r.secret("open", someToken())
	r.registry(document(app("open", "open.example.com")))
	d := r.stored(t, "open.example.com", http.StatusOK)
	r.DeleteSecret(t, r.namespace, "open")

	d.option = r.option("startup_timeout 15s")
	require.NoError(t, d.load())
	assert.Equal(t, http.StatusServiceUnavailable, d.status("open.example.com"))
	assert.Equal(t, "live", d.bridge().State)
	assert.Equal(t, uint64(1), d.bridge().Generation)
	require.NoError(t, caddy.Stop())
	assert.NotContains(t, d.logged(), "serving from the cache")
}
