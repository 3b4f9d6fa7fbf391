package kube

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

// desk is a ledger with one area, "shop", and what a test does to it.
type desk struct {
	*recorder
	ledger *ledger
	area   *area
	store  store
	reads  []snapshot.Key // asked for
}

func newDesk() *desk {
	d := &desk{recorder: newRecorder()}
	d.ledger = newLedger(Scope{Kind: ScopeNamespaces, Namespaces: []string{"shop"}})
	d.area = d.ledger.areas[snapshot.Key{Namespace: "shop"}]
	d.store = store{d.area, newValidation(d.recorder).add("shop"), time.Now}
	d.ledger.open(d.recorder, func(key snapshot.Key) { d.reads = append(d.reads, key) })
	return d
}

func shopKey(name string) snapshot.Key { return snapshot.Key{Namespace: "shop", Name: name} }

func (d *desk) reference(names ...string) {
	refs := make(map[snapshot.Key]snapshot.Reference)
	for _, name := range names {
		refs[shopKey(name)] = snapshot.Reference{All: true}
	}
	d.ledger.reference(refs)
}

// secret has the version as its value.
func secret(name, uid, version string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(uid), ResourceVersion: version},
		Data:       map[string][]byte{"token": []byte(version)},
	}
}

// list is a Replace, of Secrets that passed the transformer at the time.
func (d *desk) list(t *testing.T, version string, secrets ...*corev1.Secret) {
	t.Helper()
	var all []any
	for _, s := range secrets {
		slimmed, err := d.store.Transformer()(s)
		require.NoError(t, err)
		all = append(all, slimmed)
	}
	require.NoError(t, d.store.Replace(all, version))
}

// begin is a read whose answer is still to come.
func (d *desk) begin(t *testing.T, name string) (end func(state snapshot.SecretState, version string)) {
	t.Helper()
	mark, ok := d.ledger.wanted(shopKey(name))
	require.True(t, ok, "%s is to be read", name)
	return func(state snapshot.SecretState, version string) {
		d.ledger.answer(shopKey(name), mark, state, version)
	}
}

func (d *desk) found(name, version string) (snapshot.SecretState, string) {
	return snapshot.Present(convert(secret(name, "uid", version))), version
}

func (d *desk) status(name string) snapshot.SecretStatus { return d.states[shopKey(name)].Status }

func (d *desk) token(name string) string { return d.held(shopKey(name)) }

func TestListAnswersForReferencedSecretsAlone(t *testing.T) {
	d := newDesk()
	d.reference("a", "gone")
	d.list(t, "10", secret("a", "uid", "5"), secret("unreferenced", "uid", "6"))

	assert.Equal(t, "5", d.token("a"))
	assert.Equal(t, snapshot.SecretAbsent, d.status("gone"))
	assert.Len(t, d.states, 2)
	assert.Equal(t, 1, d.secretCalls)
	assert.Empty(t, d.resyncs)
	assert.Empty(t, d.reads)
}

func TestEventsOfUnreferencedSecretsLeaveNothing(t *testing.T) {
	d := newDesk()
	d.reference("a")
	d.list(t, "10")
	require.NoError(t, d.store.Add(secret("unreferenced", "uid", "11")))
	require.NoError(t, d.store.Update(secret("unreferenced", "uid", "12")))
	require.NoError(t, d.store.Delete(secret("unreferenced", "uid", "13")))

	assert.Len(t, d.area.entries, 1)
	assert.Equal(t, 1, d.secretCalls)
}

func TestRelist(t *testing.T) {
	tests := map[string]struct {
		secrets []*corev1.Secret
		token   string
		status  snapshot.SecretStatus
	}{
		"drops what vanished":                            {status: snapshot.SecretAbsent},
		"brings what changed":                            {secrets: []*corev1.Secret{secret("a", "uid", "19")}, token: "19", status: snapshot.SecretPresent},
		"brings what was recreated, as an update":        {secrets: []*corev1.Secret{secret("a", "another", "18")}, token: "18", status: snapshot.SecretPresent},
		"brings what is the same, for it may differ":     {secrets: []*corev1.Secret{secret("a", "uid", "5")}, token: "5", status: snapshot.SecretPresent},
		"counts even if an unreferenced Secret is alone": {secrets: []*corev1.Secret{secret("x", "uid", "5")}, status: snapshot.SecretAbsent},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := newDesk()
			d.reference("a")
			d.list(t, "10", secret("a", "uid", "5"))
			d.list(t, "20", test.secrets...)

			assert.Equal(t, test.status, d.status("a"))
			assert.Equal(t, test.token, d.token("a"))
			assert.Equal(t, 2, d.secretCalls)
			assert.Equal(t, 1, d.resyncs["secrets in namespace shop"])
		})
	}
}

func TestRestoredClusterReplacesWhatIsNewer(t *testing.T) {
	d := newDesk()
	d.reference("a", "b")
	d.list(t, "10", secret("a", "uid", "5"), secret("b", "uid", "6"))
	require.NoError(t, d.store.Update(secret("a", "uid", "90")))
	require.NoError(t, d.store.Bookmark("100"))
	d.list(t, "50", secret("a", "uid", "40"))

	assert.Equal(t, "40", d.token("a"))
	assert.Equal(t, snapshot.SecretAbsent, d.status("b"))
	require.NoError(t, d.store.Update(secret("a", "uid", "60")))
	assert.Equal(t, "60", d.token("a"))
}

func TestEventsOlderThanWhatIsHeldAreIgnored(t *testing.T) {
	d := newDesk()
	d.reference("a")
	d.list(t, "10")
	d.reference("a", "b")
	end := d.begin(t, "b")
	end(d.found("b", "20"))
	calls := d.secretCalls
	require.NoError(t, d.store.Add(secret("b", "uid", "12")))
	require.NoError(t, d.store.Delete(secret("b", "uid", "15")))
	require.NoError(t, d.store.Add(secret("b", "another", "20")))
	assert.Equal(t, "20", d.token("b"))
	assert.Equal(t, calls, d.secretCalls)

	require.NoError(t, d.store.Update(secret("b", "another", "100")))
	assert.Equal(t, "100", d.token("b"), "versions are compared as numbers")
	require.NoError(t, d.store.Delete(secret("b", "another", "101")))
	assert.Equal(t, snapshot.SecretAbsent, d.status("b"))
}

func TestSecretThatBecomesReferencedLater(t *testing.T) {
	t.Run("is read on its own once the watch has begun", func(t *testing.T) {
		d := newDesk()
		d.list(t, "10", secret("a", "uid", "5"))
		d.reference("a")
		assert.Equal(t, []snapshot.Key{shopKey("a")}, d.reads)
		d.begin(t, "a")(d.found("a", "5"))
		assert.Equal(t, "5", d.token("a"))
	})
	t.Run("is answered by the list if that has not come", func(t *testing.T) {
		d := newDesk()
		d.reference("a")
		assert.Empty(t, d.reads)
		assert.Empty(t, d.states)
	})
	t.Run("is read if the list passed it by before", func(t *testing.T) {
		d := newDesk()
		stub, err := d.store.Transformer()(secret("a", "uid", "5"))
		require.NoError(t, err)
		d.reference("a")
		require.NoError(t, d.store.Replace([]any{stub}, "10"))
		assert.Equal(t, []snapshot.Key{shopKey("a")}, d.reads)
		assert.Empty(t, d.states)
		d.begin(t, "a")(d.found("a", "5"))
		assert.Equal(t, "5", d.token("a"))
	})
	t.Run("takes an update that came while it was read", func(t *testing.T) {
		d := newDesk()
		d.list(t, "10", secret("a", "uid", "5"))
		d.reference("a")
		end := d.begin(t, "a")
		require.NoError(t, d.store.Update(secret("a", "uid", "11")))
		end(d.found("a", "5"))
		assert.Equal(t, "11", d.token("a"))
	})
	t.Run("takes a deletion that came while it was read", func(t *testing.T) {
		d := newDesk()
		d.list(t, "10", secret("a", "uid", "5"))
		d.reference("a")
		end := d.begin(t, "a")
		require.NoError(t, d.store.Delete(secret("a", "uid", "11")))
		end(d.found("a", "5"))
		assert.Equal(t, snapshot.SecretAbsent, d.status("a"))
	})
	t.Run("takes a creation that came while it was read", func(t *testing.T) {
		d := newDesk()
		d.list(t, "10")
		d.reference("a")
		end := d.begin(t, "a")
		require.NoError(t, d.store.Add(secret("a", "uid", "11")))
		end(snapshot.Absent(), "")
		assert.Equal(t, "11", d.token("a"))
	})
	t.Run("takes a relist that came while it was read", func(t *testing.T) {
		d := newDesk()
		d.list(t, "10")
		d.reference("a")
		end := d.begin(t, "a")
		d.list(t, "20", secret("a", "uid", "15"))
		end(snapshot.Absent(), "")
		assert.Equal(t, "15", d.token("a"))
	})
	t.Run("keeps what was read later than a relist", func(t *testing.T) {
		d := newDesk()
		d.list(t, "10")
		d.reference("a")
		d.begin(t, "a")(d.found("a", "25"))
		d.list(t, "20")
		assert.Equal(t, "25", d.token("a"))
		require.NoError(t, d.store.Delete(secret("a", "uid", "26")))
		assert.Equal(t, snapshot.SecretAbsent, d.status("a"))
	})
}

func TestDereferencedSecret(t *testing.T) {
	t.Run("has no answer told", func(t *testing.T) {
		d := newDesk()
		d.list(t, "10")
		d.reference("a")
		end := d.begin(t, "a")
		d.reference()
		end(d.found("a", "5"))
		assert.Empty(t, d.states)
		_, ok := d.ledger.wanted(shopKey("a"))
		assert.False(t, ok)
	})
	t.Run("and referenced again takes the second read's answer", func(t *testing.T) {
		d := newDesk()
		d.list(t, "10")
		d.reference("a")
		first := d.begin(t, "a")
		d.reference()
		d.reference("a")
		second := d.begin(t, "a")
		first(d.found("a", "5"))
		assert.Empty(t, d.states)
		second(d.found("a", "15"))
		assert.Equal(t, "15", d.token("a"))
	})
	t.Run("leaves nothing", func(t *testing.T) {
		d := newDesk()
		d.reference("a", "b")
		d.list(t, "10", secret("a", "uid", "5"), secret("b", "uid", "5"))
		d.reference("b")
		assert.Len(t, d.area.entries, 1)
		assert.Len(t, d.ledger.refs, 1)
	})
	t.Run("but not its neighbour, which is not told again", func(t *testing.T) {
		d := newDesk()
		d.reference("a", "b")
		d.list(t, "10", secret("a", "uid", "5"), secret("b", "uid", "5"))
		d.reference("b")
		assert.Equal(t, 1, d.secretCalls)
		assert.Empty(t, d.reads)
	})
}

func TestTombstoneDeletes(t *testing.T) {
	for name, object := range map[string]any{
		"with the last state":    cache.DeletedFinalStateUnknown{Key: "shop/a", Obj: secret("a", "uid", "5")},
		"without the last state": cache.DeletedFinalStateUnknown{Key: "shop/a"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk()
			d.reference("a")
			d.list(t, "10", secret("a", "uid", "5"))
			require.NoError(t, d.store.Delete(object))
			assert.Equal(t, snapshot.SecretAbsent, d.status("a"))
			require.NoError(t, d.store.Add(secret("a", "another", "11")))
			assert.Equal(t, "11", d.token("a"))
		})
	}
}

func TestSecretOutsideTheScopeIsForbiddenAtOnce(t *testing.T) {
	d := newDesk()
	far := snapshot.Key{Namespace: "far", Name: "a"}
	d.ledger.reference(map[snapshot.Key]snapshot.Reference{far: {All: true}})
	assert.Equal(t, snapshot.Forbidden(`namespace far is outside the scope; add it to "scope namespaces"`), d.states[far])
	assert.Empty(t, d.reads)
}

func TestReferenceBeforeRunIsAnsweredInRun(t *testing.T) {
	l := newLedger(Scope{Kind: ScopeNamespaces, Namespaces: []string{"shop"}})
	far := snapshot.Key{Namespace: "far", Name: "a"}
	l.reference(map[snapshot.Key]snapshot.Reference{far: {}, shopKey("a"): {}})
	r := newRecorder()
	l.open(r, func(snapshot.Key) { t.Error("nothing is to be read") })

	assert.Len(t, r.states, 1)
	assert.Equal(t, snapshot.SecretForbidden, r.states[far].Status)
	assert.True(t, l.areas[snapshot.Key{Namespace: "shop"}].wants(shopKey("a")))
}

func TestWatchThatMayNotBegin(t *testing.T) {
	forbidden := mirror.Failure{Kind: mirror.FailureForbidden, Detail: "may not"}
	t.Run("makes its Secrets forbidden, later ones too, until it may", func(t *testing.T) {
		d := newDesk()
		d.reference("a")
		d.area.failed(forbidden)
		assert.Equal(t, snapshot.Forbidden("may not"), d.states[shopKey("a")])
		d.reference("a", "b")
		assert.Equal(t, snapshot.Forbidden("may not"), d.states[shopKey("b")])

		calls := d.secretCalls
		d.area.failed(forbidden)
		assert.Equal(t, calls, d.secretCalls, "nobody is told twice")

		d.list(t, "10", secret("a", "uid", "5"))
		assert.Equal(t, "5", d.token("a"))
		assert.Equal(t, snapshot.SecretAbsent, d.status("b"))
	})
	t.Run("for another reason leaves them pending", func(t *testing.T) {
		d := newDesk()
		d.reference("a")
		d.area.failed(mirror.Failure{Kind: mirror.FailureContact, Detail: "refused"})
		d.area.failed(mirror.Failure{Kind: mirror.FailureUnauthorized, Detail: "expired"})
		assert.Empty(t, d.states)
	})
	t.Run("but has before keeps the last good", func(t *testing.T) {
		d := newDesk()
		d.reference("a")
		d.list(t, "10", secret("a", "uid", "5"))
		d.reference("a", "b")
		d.area.failed(forbidden)
		assert.Equal(t, "5", d.token("a"))
		assert.Equal(t, snapshot.SecretPending, d.status("b"), "whose own read will tell")
	})
}

func TestSecretThatMayNotBeReadStaysWanted(t *testing.T) {
	d := newDesk()
	d.list(t, "10", secret("a", "uid", "5"))
	d.reference("a")
	d.begin(t, "a")(snapshot.Forbidden("may not get it"), "")
	assert.Equal(t, snapshot.SecretForbidden, d.status("a"))
	d.begin(t, "a")(d.found("a", "5"))
	assert.Equal(t, "5", d.token("a"))
}

func TestWhyASecretIsAbsentSurvivesARelist(t *testing.T) {
	d := newDesk()
	d.list(t, "10")
	d.reference("a")
	d.begin(t, "a")(hidden("it is of another type"), "5")
	calls := d.secretCalls
	d.list(t, "20")
	assert.Equal(t, calls, d.secretCalls)
	require.NoError(t, d.store.Add(secret("a", "another", "21")))
	assert.Equal(t, "21", d.token("a"))
}

func TestStoreRefusesWhatIsNoSecret(t *testing.T) {
	d := newDesk()
	pod := &corev1.Pod{}
	assert.Error(t, d.store.Add(pod))
	assert.Error(t, d.store.Update(pod))
	assert.Error(t, d.store.Delete(pod))
	assert.Error(t, d.store.Delete(cache.DeletedFinalStateUnknown{Key: "a/b/c"}))
	assert.Error(t, d.store.Replace([]any{pod}, "1"))
	_, err := d.store.Transformer()(pod)
	assert.Error(t, err)
	assert.NoError(t, d.store.Resync())
}
