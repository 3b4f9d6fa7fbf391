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

// ofCluster is what an earlier process knew of a cluster.
func ofCluster(id string) func() mirror.Contents {
	return func() mirror.Contents {
		c := shopAndBlog()
		c.Cluster = id
		return c
	}
}

func TestCacheOfAnotherClusterIsDropped(t *testing.T) {
	inRestart(t, ofCluster("kube-system/1"), func(t *testing.T, w *world, d *disk) {
		w.fromCache()
		w.idle()
		require.Equal(t, "allowed", w.reason("shop"))
		w.source.sink.Cluster("kube-system/2")
		synctest.Wait()

		w.assertNothingServed("it is of cluster kube-system/1, and this is cluster kube-system/2")
		assert.NoFileExists(t, d.file())
		st := w.mirror.Status()
		assert.Equal(t, snapshot.Unsynced, st.State)
		assert.Zero(t, st.AsOf)
		assert.Len(t, st.Conditions, 1)

		pass(time.Hour)
		w.assertNothingServed("it is of cluster kube-system/1")
		w.tell(registry("1", app("blog")))
		w.put("blog", token("blog", "7"))
		assert.Equal(t, "7", w.version("blog"))
		assert.Equal(t, "unknown_host", w.reason("shop"))
		assert.Empty(t, w.mirror.Status().Conditions, "it was written anew")
		assert.Equal(t, "kube-system/2", d.load().Cluster)
	})
}

func TestWhichCacheIsForeign(t *testing.T) {
	const foreign, same = true, false
	for name, c := range map[string]struct {
		stored  string // cluster
		cluster string
		uid     string // of the Registry; stored is uid-1, empty: absent
		want    bool
	}{
		"another cluster":                                     {"kube-system/a", "kube-system/b", "uid-1", foreign},
		"another cluster without a Registry":                  {"kube-system/a", "kube-system/b", "", foreign},
		"the same cluster":                                    {"kube-system/a", "kube-system/a", "uid-1", same},
		"the same cluster with another Registry":              {"kube-system/a", "kube-system/a", "uid-2", same},
		"a cluster that was not known, with the Registry":     {"", "kube-system/b", "uid-1", same},
		"a cluster that was not known, with another Registry": {"", "kube-system/b", "uid-2", foreign},
		"a cluster that is not known, with the Registry":      {"kube-system/a", "", "uid-1", same},
		"a cluster that is not known, with another Registry":  {"kube-system/a", "", "uid-2", foreign},
		"nothing is known, and another Registry":              {"", "", "uid-2", foreign},
		"known by another name, with the Registry":            {"bridge/a", "kube-system/b", "uid-1", same},
		"known by another name, with another Registry":        {"bridge/a", "kube-system/b", "uid-2", foreign},
		"nothing is known, and no Registry":                   {"", "", "", same},
	} {
		t.Run(name, func(t *testing.T) {
			inRestart(t, ofCluster(c.stored), func(t *testing.T, w *world, d *disk) {
				w.fromCache()
				w.idle()
				w.source.sink.Cluster(c.cluster)
				synctest.Wait()
				if c.uid != "" {
					w.tell(document(c.uid, "9", `{"version":1,"apps":[`+app("shop")+`]}`))
				}
				if c.want == same {
					assert.Equal(t, "allowed", w.reason("shop"))
					assert.Equal(t, snapshot.FromCache, w.mirror.Status().State)
					assert.FileExists(t, d.file())
					return
				}
				assert.Equal(t, "unsynced", w.reason("shop"))
				assert.NoFileExists(t, d.file())
			})
		})
	}
}

func TestCacheWithAnotherRegistryIsDroppedInWords(t *testing.T) {
	inRestart(t, shopAndBlog, func(_ *testing.T, w *world, _ *disk) {
		w.fromCache()
		w.idle()
		w.tell(document("uid-2", "1", `{"version":1,"apps":[`+app("shop")+`]}`))
		w.assertNothingServed("it has the registry with UID uid-1, and this one has uid-2")
	})
}

func TestRegistryThatWasAdoptedGoesWithTheCacheOfAnotherCluster(t *testing.T) {
	inRestart(t, ofCluster("kube-system/1"), func(t *testing.T, w *world, _ *disk) {
		w.tell(document("uid-1", "7", "version: 2"))
		w.fromCache()
		w.idle()
		require.Len(t, w.source.lastAsked(), 2, "its Secrets are watched")
		w.source.sink.Cluster("kube-system/2")
		w.idle()
		w.put("blog", token("blog", "7"))
		w.put("shop", token("shop", "7"))
		pass(time.Hour)
		assert.Equal(t, "unsynced", w.reason("shop"), "the Registry of another cluster is not to be served")

		w.tell(registry("8", app("blog")))
		w.idle()
		assert.Equal(t, "allowed", w.reason("blog"))
		assert.NotEqual(t, "registry", w.mirror.Status().Oldest)
	})
}

func TestMalformedRegistryOfAnotherClusterTellsAsWell(t *testing.T) {
	inRestart(t, shopAndBlog, func(_ *testing.T, w *world, _ *disk) {
		w.fromCache()
		w.idle()
		w.tell(document("uid-2", "1", "version: 2"))
		w.assertNothingServed("it has the registry with UID uid-1, and this one has uid-2")
	})
}

func TestCacheThatIsKnownToBeForeignIsNeverServed(t *testing.T) {
	inRestart(t, ofCluster("kube-system/1"), func(t *testing.T, w *world, d *disk) {
		var told record[*snapshot.Snapshot]
		w.mirror.OnPublish(func(s *snapshot.Snapshot) { told.add(s) })
		w.source.sink.Cluster("kube-system/2")
		pass(startupTimeout)

		w.assertNothingServed("it is of cluster kube-system/1, and this is cluster kube-system/2")
		assert.Zero(t, told.len())
		assert.NoFileExists(t, d.file())
	})
}

func TestLiveDoesNotWaitForSecretsOnceTheCacheIsDropped(t *testing.T) {
	inRestart(t, ofCluster("kube-system/1"), func(t *testing.T, w *world, _ *disk) {
		w.fromCache()
		w.put("shop", token("shop", "2"))
		w.tell(registry("2", app("shop"), app("blog")))
		pass(2 * time.Second)
		require.Equal(t, snapshot.FromCache, w.mirror.Status().State)
		w.source.sink.Cluster("kube-system/2")
		synctest.Wait()

		assert.Equal(t, snapshot.Live, w.mirror.Status().State)
		assert.Equal(t, "2", w.version("shop"))
		assert.Equal(t, "pending", w.reason("blog"))
	})
}

func TestNothingIsDueOnceTheCacheIsDropped(t *testing.T) {
	stored := func() mirror.Contents {
		expiry := time.Now().Add(10 * time.Minute).Format(time.RFC3339)
		c := contents(registry("1", app("shop", `"expiresAt":"`+expiry+`"`)), "shop")
		c.Cluster = "kube-system/1"
		return c
	}
	inRestart(t, stored, func(t *testing.T, w *world, _ *disk) {
		w.fromCache()
		w.idle()
		w.source.sink.Cluster("kube-system/2")
		synctest.Wait()
		rebuilds := w.mirror.Rebuilds()
		pass(time.Hour) // time stands still in a loop that spins
		assert.Equal(t, rebuilds, w.mirror.Rebuilds())

		w.serve("shop")
	})
}

func TestStaleCacheThatIsDroppedLeavesNothingStale(t *testing.T) {
	inRestart(t, ofCluster("kube-system/1"), func(t *testing.T, w *world, _ *disk) {
		w.fromCache()
		pass(mostAge)
		w.assertStale("shop")
		w.source.sink.Cluster("kube-system/2")
		synctest.Wait()
		w.assertNothingServed("it is of cluster kube-system/1")
		_, raised := w.condition(mirror.Stale, "")
		assert.False(t, raised)

		w.serve("shop")
		w.assertOpen("shop")
	}, maxAge(time.Hour+mostAge))
}

func TestBuilderThatFailsAfterTheDropHasNoView(t *testing.T) {
	inRestart(t, ofCluster("kube-system/1"), func(t *testing.T, w *world, _ *disk) {
		bad := newSpy("bad")
		slot := w.register(bad)
		w.fromCache()
		w.idle()
		bad.panics("no")
		w.source.sink.Cluster("kube-system/2")
		w.serve("shop")

		_, ok := snapshot.ViewAt[int](w.mirror.Current(), slot)
		assert.False(t, ok, "nothing of the other cluster is left")
		w.assertAge(time.Second, "source")
	})
}

func TestClusterThatChangesWhileLiveChangesNothing(t *testing.T) {
	inRestart(t, ofCluster("kube-system/1"), func(t *testing.T, w *world, _ *disk) {
		w.serve("shop")
		w.source.sink.Cluster("kube-system/2")
		pass(time.Hour)
		assert.Equal(t, "allowed", w.reason("shop"))
		assert.Empty(t, w.mirror.Status().Conditions)
	})
}
