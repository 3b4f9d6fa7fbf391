package kube

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

// newNamedDesk is a desk with a watch for each Secret, of which there may be so many.
func newNamedDesk(t *testing.T, most int) *desk {
	t.Helper()
	d := &desk{recorder: newRecorder(), ledger: newLedger(Scope{Kind: ScopeReferenced})}
	d.ledger.quota.most = most
	d.ledger.open(d.recorder, func(key snapshot.Key) { t.Errorf("%s is to be read", key) })
	return d
}

// named returns the area of a Secret, nil if it has none.
func (d *desk) named(name string) *area { return d.ledger.areas[shopKey(name)] }

// watched are the names of the Secrets that have a watch.
func (d *desk) watched() []string {
	var names []string
	for a := range d.ledger.present() {
		names = append(names, a.target.name)
	}
	return names
}

func TestSecretsBeyondTheMostHaveNoWatchAndSayWhy(t *testing.T) {
	d := newNamedDesk(t, 2)
	d.reference("d", "b", "c", "a")
	assert.ElementsMatch(t, []string{"a", "b"}, d.watched(), "in order of key")
	refused := snapshot.Forbidden("it is beyond the 2 that scope referenced watches; use scope namespaces or scope cluster")
	assert.Equal(t, map[snapshot.Key]snapshot.SecretState{shopKey("c"): refused, shopKey("d"): refused}, d.states)
	assert.Equal(t, []mirror.Failure{{
		Kind:   mirror.FailureExcess,
		Detail: "4 secrets are referenced, and scope referenced watches 2 at most; use scope namespaces or scope cluster",
	}}, d.failures[quotaTitle])
}

func TestSecretsOfOneNamespaceComeBeforeThoseOfTheNext(t *testing.T) {
	d := newNamedDesk(t, 1)
	d.ledger.reference(map[snapshot.Key]snapshot.Reference{
		{Namespace: "shop", Name: "a"}: {}, {Namespace: "blog", Name: "z"}: {},
	})
	assert.Equal(t, []string{"z"}, d.watched())
}

func TestWatchesThatRunStayWhenOthersComeBefore(t *testing.T) {
	d := newNamedDesk(t, 2)
	d.reference("c", "d")
	d.named("c").replace(nil, "10")
	d.reference("a", "c", "d")
	assert.ElementsMatch(t, []string{"c", "d"}, d.watched())
	assert.Equal(t, snapshot.SecretForbidden, d.status("a"))
	assert.Equal(t, snapshot.SecretAbsent, d.status("c"))
}

func TestSecretsThatWaitAreWatchedInOrderWhenOthersGo(t *testing.T) {
	d := newNamedDesk(t, 2)
	d.reference("a", "b", "c", "d", "e")
	calls := d.secretCalls
	d.reference("b", "c", "d", "e")
	assert.ElementsMatch(t, []string{"b", "c"}, d.watched())
	assert.Equal(t, calls+1, d.secretCalls, "those that wait still are not told twice")
	assert.Contains(t, d.states[shopKey("c")].Detail, "has not begun")
	assert.Len(t, d.failures[quotaTitle], 2, "there are as many no more")
	assert.Zero(t, d.recoveries[quotaTitle])

	d.reference("d", "e")
	assert.ElementsMatch(t, []string{"d", "e"}, d.watched())
	assert.Equal(t, 1, d.recoveries[quotaTitle])
	d.reference("d")
	assert.Equal(t, 1, d.recoveries[quotaTitle], "nobody is told twice")
}

func TestSecretsThatAreReferencedAgainBeyondTheMostAreToldAgain(t *testing.T) {
	d := newNamedDesk(t, 1)
	d.reference("a", "b")
	d.reference("a")
	delete(d.states, shopKey("b")) // as the Mirror forgets it
	d.reference("a", "b")
	assert.Equal(t, snapshot.SecretForbidden, d.status("b"))
}

func TestNobodyIsToldOfAnExcessThatIsTheSame(t *testing.T) {
	d := newNamedDesk(t, 1)
	d.reference("a", "b")
	d.reference("a", "c")
	assert.Len(t, d.failures[quotaTitle], 1)
}

func TestManyWatchesAreWarnedOfOnceUntilThereAreFewer(t *testing.T) {
	core, logs := observer.New(zapcore.WarnLevel)
	d := newNamedDesk(t, 100)
	d.ledger.quota.many, d.ledger.quota.logger = 2, zap.New(core)
	warned := func(names ...string) int {
		d.reference(names...)
		return logs.Len()
	}
	assert.Zero(t, warned("a", "b"))
	assert.Equal(t, 1, warned("a", "b", "c"))
	assert.Equal(t, 1, warned("a", "b", "c", "d"))
	assert.Equal(t, 1, warned("a", "b", "d"))
	assert.Equal(t, 1, warned("a", "b"))
	assert.Equal(t, 2, warned("a", "b", "c"))
	assert.Equal(t, int64(3), logs.All()[1].ContextMap()["watches"])
}

func TestTheMostAndTheManyAreWhatTheReadmeSays(t *testing.T) {
	q := newQuota()
	assert.Equal(t, 200, q.many)
	assert.Equal(t, 1000, q.most)
}

func TestWatchesThatFailAreBegunLessOftenWhereThereAreMany(t *testing.T) {
	forbidden := apierrors.NewForbidden(corev1.Resource("secrets"), "clients", nil)
	d := newNamedDesk(t, MostWatches)
	assert.Zero(t, d.ledger.share(forbidden))
	names := make([]string, MostWatches)
	for i := range names {
		names[i] = fmt.Sprint("n", i)
	}
	d.reference(names...)
	together := func(err error) float64 { return float64(MostWatches) / d.ledger.share(err).Seconds() }
	assert.InDelta(t, 50, together(forbidden), 0.1, "a second")
	assert.InDelta(t, 200, together(errRefused), 0.1, "a second")
}

func TestScopesWithoutNamesHaveNoQuota(t *testing.T) {
	d := newDesk()
	d.ledger.quota.most = 1
	d.reference("a", "b", "c")
	d.list(t, "10", secret("a", "uid", "5"), secret("c", "uid", "6"))
	assert.Equal(t, "6", d.token("c"))
	assert.Empty(t, d.failures)
}
