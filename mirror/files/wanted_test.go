package files

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

func TestEachSecretThatIsWantedIsAnsweredForOnce(t *testing.T) {
	states := map[snapshot.Key]snapshot.SecretState{
		openKey:  snapshot.Absent(),
		otherKey: {}, // pending
	}
	resolve := func(key snapshot.Key) snapshot.SecretState { return states[key] }
	looked := references(openKey, otherKey)
	w := newWanted()
	w.replace(looked)
	assert.Equal(t, map[snapshot.Key]snapshot.SecretState{openKey: snapshot.Absent()}, w.news(looked, resolve))
	assert.Empty(t, w.news(looked, resolve))

	states[otherKey] = snapshot.Forbidden("x")
	assert.Equal(t, map[snapshot.Key]snapshot.SecretState{otherKey: snapshot.Forbidden("x")}, w.news(looked, resolve))
}

func TestASecretThatWasLeftOutInBetweenIsAnsweredForAgain(t *testing.T) {
	resolve := func(snapshot.Key) snapshot.SecretState { return snapshot.Absent() }
	w := newWanted()
	w.replace(references(openKey))
	assert.Len(t, w.news(references(openKey), resolve), 1)
	w.replace(references(otherKey))
	w.replace(references(openKey))
	assert.Len(t, w.news(references(openKey), resolve), 1, "no look came in between")
}

func TestALookAnswersOnlyForWhatItLookedFor(t *testing.T) {
	resolve := func(snapshot.Key) snapshot.SecretState { return snapshot.Absent() }
	w := newWanted()
	looked := references(openKey)
	w.replace(references(otherKey)) // while the look went on
	assert.Empty(t, w.news(looked, resolve))
	assert.Len(t, w.news(references(otherKey), resolve), 1)
}
