package kube

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

var (
	mayNot  = mirror.Failure{Kind: mirror.FailureForbidden, Detail: "may not"}
	noReply = mirror.Failure{Kind: mirror.FailureContact, Detail: "refused"}
)

func TestSecretHasAWatchByItsName(t *testing.T) {
	l := newLedger(Scope{Kind: ScopeReferenced, LabelSelector: "team=web"})
	l.open(newRecorder(), nil)
	l.reference(map[snapshot.Key]snapshot.Reference{shopKey("clients"): {}})
	got := l.areaOf(shopKey("clients")).target
	assert.Equal(t, target{title: "secret shop/clients", namespace: "shop", name: "clients", labels: "team=web"}, got)
	assert.Equal(t, "metadata.name=clients", got.fields().String())
}

func TestNamedSecretIsPendingUntilItsWatchHasBroughtIt(t *testing.T) {
	d := newNamedDesk(t, 10)
	d.reference("a", "b")
	assert.Empty(t, d.states)
	d.named("a").replace([]*corev1.Secret{secret("a", "uid", "5")}, "10")
	assert.Equal(t, "5", d.token("a"))
	assert.Len(t, d.states, 1, "its neighbour has a watch of its own")
}

func TestWatchTellsOfNoSecretButItsOwn(t *testing.T) {
	d := newNamedDesk(t, 10)
	d.reference("a", "b")
	d.named("a").replace([]*corev1.Secret{secret("b", "uid", "5")}, "10")
	d.named("a").upsert(secret("b", "uid", "11"))
	assert.Equal(t, snapshot.SecretAbsent, d.status("a"))
	assert.NotContains(t, d.states, shopKey("b"))
}

func TestNamedSecretThatIsReferencedNoMoreHasItsWatchClosed(t *testing.T) {
	d := newNamedDesk(t, 10)
	d.reference("a", "b")
	closed := d.named("a")
	closed.replace([]*corev1.Secret{secret("a", "uid", "5")}, "10")
	d.reference("b")
	assert.Equal(t, []string{"b"}, d.watched())
	assert.Len(t, d.ledger.changed, 1)

	for what, late := range map[string]func(){
		"an event":     func() { closed.upsert(secret("a", "uid", "11")) },
		"a list":       func() { closed.replace(nil, "12") },
		"an end":       func() { closed.remove(shopKey("a"), "13") },
		"a bookmark":   func() { closed.bookmark("14") },
		"a failure":    func() { closed.failed(noReply) },
		"a refusal":    func() { closed.failed(mayNot) },
		"the recovery": closed.recovered,
	} {
		late()
		assert.Equal(t, "5", d.token("a"), what)
		assert.Empty(t, d.failures, what)
		assert.Empty(t, d.recoveries, what)
		assert.Empty(t, d.resyncs, what)
	}
	assert.False(t, closed.wants(shopKey("a")))
}

func TestNamedSecretThatIsReferencedAgainHasAnotherWatch(t *testing.T) {
	d := newNamedDesk(t, 10)
	d.reference("a")
	closed := d.named("a")
	d.reference()
	d.reference("a")
	closed.replace([]*corev1.Secret{secret("a", "uid", "5")}, "10")
	assert.Empty(t, d.states, "the one that is closed has no say")
	d.named("a").replace([]*corev1.Secret{secret("a", "uid", "6")}, "11")
	assert.Equal(t, "6", d.token("a"))
}

func TestConditionEndsWithTheWatchThatFails(t *testing.T) {
	d := newNamedDesk(t, 10)
	d.reference("a")
	d.named("a").failed(noReply)
	d.reference()
	assert.Len(t, d.failures[commonTitle], 1)
	assert.Equal(t, 1, d.recoveries[commonTitle])
}

func TestWhatAllNamedWatchesHaveInCommonIsToldByOne(t *testing.T) {
	d := newNamedDesk(t, 10)
	d.reference("a", "b", "c")
	later := mirror.Failure{Kind: mirror.FailureContact, Detail: "later"}
	for _, name := range []string{"a", "b", "c"} {
		d.named(name).failed(noReply)
	}
	d.named("b").failed(later)
	assert.Equal(t, []mirror.Failure{{Kind: mirror.FailureContact, Detail: "secret shop/a, of 1: refused"}}, d.failures[commonTitle])
	d.named("a").recovered()
	d.named("c").failed(later)
	assert.Equal(t, "secret shop/c, of 2: later", d.failures[commonTitle][1].Detail, "another speaks when the one that did is well")
	d.reference("a", "b")
	assert.Zero(t, d.recoveries[commonTitle])
	d.named("b").recovered()
	d.named("b").recovered()
	assert.Equal(t, 1, d.recoveries[commonTitle], "with the last, and once")
	assert.Len(t, d.failures, 1)
}

func TestNamedWatchWhoseRightsAreTakenAway(t *testing.T) {
	begin := func(t *testing.T) *desk {
		d := newNamedDesk(t, 10)
		d.reference("a", "b")
		for _, name := range []string{"a", "b"} {
			d.named(name).replace([]*corev1.Secret{secret(name, "uid", "5")}, "10")
		}
		d.named("a").failed(mayNot)
		time.Sleep(deniedPatience - time.Second)
		d.named("a").failed(mayNot)
		require.Equal(t, "5", d.token("a"), "the last good stays for a while")
		return d
	}
	run := func(name string, test func(*testing.T, *desk)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, begin(t)) })
		})
	}
	run("for good is forbidden, and nobody else's trouble", func(t *testing.T, d *desk) {
		time.Sleep(time.Second)
		d.named("a").failed(mayNot)
		assert.Equal(t, snapshot.Forbidden("may not"), d.states[shopKey("a")])
		assert.Equal(t, "5", d.token("b"))
		assert.Zero(t, d.named("a").open.Load(), "its age is nobody's")
		assert.Equal(t, 1, d.recoveries["secret shop/a"], "the Secret says it")

		d.named("a").replace([]*corev1.Secret{secret("a", "uid", "5")}, "9")
		assert.Equal(t, "5", d.token("a"), "opens again with the next list, as old as that may be")
		assert.Equal(t, int32(1), d.named("a").open.Load())
	})
	run("is forgiven when the watch recovers", func(t *testing.T, d *desk) {
		d.named("a").recovered()
		time.Sleep(time.Minute)
		d.named("a").failed(mayNot)
		assert.Equal(t, "5", d.token("a"))
	})
	run("is forbidden though an attempt is lost meanwhile, which tells nothing", func(t *testing.T, d *desk) {
		time.Sleep(time.Minute)
		d.named("a").failed(noReply)
		assert.Equal(t, "5", d.token("a"))
		d.named("a").failed(mayNot)
		assert.Equal(t, snapshot.Forbidden("may not"), d.states[shopKey("a")])
		assert.Equal(t, 1, d.recoveries[commonTitle])
	})
}

func TestWatchByWhichNothingIsOpenMakesNothingOlder(t *testing.T) {
	d := newNamedDesk(t, 10)
	d.reference("a")
	open := func() int32 { return d.named("a").open.Load() }
	a := d.named("a")
	a.replace(nil, "10")
	assert.Zero(t, open())
	a.upsert(secret("a", "uid", "11"))
	assert.Equal(t, int32(1), open())
	a.upsert(secret("a", "uid", "12"))
	assert.Equal(t, int32(1), open())
	a.remove(shopKey("a"), "13")
	assert.Zero(t, open())
}

func TestNamedSecretThatMayNotBeWatched(t *testing.T) {
	t.Run("is its own trouble until it may", func(t *testing.T) {
		d := newNamedDesk(t, 10)
		d.reference("a", "b")
		d.named("a").failed(mayNot)
		d.named("a").failed(mayNot)
		assert.Equal(t, map[snapshot.Key]snapshot.SecretState{shopKey("a"): snapshot.Forbidden("may not")}, d.states)
		assert.Equal(t, 1, d.secretCalls, "nobody is told twice")
		assert.Empty(t, d.failures, "the Source is well")
		d.named("a").replace([]*corev1.Secret{secret("a", "uid", "5")}, "10")
		assert.Equal(t, "5", d.token("a"))
	})
	t.Run("has answered, so that contact is back", func(t *testing.T) {
		d := newNamedDesk(t, 10)
		d.reference("a")
		d.named("a").failed(noReply)
		d.named("a").failed(mayNot)
		assert.Equal(t, snapshot.SecretForbidden, d.status("a"))
		assert.Equal(t, 1, d.recoveries[commonTitle])
	})
	t.Run("any more keeps the last good, and says so", func(t *testing.T) {
		d := newNamedDesk(t, 10)
		d.reference("a")
		d.named("a").replace([]*corev1.Secret{secret("a", "uid", "5")}, "10")
		d.named("a").failed(mayNot)
		assert.Equal(t, "5", d.token("a"))
		assert.Equal(t, []mirror.Failure{mayNot}, d.failures["secret shop/a"])
	})
}

func TestNamedSecretOfATypeThatIsNotToBeSeenIsAbsent(t *testing.T) {
	d := newNamedDesk(t, 10)
	d.reference("a")
	release := secret("a", "uid", "5")
	release.Type = "helm.sh/release.v1"
	words := "exists, but it is of type helm.sh/release.v1, which is never watched; use a Secret of another type"
	for what, comes := range map[string]func(){
		"at first":    func() { d.named("a").replace([]*corev1.Secret{release}, "10") },
		"as an event": func() { d.named("a").upsert(release) },
	} {
		comes()
		assert.Equal(t, snapshot.SecretState{Status: snapshot.SecretAbsent, Detail: words}, d.states[shopKey("a")], what)
	}
	d.named("a").replace(nil, "20")
	assert.Equal(t, snapshot.Absent(), d.states[shopKey("a")], "it exists no more")
	d.named("a").upsert(secret("a", "another", "21"))
	assert.Equal(t, "21", d.token("a"))
}

func TestNamedSecretThatItsLabelsHideSaysSo(t *testing.T) {
	r := newRecorder()
	l := newLedger(Scope{Kind: ScopeReferenced, LabelSelector: "team=web"})
	l.open(r, nil)
	l.reference(map[snapshot.Key]snapshot.Reference{shopKey("a"): {}})
	l.areaOf(shopKey("a")).replace(nil, "10")
	assert.Equal(t, snapshot.SecretAbsent, r.state(shopKey("a")).Status)
	assert.Contains(t, r.state(shopKey("a")).Detail, "label_selector team=web")
}

func TestRow6NamedSecretsAcrossARestore(t *testing.T) {
	d := newNamedDesk(t, 10)
	d.reference("a", "b")
	d.named("a").replace([]*corev1.Secret{secret("a", "uid", "1000")}, "1000")
	d.named("b").replace([]*corev1.Secret{secret("b", "uid", "1000")}, "1000")
	d.ledger.restart()
	assert.Equal(t, "1000", d.token("a"), "the last good stays until its watch has brought it")
	d.named("a").replace([]*corev1.Secret{secret("a", "uid", "500")}, "500")
	d.named("b").replace(nil, "500")
	assert.Equal(t, "500", d.token("a"))
	assert.Equal(t, snapshot.SecretAbsent, d.status("b"))
}

func TestNamedSecretsThatAreReferencedBeforeRun(t *testing.T) {
	l := newLedger(Scope{Kind: ScopeReferenced})
	l.quota.most = 1
	l.reference(map[snapshot.Key]snapshot.Reference{shopKey("a"): {}, shopKey("b"): {}})
	assert.Empty(t, l.present())
	r := newRecorder()
	l.open(r, nil)
	assert.Len(t, l.present(), 1)
	assert.Equal(t, snapshot.SecretForbidden, r.states[shopKey("b")].Status)
}
