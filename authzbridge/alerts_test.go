package authzbridge_test

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/mirror"
)

// fault is something that goes wrong in a bridge that was well.
type fault struct {
	// make makes the fault and returns once it shows.
	make func(*desk, *door)
	// alerts are all that fire within half an hour.
	alerts []string
}

// faults are made of a desk where one App is open, one asks for a password, and what is
// read is stored.
var faults = map[string]fault{
	"the registry cannot be read": {
		make: func(k *desk, d *door) {
			k.secret("registry", "registry.yaml", "version: 1\napps: [")
			d.degraded("RegistryMalformed", true)
		},
		alerts: []string{"AuthzBridgeRegistryRejected"},
	},
	"the registry has gone": {
		make: func(k *desk, d *door) {
			require.NoError(k.tb, os.Remove(k.manifests+"/registry.yaml"))
			d.degraded("RegistryAbsent", true)
		},
		alerts: []string{"AuthzBridgeDegraded"},
	},
	"a secret has gone": {
		make: func(k *desk, d *door) {
			require.NoError(k.tb, os.Remove(k.manifests+"/open.yaml"))
			d.becomes("open.example.com", http.StatusServiceUnavailable)
		},
		alerts: []string{"AuthzBridgeAppsNotReady"},
	},
	"two apps claim one hostname": {
		make: func(k *desk, d *door) {
			k.secret("registry", "registry.yaml", document(
				app("open", "open.example.com"),
				"name: other\nhostnames: [open.example.com]\nsecretRef: {name: open}",
				app("slow", "slow.example.com")+"\nanyOf: [{basic: {}}]",
			))
			d.becomes("open.example.com", http.StatusServiceUnavailable)
		},
		alerts: []string{"AuthzBridgeHostnameConflicts"},
	},
	"the source has gone": {
		make: func(k *desk, d *door) {
			require.NoError(k.tb, os.Rename(k.manifests, k.manifests+".aside"))
			d.degraded("ContactLost", true)
		},
		alerts: []string{"AuthzBridgeDegraded"},
	},
	"started from an old cache": {
		make: func(k *desk, d *door) {
			k.startsFromTheCache(d, time.Hour)
			d.degraded("ServingFromCache", true)
		},
		alerts: []string{"AuthzBridgeDegraded", "AuthzBridgeAging"},
	},
	"what is known is too old": {
		make: func(k *desk, d *door) {
			d.option += "\nmax_age 20m"
			k.startsFromTheCache(d, 20*time.Minute-5*time.Second)
			d.degraded("Stale", true)
		},
		alerts: []string{"AuthzBridgeStale", "AuthzBridgeNotReady", "AuthzBridgeDegraded", "AuthzBridgeAging"},
	},
	"the cache cannot be written": {
		make: func(k *desk, d *door) {
			require.NoError(k.tb, os.Rename(k.dir, k.dir+".aside"))
			require.NoError(k.tb, os.WriteFile(k.dir, nil, 0o600))
			k.secret("open", "token", "another")
			d.degraded("CacheWriteFailed", true)
		},
		alerts: []string{"AuthzBridgeCacheNotWritten"},
	},
	"passwords are tried": {
		make:   func(_ *desk, d *door) { startFlood(d, "slow.example.com", "wrong", 300).end() },
		alerts: []string{"AuthzBridgeOverloaded"},
	},
}

// startsFromTheCache starts a process that finds what was stored some time ago and no
// source.
func (k *desk) startsFromTheCache(d *door, age time.Duration) {
	k.tb.Helper()
	require.NoError(k.tb, caddy.Stop())
	k.rewrite(func(c *mirror.Contents) { c.Validated = time.Now().Add(-age) })
	require.NoError(k.tb, os.Rename(k.manifests, k.manifests+".aside"))
	require.NoError(k.tb, d.load())
}

// openHealthy starts a Caddy in which nothing is wrong.
func openHealthy(t *testing.T) (*desk, *door) {
	t.Helper()
	k := newDesk(t)
	k.secret("registry", "registry.yaml", document(app("open", "open.example.com"), app("slow", "slow.example.com")+"\nanyOf: [{basic: {}}]"))
	k.secret("open", "token", "placeholder")
	k.secret("slow", "token", "alice:"+slowHash)
	d := open(t, filesOption(k.manifests)+cacheOption(k.dir, "persist_interval 1s")+"\nstartup_timeout 0s")
	d.becomes("open.example.com", http.StatusOK)
	d.becomes("slow.example.com", http.StatusUnauthorized)
	d.writes(1)
	return k, d
}

func TestEachAlertFiresInItsFaultAndNotInHealth(t *testing.T) {
	covered := map[string]bool{"AuthzBridgeAbsent": true} // below
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			k, d := openHealthy(t)
			healthy := d.scrape()
			f.make(k, d)
			j := judge(t, scrapes{20, []string{healthy}}, scrapes{30, []string{d.scrape()}})
			assert.Empty(t, j.Fired[0], "in health")
			assert.ElementsMatch(t, f.alerts, j.Fired[1])
		})
		for _, alert := range f.alerts {
			covered[alert] = true
		}
	}
	for _, alert := range judge(t).Alerts {
		assert.True(t, covered[alert], "no fault shows %s", alert)
	}
}

func TestAlertsOfABridgeThatIsNotThere(t *testing.T) {
	_, d := openHealthy(t)
	j := judge(t, scrapes{20, []string{d.scrape()}}, scrapes{20, []string{""}})
	assert.Empty(t, j.Fired[0])
	assert.Equal(t, []string{"AuthzBridgeAbsent"}, j.Fired[1])
}

func TestAlertsOfABridgeThatNeverBecameReady(t *testing.T) {
	k := newDesk(t)
	k.secret("registry", "registry.yaml", "version: 1\napps: [")
	d := open(t, filesOption(k.manifests))
	d.degraded("RegistryMalformed", true)
	j := judge(t, scrapes{20, []string{d.scrape()}})
	assert.Equal(t, []string{"AuthzBridgeNotReady", "AuthzBridgeRegistryRejected"}, j.Fired[0])
}

func TestAlertsOfABridgeThatIsRestartedBeforeItIsReady(t *testing.T) {
	k := newDesk(t)
	k.secret("registry", "registry.yaml", "version: 1\napps: [")
	d := open(t, filesOption(k.manifests))
	d.degraded("RegistryMalformed", true)
	never := d.scrape()
	require.Contains(t, never, "authz_bridge_ready 0\n")
	var phases []scrapes
	for gap := 1; gap <= 5; gap++ {
		phases = append(phases, scrapes{5, []string{never}}, scrapes{gap, []string{""}})
	}
	fired := judge(t, phases...).Fired
	assert.NotContains(t, fired[0], "AuthzBridgeNotReady", "it may take its time")
	assert.Equal(t, []string{"AuthzBridgeNotReady", "AuthzBridgeRegistryRejected"}, fired[2])
	for n, names := range fired[2:] {
		assert.Contains(t, names, "AuthzBridgeNotReady", "phase %d", n+2)
	}
}

func TestTheAlertOfABridgeThatIsNotReadyEndsOnceItIs(t *testing.T) {
	_, d := openHealthy(t)
	healthy := d.scrape()
	never := strings.Replace(healthy, "authz_bridge_ready 1\n", "authz_bridge_ready 0\n", 1)
	require.NotEqual(t, healthy, never)
	j := judge(t, scrapes{4, []string{never}}, scrapes{20, []string{healthy}}, scrapes{6, []string{never}}, scrapes{20, []string{healthy}})
	assert.Equal(t, [][]string{{}, {}, {"AuthzBridgeNotReady"}, {}}, j.Fired)
}

func TestTheAlertOfAFloodFollowsTheCounterThroughGapsAndRestarts(t *testing.T) {
	_, d := openHealthy(t)
	healthy := d.scrape()
	overloaded := func(count int) []string {
		return []string{healthy + fmt.Sprintf("authz_bridge_decisions_total{app=\"slow\",reason=\"overloaded\"} %d\n", count)}
	}
	for _, c := range []struct {
		name   string
		phases []scrapes
		fires  bool // in the last phase
	}{
		{"the first count", []scrapes{{20, overloaded(7)}}, true},
		{"the same count", []scrapes{{10, overloaded(7)}, {20, overloaded(7)}}, false},
		{"the same count after a gap", []scrapes{{10, overloaded(7)}, {1, []string{""}}, {20, overloaded(7)}}, false},
		{"the same count after half an hour without scrapes", []scrapes{{10, overloaded(7)}, {30, []string{""}}, {20, overloaded(7)}}, false},
		{"a higher count", []scrapes{{10, overloaded(7)}, {20, overloaded(8)}}, true},
		{"a higher count after a gap", []scrapes{{10, overloaded(7)}, {1, []string{""}}, {20, overloaded(8)}}, true},
		{"none since a restart", []scrapes{{10, overloaded(7)}, {1, []string{""}}, {20, []string{healthy}}}, false},
		{"a lower count, since a restart", []scrapes{{10, overloaded(7)}, {10, []string{healthy}}, {20, overloaded(3)}}, true},
	} {
		fired := judge(t, append([]scrapes{{20, []string{healthy}}}, c.phases...)...).Fired
		assert.Equal(t, c.fires, slices.Contains(fired[len(fired)-1], "AuthzBridgeOverloaded"), c.name)
	}
}

func TestAlertsWaitBeforeTheyFire(t *testing.T) {
	k, d := openHealthy(t)
	healthy := d.scrape()
	faults["a secret has gone"].make(k, d)
	closed := d.scrape()
	j := judge(t, scrapes{14, []string{closed}}, scrapes{1, []string{healthy}}, scrapes{14, []string{closed}}, scrapes{2, []string{closed}})
	assert.Equal(t, [][]string{{}, {}, {}, {"AuthzBridgeAppsNotReady"}}, j.Fired)
}
