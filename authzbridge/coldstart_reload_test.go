package authzbridge_test

import (
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

func TestAReloadThatKeepsTheGlobalBlockGoesOnFromTheCache(t *testing.T) {
	r := newReach(t)
	r.secret("open", someToken())
	r.registry(document(app("open", "open.example.com")))
	d := r.stored(t, "open.example.com", http.StatusOK)
	r.proxy.Cut()
	d.option = r.option("startup_timeout 0s")
	require.NoError(t, d.load())
	d.inState("from_cache")
	before := d.bridge()

	d.inside = "unknown 404"
	require.NoError(t, d.load())
	after := d.bridge()
	assert.Equal(t, "from_cache", after.State)
	assert.Equal(t, before.Generation, after.Generation)
	assert.Equal(t, before.BuiltAt, after.BuiltAt, "the Mirror is the same")
	assert.Equal(t, before.Rebuilds, after.Rebuilds)
	assert.Equal(t, http.StatusOK, d.status("open.example.com"))
	assert.Equal(t, http.StatusNotFound, d.status("unknown.example.com"), "the site is another one")

	r.proxy.Pass()
	d.inState("live")
	d.writes(1)
	written := d.bridge().Cache
	d.inside = "unknown 403"
	require.NoError(t, d.load())
	assert.Equal(t, written, d.bridge().Cache, "and so is the writer")
}

// Row 23 of the table of failures: two Mirrors of one process, and one Cache.
func TestRow23AReloadOfTheGlobalBlockHandsTheCacheOver(t *testing.T) {
	r := newReach(t)
	r.secret("open", someToken())
	r.registry(document(app("open", "open.example.com"), app("late", "late.example.com")))
	d := open(t, r.option())
	d.becomes("open.example.com", http.StatusOK)
	d.writes(1)
	r.secret("late", someToken())
	d.becomes("late.example.com", http.StatusOK)
	assert.Equal(t, uint64(1), d.bridge().Cache.Writes, "the next write is not due for half a minute")

	t.Log("the old one stores what it knows as it goes, and the new one serves that")
	r.proxy.Cut()
	d.option = r.option("startup_timeout 1s")
	require.NoError(t, d.load())
	assert.Equal(t, http.StatusOK, d.status("late.example.com"))
	st := d.bridge()
	assert.Equal(t, "from_cache", st.State)
	assert.Zero(t, st.Cache.Writes, "it is another Mirror")
	assert.Equal(t, snapshot.SecretPresent, r.contents().Secrets[keyIn(r.namespace, "late")].Status)

	t.Log("and is the writer from then on")
	r.proxy.Pass()
	r.DeleteSecret(t, r.namespace, "open")
	d.becomes("open.example.com", http.StatusServiceUnavailable)
	d.writes(1)
	assertNoWriteFailed(t, d)

	t.Log("several in a row as well, whether or not they come to write")
	for _, timeout := range []string{"2s", "3s", "4s"} {
		d.option = r.option("startup_timeout " + timeout)
		require.NoError(t, d.load())
		d.inState("live")
	}
	d.writes(1)
	assertNoWriteFailed(t, d)
}

func assertNoWriteFailed(t *testing.T, d *door) {
	t.Helper()
	assert.Zero(t, d.bridge().Cache.Failures)
	d.degraded("CacheWriteFailed", false)
	assert.NotContains(t, d.logged(), "cache not written")
}

// Row 23 of the table of failures: two processes, and one Cache.
func TestRow23TheLoserDoesNotWriteAndSaysSo(t *testing.T) {
	r := newReach(t)
	r.secret("open", someToken())
	r.registry(document(app("open", "open.example.com")))
	other := r.open()
	theirs := mirror.Contents{Validated: time.Now().UTC()}
	require.NoError(t, other.Store(theirs))
	before, err := os.ReadFile(r.path())
	require.NoError(t, err)
	d := open(t, r.town.option()+cacheOption(r.dir, "persist_interval 1s"))
	d.becomes("open.example.com", http.StatusOK)

	words := d.degraded("CacheWriteFailed", true)
	assert.Contains(t, words, "give each process a directory of its own")
	st := d.bridge()
	assert.True(t, st.Ready, "that costs neither readiness nor serving")
	assert.Contains(t, st.Reasons, words)
	assert.Positive(t, st.Cache.Failures)
	assert.Zero(t, st.Cache.Writes)
	assert.Positive(t, d.metric(`authz_bridge_cache_writes_total{result="failure"}`))
	assert.Equal(t, http.StatusOK, d.status("open.example.com"))
	assert.Contains(t, d.logged(), "cache not written")
	after, err := os.ReadFile(r.path())
	require.NoError(t, err)
	assert.Equal(t, before, after)

	require.NoError(t, other.Close())
	d.degraded("CacheWriteFailed", false)
	d.writes(1)
	assert.Equal(t, snapshot.SecretPresent, r.contents().Secrets[keyIn(r.namespace, "open")].Status)
}
