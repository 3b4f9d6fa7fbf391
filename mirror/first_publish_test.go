package mirror_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

func TestNothingIsPublishedBeforeTheRegistryIsKnown(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.source.sink.Secrets(map[snapshot.Key]snapshot.SecretState{key("shop"): token("shop", "1")})
		pass(time.Hour)

		assert.Nil(t, w.mirror.Current())
		assert.Equal(t, "unsynced", w.reason("shop"))
		assert.Zero(t, w.mirror.Rebuilds())
		assert.Equal(t, []string{"registry bridge/registry: not read yet"}, w.reasons())
	})
}

func TestFirstPublishWaitsForEveryReferencedSecret(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.tell(registry("1", app("shop"), app("blog")))
		pass(250 * time.Millisecond)
		w.put("shop", token("shop", "1"))
		pass(250 * time.Millisecond)
		require.Nil(t, w.mirror.Current(), "one Secret has no answer")
		assert.Equal(t, []string{"1 referenced secrets: not read yet"}, w.reasons())

		begin := time.Now()
		w.put("blog", snapshot.Absent())

		require.NotNil(t, w.mirror.Current())
		assert.Zero(t, time.Since(begin), "the last answer is not waited upon")
		assert.Equal(t, "allowed", w.reason("shop"))
		assert.Equal(t, "secret_absent", w.reason("blog"))
	})
}

func TestFirstPublishShowsTheRestAsPendingAfterOneSecond(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		pass(time.Minute) // the wait begins with the Registry, not with the start
		w.tell(registry("1", app("shop"), app("blog")))
		w.put("shop", token("shop", "1"))
		pass(time.Second / 2)
		w.tell(registry("2", app("shop"), app("blog"), app("wiki"))) // and is not prolonged
		pass(time.Second/2 - time.Nanosecond)
		require.Nil(t, w.mirror.Current())

		pass(time.Nanosecond)

		require.NotNil(t, w.mirror.Current())
		assert.Equal(t, "allowed", w.reason("shop"))
		assert.Equal(t, "pending", w.reason("blog"))
		assert.Equal(t, "pending", w.reason("wiki"))
		assert.Equal(t, []string{"2 referenced secrets: not read yet"}, w.reasons())
	})
}

func TestRegistryWithoutReferencesIsPublishedAtOnce(t *testing.T) {
	for name, secret := range map[string]*snapshot.Secret{
		"absent":       nil,
		"without Apps": registry("1"),
		"without data": snapshot.NewSecret(snapshot.SecretMeta{Key: registryKey, UID: "uid-1", Version: "1"}, nil),
		"with an App that is invalid": registry("1",
			`{"name":"shop","hostnames":["shop.example.com"]}`),
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				begin := time.Now()
				w.tell(secret)
				require.NotNil(t, w.mirror.Current())
				assert.Zero(t, time.Since(begin))
				assert.Equal(t, snapshot.Live, w.mirror.Current().State())
			})
		})
	}
}

func TestMalformedRegistryWithNoLastGoodStaysUnsynced(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.tell(document("uid-1", "7", "version: 2"))
		pass(time.Hour)

		require.Nil(t, w.mirror.Current())
		ready, reasons := w.mirror.Ready()
		assert.False(t, ready)
		assert.Equal(t, []string{"registry bridge/registry (version 7) is malformed: " +
			"version: 2 is not known here; this release reads version 1"}, reasons)

		w.tell(registry("8"))
		require.NotNil(t, w.mirror.Current())
		assert.Empty(t, w.reasons())
	})
}

func TestInitializedIsClosedAtTheFirstPublish(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.tell(registry("1", app("shop")))
		select {
		case <-w.mirror.Initialized():
			require.Fail(t, "closed before there was a Snapshot")
		default:
		}

		w.put("shop", token("shop", "1"))
		select {
		case <-w.mirror.Initialized():
		default:
			require.Fail(t, "not closed though there is a Snapshot")
		}
	})
}
