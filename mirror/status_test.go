package mirror_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

func TestStatusInEveryState(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		start := time.Now()
		want := mirror.Status{
			State:    snapshot.Unsynced,
			Reasons:  []string{notRead},
			Registry: mirror.RegistryStatus{Key: registryKey},
			Source:   "scripted",
		}
		assert.Equal(t, want, w.mirror.Status(), "nothing is known")
		assert.False(t, w.mirror.Synced())

		w.tell(registry("1", app("shop"), app("blog")))
		want.Registry = mirror.RegistryStatus{Key: registryKey, Known: true, Present: true, UID: "uid-1", Version: "1"}
		want.PendingSecrets = 2
		want.Reasons = []string{"2 referenced secrets: not read yet"}
		assert.Equal(t, want, w.mirror.Status(), "the Registry is known, the Secrets are not")

		w.put("shop", token("shop", "1"))
		w.put("blog", token("blog", "1"))
		want.State, want.Synced, want.Ready = snapshot.Live, true, true
		want.PendingSecrets, want.Reasons = 0, nil
		want.Snapshot = w.mirror.Current()
		want.Generation, want.Rebuilds, want.BuiltAt = 1, 1, w.mirror.Current().BuiltAt()
		want.AsOf, want.Oldest = want.BuiltAt, "source"
		assert.Equal(t, want, w.mirror.Status(), "live")
		assert.True(t, start.Equal(want.BuiltAt))
		assert.True(t, w.mirror.Synced())

		w.idle()
		w.source.sink.Resynced(watch)
		w.tell(nil)
		want.Registry = mirror.RegistryStatus{Key: registryKey, Known: true}
		want.Conditions = []mirror.Condition{{Type: mirror.RegistryAbsent, Since: time.Now(), Message: absent}}
		want.Reasons = []string{absent}
		want.Snapshot = w.mirror.Current()
		want.Generation, want.Rebuilds, want.Resyncs, want.BuiltAt = 2, 2, 1, w.mirror.Current().BuiltAt()
		assert.Equal(t, want, w.mirror.Status(), "live, and the Registry is deleted")
	})
}

func TestReadyWaitsForEverySecretOnceButNotForEver(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.tell(registry("1", app("shop"), app("blog")))
		pass(time.Second)
		require.NotNil(t, w.mirror.Current(), "other Apps are served")
		ready, reasons := w.mirror.Ready()
		assert.False(t, ready)
		assert.False(t, w.mirror.Synced())
		assert.Equal(t, []string{"2 referenced secrets: not read yet"}, reasons)

		pass(15*time.Second - time.Nanosecond)
		ready, _ = w.mirror.Ready()
		assert.False(t, ready)
		pass(time.Nanosecond)
		ready, reasons = w.mirror.Ready()
		assert.True(t, ready)
		assert.False(t, w.mirror.Synced())
		assert.Equal(t, []string{"2 referenced secrets: not read yet"}, reasons)

		w.put("shop", token("shop", "1"))
		assert.False(t, w.mirror.Synced())
		w.idle()
		w.put("blog", token("blog", "1"))
		assert.True(t, w.mirror.Synced())

		w.idle()
		w.tell(registry("2", app("shop"), app("blog"), app("wiki")))
		ready, _ = w.mirror.Ready()
		assert.True(t, ready, "a Secret that is referenced later takes nobody out of service")
		assert.True(t, w.mirror.Synced())
	})
}

func TestReadySaysWhyWhileTheFirstBuildIsUnderWay(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.register(newSpy("slow").takes(time.Minute))
		w.tell(registry("1"))

		ready, reasons := w.mirror.Ready()
		assert.False(t, ready)
		assert.Equal(t, []string{"first snapshot: not built yet"}, reasons)

		pass(time.Minute)
		ready, reasons = w.mirror.Ready()
		assert.True(t, ready)
		assert.Empty(t, reasons)
	})
}

func TestReadyTellsWhyTheSourceDoesNotAnswer(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.fail("registry", mirror.FailureForbidden, "may not watch secrets in namespace bridge; bind a Role")

		ready, reasons := w.mirror.Ready()
		assert.False(t, ready)
		assert.Equal(t, []string{
			notRead,
			"registry: may not watch secrets in namespace bridge; bind a Role",
		}, reasons)
	})
}

func TestConditionsAreListedInOrder(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		for _, name := range []string{"b", "a", "c"} {
			w.fail(name, mirror.FailureForbidden, "no")
			s := newSpy(name)
			s.panics("no")
			w.register(s)
		}
		w.tell(nil)

		var order []string
		for _, c := range w.mirror.Status().Conditions {
			order = append(order, string(c.Type)+" "+c.Subject)
		}
		assert.Equal(t, []string{
			"BuildFailed a", "BuildFailed b", "BuildFailed c",
			"Forbidden a", "Forbidden b", "Forbidden c",
			"RegistryAbsent ",
		}, order)
	})
}

func TestStatusIsTheCallersOwn(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.tell(nil)
		st := w.mirror.Status()
		st.Conditions[0].Message = "changed"
		st.Reasons[0] = "changed"

		assert.Equal(t, absent, w.mirror.Status().Conditions[0].Message)
		assert.Equal(t, []string{absent}, w.reasons())
	})
}

func TestNeitherStatusNorLogsHoldBytesOfSecrets(t *testing.T) {
	const secret = "s3cr3t-bytes"
	for name, c := range map[string]func(*world){
		"served": func(w *world) {
			w.put("shop", value("shop", "2", secret))
			require.Equal(w.t, "2", w.version("shop"))
		},
		"a Builder that panics with them": func(w *world) {
			s := newSpy("bad")
			s.makes(func(o snapshot.Objects) (any, error) {
				bytes, _ := o.Secret(key("shop")).Secret.Value("token")
				panic(bytes)
			})
			w.register(s)
			w.put("shop", value("shop", "2", secret))
			require.NotEmpty(w.t, w.reasons())
		},
		"a listener that panics with them": func(w *world) {
			w.mirror.OnPublish(func(*snapshot.Snapshot) { panic(secret) })
			w.put("shop", token("shop", "2"))
		},
		"a credential put where the document belongs": func(w *world) {
			w.tell(document("uid-1", "2", secret))
			require.NotEmpty(w.t, w.reasons())
		},
		"a credential as a data key's value beside the document": func(w *world) {
			w.tell(snapshot.NewSecret(snapshot.SecretMeta{Key: registryKey, Version: "2"},
				map[string][]byte{"token": []byte(secret)}))
			require.NotEmpty(w.t, w.reasons())
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.serve("shop")
				c(w)

				text, err := json.Marshal(w.mirror.Status())
				require.NoError(t, err)
				assert.NotContains(t, string(text), secret)
				w.assertNotLogged(secret)
			})
		})
	}
}

func TestConditionAsJSON(t *testing.T) {
	since := time.Date(2027, 3, 1, 0, 0, 0, 0, time.UTC)
	text, err := json.Marshal([]mirror.Condition{
		{Type: mirror.BuildFailed, Subject: "apps", Since: since, Message: "no"},
		{Type: mirror.RegistryAbsent, Since: since, Message: "no"},
	})
	require.NoError(t, err)
	assert.JSONEq(t, `[
		{"type": "BuildFailed", "subject": "apps", "since": "2027-03-01T00:00:00Z", "message": "no"},
		{"type": "RegistryAbsent", "since": "2027-03-01T00:00:00Z", "message": "no"}
	]`, string(text))
}
