package mirror_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/mirror"
)

const watch = "secrets in namespace shop"

func (w *world) fail(watch string, kind mirror.FailureKind, detail string) {
	w.source.sink.Failed(watch, mirror.Failure{Kind: kind, Detail: detail})
}

// types are the conditions of the watch.
func (w *world) types(watch string) []mirror.ConditionType {
	var types []mirror.ConditionType
	for _, c := range w.mirror.Status().Conditions {
		if c.Subject == watch {
			types = append(types, c.Type)
		}
	}
	return types
}

func TestConditionsOfAWatch(t *testing.T) {
	const (
		contact      = mirror.FailureContact
		unauthorized = mirror.FailureUnauthorized
		forbidden    = mirror.FailureForbidden
		recovered    = mirror.FailureKind("")
	)
	for name, c := range map[string]struct {
		attempts []mirror.FailureKind
		want     []mirror.ConditionType
	}{
		"one attempt without an answer is everyday": {
			attempts: []mirror.FailureKind{contact},
		},
		"two attempts in a row without an answer": {
			attempts: []mirror.FailureKind{contact, contact},
			want:     []mirror.ConditionType{mirror.ContactLost},
		},
		"two attempts without an answer, but not in a row": {
			attempts: []mirror.FailureKind{contact, recovered, contact},
		},
		"unauthorized at once": {
			attempts: []mirror.FailureKind{unauthorized},
			want:     []mirror.ConditionType{mirror.Unauthorized},
		},
		"forbidden at once": {
			attempts: []mirror.FailureKind{forbidden},
			want:     []mirror.ConditionType{mirror.Forbidden},
		},
		"what cannot be understood at once": {
			attempts: []mirror.FailureKind{mirror.FailureInvalid},
			want:     []mirror.ConditionType{mirror.SourceInvalid},
		},
		"what cannot be understood after contact was lost": {
			attempts: []mirror.FailureKind{contact, contact, mirror.FailureInvalid},
			want:     []mirror.ConditionType{mirror.SourceInvalid},
		},
		"more than is watched at once": {
			attempts: []mirror.FailureKind{mirror.FailureExcess},
			want:     []mirror.ConditionType{mirror.TooManyWatches},
		},
		"recovered from more than is watched": {
			attempts: []mirror.FailureKind{mirror.FailureExcess, recovered},
		},
		"one attempt without an answer after a refusal changes nothing": {
			attempts: []mirror.FailureKind{forbidden, contact},
			want:     []mirror.ConditionType{mirror.Forbidden},
		},
		"a refusal is an answer": {
			attempts: []mirror.FailureKind{contact, forbidden, contact},
			want:     []mirror.ConditionType{mirror.Forbidden},
		},
		"what the last attempts met replaces what was before": {
			attempts: []mirror.FailureKind{forbidden, contact, contact},
			want:     []mirror.ConditionType{mirror.ContactLost},
		},
		"a refusal after contact was lost": {
			attempts: []mirror.FailureKind{contact, contact, unauthorized},
			want:     []mirror.ConditionType{mirror.Unauthorized},
		},
		"one refusal after another": {
			attempts: []mirror.FailureKind{unauthorized, forbidden},
			want:     []mirror.ConditionType{mirror.Forbidden},
		},
		"recovered from lost contact": {
			attempts: []mirror.FailureKind{contact, contact, contact, recovered},
		},
		"recovered from a refusal": {
			attempts: []mirror.FailureKind{forbidden, recovered},
		},
		"recovered without a failure": {
			attempts: []mirror.FailureKind{recovered},
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.serve("shop")
				for _, kind := range c.attempts {
					if kind == recovered {
						w.source.sink.Recovered(watch)
						continue
					}
					w.fail(watch, kind, "no")
				}

				assert.Equal(t, c.want, w.types(watch))
				ready, reasons := w.mirror.Ready()
				assert.True(t, ready, "the last good is served all the while")
				assert.Len(t, reasons, len(c.want))
			})
		})
	}
}

func TestConditionsOfAWatchAreItsOwn(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.serve("shop")
		w.fail("a", mirror.FailureContact, "refused")
		w.fail("b", mirror.FailureContact, "refused")
		assert.Empty(t, w.mirror.Status().Conditions, "one attempt of each")

		w.fail("b", mirror.FailureContact, "refused")
		w.fail("a", mirror.FailureForbidden, "may not list secrets")
		w.source.sink.Recovered("c")
		assert.Equal(t, []string{"b: refused", "a: may not list secrets"}, w.reasons())

		w.source.sink.Recovered("b")
		assert.Equal(t, []string{"a: may not list secrets"}, w.reasons())
	})
}

func TestSinceOfAWatchStaysWhileItsMessageChanges(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.serve("shop")
		w.fail(watch, mirror.FailureContact, "refused")
		pass(time.Second)
		since := time.Now()
		w.fail(watch, mirror.FailureContact, "refused")
		pass(time.Hour)
		w.fail(watch, mirror.FailureContact, "timed out")

		c, raised := w.condition(mirror.ContactLost, watch)
		require.True(t, raised)
		assert.True(t, since.Equal(c.Since))
		assert.Equal(t, "timed out", c.Message)
		assert.Equal(t, 1, w.logs.FilterMessage("watch failing; serving what is known").Len(), "logged once")

		w.source.sink.Recovered(watch)
		w.source.sink.Recovered(watch)
		assert.Equal(t, 1, w.logs.FilterMessage("watch recovered").Len())
	})
}

func TestFailuresAreToldWhileABuildHangs(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.serve("shop")
		w.register(newSpy("slow").takes(time.Minute))
		w.put("shop", token("shop", "2"))
		begin := time.Now()
		w.fail(watch, mirror.FailureForbidden, "no")
		assert.Equal(t, []string{watch + ": no"}, w.reasons())
		w.source.sink.Recovered(watch)
		assert.Empty(t, w.reasons())
		assert.Zero(t, time.Since(begin))
		pass(2 * time.Minute)
	})
}

func TestSourceFailuresAndResyncsAreCounted(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.fail("a", mirror.FailureContact, "")
		w.fail("b", mirror.FailureContact, "")
		w.fail("b", mirror.FailureForbidden, "")
		w.source.sink.Resynced("a")
		w.source.sink.Resynced("b")

		assert.Equal(t, map[mirror.FailureKind]int{mirror.FailureContact: 2, mirror.FailureForbidden: 1}, w.observed.failed)
		assert.Equal(t, uint64(2), w.mirror.Resyncs())
		assert.Equal(t, uint64(2), w.mirror.Status().Resyncs)
		assert.Equal(t, 2, w.observed.resynced)
	})
}

func TestConditionTypesAreAllThereAreForLabels(t *testing.T) {
	assert.ElementsMatch(t, []mirror.ConditionType{
		"RegistryAbsent", "RegistryMalformed", "BuildFailed", "ServingFromCache", "Stale",
		"CacheRefused", "CacheWriteFailed", "Unauthorized", "Forbidden", "SourceInvalid", "TooManyWatches", "ContactLost",
	}, mirror.ConditionTypes())
	assert.ElementsMatch(t, []mirror.FailureKind{"contact", "unauthorized", "forbidden", "invalid", "excess"}, mirror.FailureKinds())
}
