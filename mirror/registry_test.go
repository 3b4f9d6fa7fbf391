package mirror_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/mirror"
)

const (
	notRead   = "registry bridge/registry: not read yet"
	absent    = "registry bridge/registry does not exist; every hostname is unknown"
	malformed = "registry bridge/registry (version %s) is malformed: " +
		"version: 2 is not known here; this release reads version 1"
)

func TestRow13ThreeStatesOfTheRegistryHaveThreeMessages(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		assert.Equal(t, []string{notRead}, w.reasons())
		assert.Equal(t, "unsynced", w.reason("shop"))

		w.tell(nil)
		assert.Equal(t, []string{absent}, w.reasons())
		assert.Equal(t, "unknown_host", w.reason("shop"))

		w.idle()
		w.tell(document("uid-1", "7", "version: 2"))
		assert.Equal(t, []string{sprintf(malformed, "7")}, w.reasons())
		assert.Equal(t, "unknown_host", w.reason("shop"), "the last good one is that there was none")

		w.serve("shop")
		assert.Empty(t, w.reasons())
		w.tell(nil)
		assert.Equal(t, []string{absent}, w.reasons(), "deleted")
		assert.Equal(t, "unknown_host", w.reason("shop"))
	})
}

func TestRegistryAppears(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.tell(nil)
		_, raised := w.condition(mirror.RegistryAbsent, "")
		require.True(t, raised)
		assert.False(t, w.view().RegistryPresent())

		w.serve("shop")
		assert.Empty(t, w.mirror.Status().Conditions)
		assert.True(t, w.view().RegistryPresent())
	})
}

func TestRegistryDeleted(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.serve("shop")
		w.tell(nil)

		assert.Equal(t, "unknown_host", w.reason("shop"))
		assert.Equal(t, []string{absent}, w.reasons())
		since := time.Now()

		pass(time.Hour)
		w.tell(nil) // told again, after a relist
		c, raised := w.condition(mirror.RegistryAbsent, "")
		require.True(t, raised)
		assert.True(t, since.Equal(c.Since))

		ready, _ := w.mirror.Ready()
		assert.True(t, ready, "denying all is an answer")
		assert.Equal(t, 1, w.logs.FilterMessage("registry absent; every hostname is unknown").Len())
	})
}

func TestRegistryMalformedKeepsTheLastGood(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.serve("shop")
		generation := w.generation()
		w.tell(document("uid-1", "2", "version: 2"))
		w.idle()

		assert.Equal(t, "allowed", w.reason("shop"))
		assert.Equal(t, generation, w.generation())
		assert.Equal(t, []string{sprintf(malformed, "2")}, w.reasons())
		assert.Equal(t, "1", w.mirror.Status().Registry.Version, "the one in use")

		w.put("shop", token("shop", "2"))
		assert.Equal(t, "2", w.version("shop"), "Secrets go on changing under the last good Registry")
	})
}

func TestMalformedRegistrySinceStaysWhileTheMessageChanges(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.serve("shop")
		w.tell(document("uid-1", "2", "version: 2"))
		first, _ := w.condition(mirror.RegistryMalformed, "")

		pass(time.Hour)
		w.tell(document("uid-1", "3", "version: 2"))
		second, _ := w.condition(mirror.RegistryMalformed, "")
		assert.Equal(t, first.Since, second.Since)
		assert.Equal(t, sprintf(malformed, "2"), first.Message)
		assert.Equal(t, sprintf(malformed, "3"), second.Message)

		w.tell(registry("4", app("shop")))
		assert.Empty(t, w.mirror.Status().Conditions)

		pass(time.Hour)
		w.tell(document("uid-1", "5", "version: 2"))
		third, _ := w.condition(mirror.RegistryMalformed, "")
		assert.Equal(t, 2*time.Hour, third.Since.Sub(first.Since).Truncate(time.Minute), "another time")
	})
}

func TestMalformedRegistryPutBackAsItWas(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.serve("shop")
		generation := w.generation()
		w.tell(document("uid-1", "2", "version: 2"))
		w.tell(registry("1", app("shop")))
		w.idle()

		assert.Empty(t, w.mirror.Status().Conditions)
		assert.Equal(t, generation, w.generation())
	})
}

func TestRegistryDeletedWhileMalformed(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.serve("shop")
		w.tell(document("uid-1", "2", "version: 2"))
		w.tell(nil)
		w.idle()

		assert.Equal(t, []string{absent}, w.reasons(), "one thing is wrong at a time")
		assert.Equal(t, "unknown_host", w.reason("shop"))
	})
}

func TestRegistryThatWasNeverGoodIsAbsentAgainWhenDeleted(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.tell(nil)
		w.idle()
		w.tell(document("uid-1", "7", "version: 2"))
		w.idle()
		w.tell(nil)
		assert.Equal(t, []string{absent}, w.reasons())
	})
}

func TestRegistryRecreated(t *testing.T) {
	for name, c := range map[string]struct{ deletionSeen bool }{
		"after its deletion":            {true},
		"and the deletion was not seen": {false},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.serve("shop", "blog")
				if c.deletionSeen {
					w.tell(nil)
				}
				w.tell(document("uid-2", "1", `{"version":1,"apps":[`+app("blog")+`]}`))
				w.idle()

				assert.Empty(t, w.mirror.Status().Conditions)
				assert.Equal(t, "uid-2", w.mirror.Status().Registry.UID)
				assert.Equal(t, "unknown_host", w.reason("shop"))
				assert.Equal(t, "allowed", w.reason("blog"))
			})
		})
	}
}

func TestOnlyTheLastOfSeveralRegistriesCounts(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.serve("shop")
		w.source.put(key("blog"), token("blog", "1"))
		asked := len(w.source.asked)
		w.put("shop", token("shop", "2")) // the gap begins
		w.source.sink.Registry(nil)
		w.source.sink.Registry(document("uid-1", "2", "version: 2"))
		w.source.sink.Registry(registry("3", app("blog")))
		w.idle()

		assert.Equal(t, "allowed", w.reason("blog"))
		assert.Empty(t, w.mirror.Status().Conditions)
		assert.Len(t, w.source.asked, asked+1)
		assert.Zero(t, w.logs.FilterMessageSnippet("absent").Len()+w.logs.FilterMessageSnippet("malformed").Len())
	})
}

func TestRow18NewerSchema(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.serve("shop", "blog")
		w.tell(registry("2", app("shop", `"newer":"field"`), app("blog")))
		w.idle()
		assert.Equal(t, "app_invalid", w.reason("shop"), "nobody knows what the field asks for")
		assert.Equal(t, "allowed", w.reason("blog"))

		w.tell(document("uid-1", "3", "version: 2\napps: []"))
		w.idle()
		assert.Equal(t, "allowed", w.reason("blog"), "the last good one stays")
		c, there := w.condition(mirror.RegistryMalformed, "")
		require.True(t, there)
		assert.Contains(t, c.Message, "version 3")
		assert.Contains(t, c.Message, "this release reads version 1")
	})
}
