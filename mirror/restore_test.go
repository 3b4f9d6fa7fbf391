package mirror_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

const servingSince = "the source is not in sync; the cache is served, as of "

func TestCacheIsServedWhenTheSourceIsSilent(t *testing.T) {
	inRestart(t, shopAndBlog, func(t *testing.T, w *world, _ *disk) {
		var told record[*snapshot.Snapshot]
		w.mirror.OnPublish(func(s *snapshot.Snapshot) { told.add(s) })
		validated := time.Now().Add(-time.Hour)
		pass(startupTimeout - time.Nanosecond)
		assert.Nil(t, w.mirror.Current())
		assert.Equal(t, []string{notRead}, w.reasons())
		pass(time.Nanosecond)

		assert.Equal(t, "allowed", w.reason("shop"))
		assert.Equal(t, "allowed", w.reason("blog"))
		assert.Equal(t, "unknown_host", w.reason("other"))
		message := servingSince + validated.UTC().Format(time.RFC3339)
		st := w.mirror.Status()
		assert.Equal(t, snapshot.FromCache, st.State)
		assert.False(t, st.Synced)
		assert.Equal(t, []mirror.Condition{{Type: mirror.ServingFromCache, Since: time.Now(), Message: message}}, st.Conditions)
		assert.True(t, st.Ready)
		assert.Equal(t, []string{message}, st.Reasons)
		assert.True(t, st.Registry.Known && st.Registry.Present, "the one that is served")
		assert.Equal(t, "1", st.Registry.Version)
		assert.Equal(t, uint64(1), st.Generation)
		require.Equal(t, 1, told.len())
		assert.Same(t, w.mirror.Current(), told.last())
		<-w.mirror.Initialized()
	})
}

func TestCacheIsServedAtOnceWithoutStartupTimeout(t *testing.T) {
	inRestart(t, shopAndBlog, func(t *testing.T, w *world, _ *disk) {
		begin := time.Now()
		s := w.mirror.Await(t.Context(), hold)
		assert.Zero(t, time.Since(begin))
		assert.Equal(t, snapshot.FromCache, s.State())
		assert.Equal(t, "allowed", w.reason("shop"))
	}, atOnce)
}

func TestDecisionsFromTheCache(t *testing.T) {
	stored := func() mirror.Contents {
		c := contents(registry("1", app("shop"), app("absent"), app("forbidden"), app("missing"),
			app("expired", `"expiresAt":"1999-12-31T00:00:00Z"`), `{"name":"invalid","hostnames":["invalid.example.com"]}`),
			"shop", "expired")
		c.Secrets[key("absent")] = snapshot.Absent()
		c.Secrets[key("forbidden")] = snapshot.Forbidden("may not get secrets in namespace bridge")
		return c
	}
	inRestart(t, stored, func(t *testing.T, w *world, _ *disk) {
		w.fromCache()
		for name, want := range map[string]string{
			"shop": "allowed", "absent": "secret_absent", "forbidden": "secret_forbidden", "missing": "pending",
			"expired": "app_expired", "invalid": "app_invalid", "other": "unknown_host",
		} {
			assert.Equal(t, want, w.reason(name), name)
		}
		forbidden, _ := w.view().Lookup(host("forbidden"))
		assert.Contains(t, forbidden.Detail, "may not get secrets in namespace bridge")
	})
}

func TestCacheOfAnAbsentRegistryKnowsNoHost(t *testing.T) {
	inRestart(t, func() mirror.Contents { return contents(nil) }, func(t *testing.T, w *world, _ *disk) {
		w.fromCache()
		assert.Equal(t, "unknown_host", w.reason("shop"))
		assert.False(t, w.view().RegistryPresent())
	})
}

func TestAgeGoesOnFromWhereItWas(t *testing.T) {
	inRestart(t, shopAndBlog, func(t *testing.T, w *world, _ *disk) {
		begin := time.Now()
		w.fromCache()
		w.assertAge(time.Hour+startupTimeout, "cache")
		assert.True(t, begin.Add(-time.Hour).Equal(w.mirror.Status().AsOf))

		w.keepValidating(time.Hour)
		w.assertAge(2*time.Hour+startupTimeout, "cache")
		assert.Zero(t, time.Since(w.mirror.Status().Validated), "what the Source says is not what is served")

		w.serve("shop")
		w.assertAge(time.Second, watch)
	})
}

func TestCacheThatIsTooOld(t *testing.T) {
	for name, c := range map[string]struct {
		maxAge time.Duration
		served bool
	}{
		"as old as max_age when it is loaded": {time.Hour + startupTimeout, false},
		"older":                               {time.Hour, false},
		"just not":                            {time.Hour + startupTimeout + time.Nanosecond, true},
		"without max_age":                     {0, true},
	} {
		t.Run(name, func(t *testing.T) {
			inRestart(t, shopAndBlog, func(t *testing.T, w *world, d *disk) {
				validated := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
				pass(startupTimeout)
				if c.served {
					assert.Equal(t, "allowed", w.reason("shop"))
					return
				}
				w.assertNothingServed("it was last right at " + validated + ", longer ago than max_age " + c.maxAge.String())
				assert.FileExists(t, d.file(), "max_age may be set higher")

				w.serve("shop")
				assert.Empty(t, w.mirror.Status().Conditions)
			}, maxAge(c.maxAge))
		})
	}
}

func TestCacheBecomesStaleByItself(t *testing.T) {
	inRestart(t, shopAndBlog, func(t *testing.T, w *world, _ *disk) {
		validated := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
		w.fromCache()
		pass(mostAge - startupTimeout - time.Nanosecond)
		w.assertOpen("shop", "blog")
		pass(time.Nanosecond)
		w.assertStale("shop", "blog")
		stale, _ := w.condition(mirror.Stale, "")
		assert.Contains(t, stale.Message, "was last right at "+validated+" (cache), longer ago than max_age 1h10m0s")
		assert.Equal(t, snapshot.FromCache, w.mirror.Status().State)

		w.validate()
		w.assertStale("shop", "blog")

		w.serve("shop")
		w.assertOpen("shop")
		assert.Equal(t, "unknown_host", w.reason("blog"))
		assert.Empty(t, w.mirror.Status().Conditions)
	}, maxAge(time.Hour+mostAge))
}

func TestAppExpiresWhileTheCacheIsServed(t *testing.T) {
	stored := func() mirror.Contents {
		expiry := time.Now().Add(90 * time.Minute).Format(time.RFC3339)
		return contents(registry("1", app("shop", `"expiresAt":"`+expiry+`"`), app("blog")), "shop", "blog")
	}
	inRestart(t, stored, func(t *testing.T, w *world, _ *disk) {
		w.fromCache()
		pass(90*time.Minute - startupTimeout - time.Nanosecond)
		require.Equal(t, "allowed", w.reason("shop"))
		generation := w.generation()
		pass(time.Nanosecond)

		shop, _ := w.view().Lookup(host("shop"))
		assert.Equal(t, snapshot.ReasonAppExpired, shop.Reason, "the View says so, not only the clock")
		assert.Equal(t, "allowed", w.reason("blog"))
		assert.Equal(t, generation+1, w.generation())
		assert.Equal(t, snapshot.FromCache, w.mirror.Status().State)
	})
}

func TestBuilderRegisteredWhileTheCacheIsServed(t *testing.T) {
	inRestart(t, shopAndBlog, func(t *testing.T, w *world, _ *disk) {
		w.fromCache()
		late := newSpy("late")
		slot := w.register(late)
		w.idle()

		assert.Equal(t, snapshot.Changes{All: true}, late.changes())
		assert.Equal(t, snapshot.SecretPresent, late.calls.last().Secret(key("shop")).Status)
		_, ok := snapshot.ViewAt[int](w.mirror.Current(), slot)
		assert.True(t, ok)
		assert.Equal(t, snapshot.FromCache, w.mirror.Status().State)
	})
}

func TestMalformedRegistryOfTheSourceLeavesTheCacheInService(t *testing.T) {
	inRestart(t, shopAndBlog, func(t *testing.T, w *world, _ *disk) {
		w.tell(document("uid-1", "7", "version: 2"))
		pass(time.Hour)

		assert.Equal(t, "allowed", w.reason("shop"))
		assert.Equal(t, snapshot.FromCache, w.mirror.Status().State)
		assert.Contains(t, w.reasons(), sprintf(malformed, "7"))
		require.Len(t, w.source.lastAsked(), 2, "its Secrets are watched, for one may be revoked")

		w.serve("shop")
		w.assertAge(time.Second, "source")
	})
}

func TestSecretsAreFollowedWhileTheRegistryIsThatOfTheCache(t *testing.T) {
	for name, malformedFirst := range map[string]bool{"malformed before the Cache is loaded": true, "and after": false} {
		t.Run(name, func(t *testing.T) {
			inRestart(t, shopAndBlog, func(t *testing.T, w *world, _ *disk) {
				w.source.put(key("blog"), token("blog", "1"))
				w.source.put(key("shop"), snapshot.Absent())
				if malformedFirst {
					w.tell(document("uid-1", "7", "version: 2"))
				}
				pass(startupTimeout)
				if !malformedFirst {
					assert.Equal(t, "allowed", w.reason("shop"))
					w.tell(document("uid-1", "7", "version: 2"))
				}
				w.idle()
				assert.Equal(t, "secret_absent", w.reason("shop"), "it was revoked meanwhile")
				assert.Equal(t, "allowed", w.reason("blog"))
				st := w.mirror.Status()
				assert.Equal(t, snapshot.Live, st.State)
				assert.True(t, st.Ready)
				assert.Equal(t, "registry", st.Oldest)
				assert.Greater(t, st.Age(time.Now()), time.Hour, "it is as old as the Registry of the Cache")
				_, there := w.condition(mirror.RegistryMalformed, "")
				assert.True(t, there)

				w.tell(registry("8", app("shop")))
				w.idle()
				assert.Equal(t, "unknown_host", w.reason("blog"))
				_, there = w.condition(mirror.RegistryMalformed, "")
				assert.False(t, there)
			})
		})
	}
}

func TestCacheIsNotLoadedOnceLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk(t)
		d.has(contents(registry("1", app("blog")), "blog"))
		c := &watched{Cache: d.cache()}
		w := newWorld(t, kept(c))
		w.start()
		pass(startupTimeout - time.Nanosecond)
		w.put("shop", token("shop", "1"))
		w.tell(registry("2", app("shop")))
		pass(time.Hour)

		assert.NotContains(t, c.calls.list(), "load")
		assert.Equal(t, uint64(1), w.generation())
		assert.Equal(t, "unknown_host", w.reason("blog"))
	})
}

func TestCacheThatIsReadTooLateIsNotServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk(t)
		d.has(shopAndBlog())
		c, end := &watched{Cache: d.cache()}, make(chan struct{})
		c.hangs(end)
		w := newWorld(t, kept(c))
		w.start()
		pass(startupTimeout + time.Minute)
		assert.Equal(t, "unsynced", w.reason("shop"), "the disk hangs")

		w.put("shop", token("shop", "2"))
		w.tell(registry("2", app("shop")))
		require.Equal(t, snapshot.Live, w.mirror.Status().State)
		close(end)
		w.idle()
		assert.Equal(t, snapshot.Live, w.mirror.Status().State)
		assert.Equal(t, "unknown_host", w.reason("blog"))
		assert.Empty(t, w.mirror.Status().Conditions)
	})
}
