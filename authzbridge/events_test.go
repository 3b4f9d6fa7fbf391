package authzbridge_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/authzbridge"
	"github.com/authz-bridge/authz-bridge/mirror"
)

// openTold starts a Caddy in front of a desk with two Apps, of which one is open.
func openTold(t *testing.T, s *subscription) (*desk, *door) {
	t.Helper()
	k := newDesk(t)
	k.secret("registry", "registry.yaml", document(app("open", "open.example.com"), app("shop", "shop.example.com")))
	k.secret("open", "token", "c4n4ry-of-open")
	d := newDoor(t, filesOption(k.manifests))
	d.global = s.option()
	require.NoError(t, d.load())
	d.becomes("open.example.com", http.StatusOK)
	return k, d
}

func TestPublishesAreToldWithWhatChanged(t *testing.T) {
	s := subscribe(t, "told")
	k, _ := openTold(t, s)
	first := s.awaitPublished("added", 2)
	assert.Equal(t, "authz_bridge", first.from)
	assert.Equal(t, map[string]any{
		"generation": first.data["generation"], "previous": 0.0, "state": "live", "stale": false, "apps": 2.0, "hostnames": 2.0,
		"added": 2.0, "added_apps": []any{"open", "shop"}, "opened": 1.0, "opened_apps": []any{"open"},
		"changed": 0.0, "changed_apps": []any{}, "removed": 0.0, "removed_apps": []any{}, "closed": 0.0, "closed_apps": []any{},
	}, first.data)

	k.secret("shop", "token", "c4n4ry-of-shop")
	opened := s.awaitPublished("changed", 1)
	assert.Equal(t, first.data["generation"], opened.data["previous"])
	assert.Equal(t, []any{"shop"}, opened.data["opened_apps"])
	s.forget()

	k.secret("shop", "token", "c4n4ry-of-shop-rotated")
	rotated := s.awaitPublished("changed", 1)
	assert.Equal(t, []any{"shop"}, rotated.data["changed_apps"])
	assert.Equal(t, 0.0, rotated.data["opened"])
	s.forget()

	var many []string
	for i := range 50 {
		many = append(many, app(fmt.Sprintf("app-%02d", i), fmt.Sprintf("%02d.example.com", i)))
	}
	k.secret("registry", "registry.yaml", document(many...))
	all := s.awaitPublished("added", 50)
	assert.Len(t, all.data["added_apps"], 20, "names are bounded, counts are not")
	assert.Equal(t, 2.0, all.data["removed"])
	assert.Equal(t, []any{"open", "shop"}, all.data["closed_apps"])
	for _, h := range s.all() {
		assert.NotContains(t, h.text, "c4n4ry")
	}
}

func TestConditionsAreToldWhenTheyBeginAndEnd(t *testing.T) {
	s := subscribe(t, "conditions")
	k, d := openTold(t, s)
	k.secret("registry", "registry.yaml", "version: 1\napps: [{name: c4n4ry")
	degraded := s.awaitCondition("degraded", "RegistryMalformed")
	assert.Equal(t, d.degraded("RegistryMalformed", true), degraded.data["message"])
	since, err := time.Parse(time.RFC3339, degraded.data["since"].(string))
	require.NoError(t, err)
	assert.WithinDuration(t, time.Now(), since, patience)
	assert.NotContains(t, degraded.text, "c4n4ry")

	k.secret("registry", "registry.yaml", document(app("open", "open.example.com")))
	recovered := s.awaitCondition("recovered", "RegistryMalformed")
	assert.Equal(t, degraded.data, recovered.data)
	removed := s.awaitPublished("removed", 1)
	assert.Equal(t, []any{"shop"}, removed.data["removed_apps"])
}

func TestWhatIsStaleIsToldAndThatItIsNotAnyMore(t *testing.T) {
	k := newDesk(t)
	k.secret("registry", "registry.yaml", document(app("open", "open.example.com")))
	k.secret("open", "token", "placeholder")
	d := open(t, k.option()+"\nmax_age 5m")
	d.becomes("open.example.com", http.StatusOK)
	d.writes(1)
	require.NoError(t, caddy.Stop())
	k.rewrite(func(c *mirror.Contents) { c.Validated = time.Now().Add(5*time.Second - 5*time.Minute) })
	require.NoError(t, os.Rename(k.manifests, k.manifests+".aside"))

	s := subscribe(t, "stale")
	d.global = s.option()
	require.NoError(t, d.load())
	stale := s.awaitCondition("stale", "Stale")
	assert.Contains(t, stale.data["message"], "longer ago than max_age 5m0s")
	closed := s.await("the stale generation", func(h happened) bool { return h.data["stale"] == true })
	assert.Equal(t, "from_cache", closed.data["state"])
	names := s.names()
	assert.Equal(t, "authz_bridge_degraded", names[slices.Index(names, "authz_bridge_stale")-1])

	require.NoError(t, os.Rename(k.manifests+".aside", k.manifests))
	s.awaitCondition("recovered", "Stale")
	s.awaitCondition("recovered", "ServingFromCache")
	s.await("the live generation", func(h happened) bool { return h.data["state"] == "live" && h.data["stale"] == false })
}

func TestASubscriberThatHangsDelaysNothingButOtherEvents(t *testing.T) {
	s := subscribe(t, "hangs")
	k, d := openTold(t, s)
	s.awaitPublished("added", 2)
	free := make(chan struct{})
	hung := make(chan struct{}, 1)
	s.on(func(_ context.Context, event string) {
		if event == "authz_bridge_degraded" {
			hung <- struct{}{}
			<-free
		}
	})
	k.secret("registry", "registry.yaml", "no document")
	<-hung
	s.forget()

	t.Log("publishing goes on")
	k.secret("registry", "registry.yaml", document(app("open", "open.example.com"), app("shop", "shop.example.com")))
	for _, status := range []int{200, 503, 200, 503, 200} {
		if status == http.StatusOK {
			k.secret("shop", "token", "placeholder")
		} else {
			require.NoError(t, os.Remove(k.manifests+"/shop.yaml"))
		}
		d.becomes("shop.example.com", status)
	}
	generation := d.bridge().Generation
	assert.Empty(t, s.names())

	t.Log("what cannot be told is counted, and logged")
	for i := range 1100 {
		require.NoError(t, authzbridge.TellCondition(mirror.Condition{Type: mirror.ContactLost, Subject: fmt.Sprint(i)}))
	}
	dropped := d.metric("authz_bridge_events_dropped_total")
	assert.GreaterOrEqual(t, dropped, int64(76))
	eventually(t, func() bool {
		return strings.Contains(d.logged(), "events are dropped; a subscriber does not keep up")
	}, "that events are dropped is not logged")

	s.on(nil)
	close(free)
	s.awaitCondition("recovered", "RegistryMalformed")
	published := s.awaitPublished("changed", 1)
	assert.Equal(t, float64(generation), published.data["generation"], "what was published meanwhile is one event")
	assert.Equal(t, []any{"shop"}, published.data["opened_apps"])
	eventually(t, func() bool {
		return strings.Contains(d.logged(), fmt.Sprintf(`"msg":"events were dropped; a subscriber did not keep up","dropped":%d`, dropped))
	}, "the end of dropping is not logged")
	k.secret("registry", "registry.yaml", "no document")
	s.awaitCondition("degraded", "RegistryMalformed")
	assert.Equal(t, dropped, d.metric("authz_bridge_events_dropped_total"))
}

func TestEventsGoToTheNewestConfiguration(t *testing.T) {
	old, next := subscribe(t, "old"), subscribe(t, "next")
	k, d := openTold(t, old)
	old.awaitPublished("added", 2)
	before := d.bridge().Generation
	least := goroutines(d)

	d.global = next.option()
	require.NoError(t, d.load())
	k.secret("shop", "token", "placeholder")
	next.awaitPublished("opened", 1)
	assert.Len(t, old.all(), 1)
	assert.Greater(t, d.bridge().Generation, before, "the Mirror is the same")

	t.Log("a reload that fails changes nothing")
	d.global = old.option()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	d.sites = "http://" + taken.Addr().String() + " {\nbind 127.0.0.1\n}"
	require.Error(t, d.load())
	k.secret("registry", "registry.yaml", "no document")
	next.awaitCondition("degraded", "RegistryMalformed")
	assert.Len(t, old.all(), 1)

	t.Log("many reloads leave nothing behind")
	d.sites = ""
	for range 20 {
		require.NoError(t, d.load())
	}
	settles(d, least)
}

func TestASubscriberMayLoadAConfiguration(t *testing.T) {
	s := subscribe(t, "reloads")
	k, d := openTold(t, s)
	s.awaitPublished("added", 2)
	failed := make(chan error, 1)
	s.on(func(_ context.Context, event string) {
		if event == "authz_bridge_degraded" {
			d.option = filesOption(k.manifests) + "\nmax_age 23h" // another Mirror
			failed <- d.load()
		}
	})
	k.secret("registry", "registry.yaml", "no document")
	require.NoError(t, <-failed)
	s.on(nil)
	d.degraded("RegistryMalformed", true)
	s.forget()
	k.secret("registry", "registry.yaml", document(app("open", "open.example.com")))
	s.awaitPublished("added", 1)
	s.awaitCondition("recovered", "RegistryMalformed")
}

func TestCaddyEndsWhileASubscriberHangs(t *testing.T) {
	s := subscribe(t, "never")
	_, d := openTold(t, s)
	s.awaitPublished("added", 2)
	least := goroutines(d)
	require.NoError(t, caddy.Stop())
	hung, free, left := make(chan struct{}), make(chan struct{}), make(chan struct{})
	s.on(func(ctx context.Context, _ string) {
		close(hung)
		<-ctx.Done()
		<-free
		close(left)
	})
	require.NoError(t, d.load())
	<-hung
	require.NoError(t, caddy.Stop(), "nobody waits for a subscriber")
	s.on(nil)
	close(free)
	<-left
	require.NoError(t, d.load())
	settles(d, least)
}

func TestASubscriberThatPanicsEndsNothing(t *testing.T) {
	s := subscribe(t, "panics")
	k, d := openTold(t, s)
	s.awaitPublished("added", 2)
	s.on(func(context.Context, string) { panic("c4n4ry") })
	k.secret("registry", "registry.yaml", "no document")
	s.awaitCondition("degraded", "RegistryMalformed")
	s.on(nil)
	k.secret("registry", "registry.yaml", document(app("open", "open.example.com")))
	s.awaitCondition("recovered", "RegistryMalformed")
	assert.Contains(t, d.logged(), "event subscriber panicked")
	assert.NotContains(t, d.logged(), "c4n4ry")
}
