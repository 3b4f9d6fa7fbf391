package kube

import (
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

// deniedPatience is how long what is open by a watch of one Secret stays so once the
// watch is denied. It is short enough that this closes before everybody's Apps do, at
// the least max_age.
const deniedPatience = 2 * time.Minute

// area is the handler of one watch of the scope: the referenced Secrets that it
// covers. In a scope by name it has one Secret and is closed with that; what its
// watch still brings is dropped. The lock of the ledger guards it.
type area struct {
	ledger  *ledger
	target  target
	entries map[snapshot.Key]*entry

	open    atomic.Int32 // Secrets that are present, for who has not the lock
	version string       // up to which the watch has brought everything
	synced  bool         // it has brought everything once
	denied  string       // why it may not; of use until it is synced
	since   time.Time    // when a watch in sync began to be denied; zero while it is not
	failing bool         // the Sink has been told so
	closed  bool
}

var _ handler = (*area)(nil)

// enter takes a Secret that is new among the referenced ones. Until the watch is
// in sync, its first Replace answers; later it may have passed the Secret by.
func (a *area) enter(key snapshot.Key, states map[snapshot.Key]snapshot.SecretState) {
	e := &entry{}
	a.entries[key] = e
	switch {
	case a.synced:
		a.ledger.want(key, e)
	case a.denied != "":
		a.deny(key, e, states)
	}
}

// set keeps count of what is open by the watch.
func (a *area) set(e *entry, next entry) {
	was, is := e.status == snapshot.SecretPresent, next.status == snapshot.SecretPresent
	switch {
	case is && !was:
		a.open.Add(1)
	case was && !is:
		a.open.Add(-1)
	}
	*e = next
}

// deny leaves no version: whatever comes after it is newer.
func (a *area) deny(key snapshot.Key, e *entry, states map[snapshot.Key]snapshot.SecretState) {
	a.set(e, entry{status: snapshot.SecretForbidden})
	states[key] = snapshot.Forbidden(a.denied)
}

func (a *area) upsert(secret *corev1.Secret) {
	a.event(keyOf(secret), secret.ResourceVersion, func() snapshot.SecretState {
		return judge(secret)
	})
}

func (a *area) remove(key snapshot.Key, version string) {
	a.event(key, version, a.target.absent)
}

// event tells what happened to one Secret, if that is referenced and no read has
// told it already.
func (a *area) event(key snapshot.Key, version string, state func() snapshot.SecretState) {
	a.ledger.mu.Lock()
	defer a.ledger.mu.Unlock()
	if version != "" {
		a.version = version
	}
	e := a.entries[key]
	if e == nil || !isNewer(version, e.version) {
		return
	}
	told := state()
	a.set(e, entry{version: version, status: told.Status})
	a.ledger.tell(map[snapshot.Key]snapshot.SecretState{key: told})
}

// replace ends in the same state as a fresh start, whatever was missed.
func (a *area) replace(secrets []*corev1.Secret, version string) {
	a.ledger.mu.Lock()
	defer a.ledger.mu.Unlock()
	if a.closed {
		return
	}
	if a.synced {
		a.ledger.sink.Resynced(a.target.title)
	}
	// Older than what the watch has brought means that the cluster was restored:
	// then nothing that is known is newer.
	restored := isOlder(version, a.version)
	a.synced, a.denied, a.version, a.since = true, "", version, time.Time{}
	a.ledger.tell(a.compare(secrets, version, restored))
}

func (a *area) compare(secrets []*corev1.Secret, version string, restored bool) map[snapshot.Key]snapshot.SecretState {
	states := make(map[snapshot.Key]snapshot.SecretState, len(a.entries))
	found := make(map[snapshot.Key]*corev1.Secret, len(a.entries))
	for _, secret := range secrets {
		if key := keyOf(secret); a.entries[key] != nil {
			found[key] = secret
		}
	}
	for key, e := range a.entries {
		if !restored && isOlder(version, e.version) {
			continue // told by a read that was later than this list
		}
		a.settle(key, e, found[key], version, states)
	}
	return states
}

func (a *area) settle(key snapshot.Key, e *entry, secret *corev1.Secret, version string, states map[snapshot.Key]snapshot.SecretState) {
	switch {
	case secret == nil && e.status == snapshot.SecretAbsent && a.target.name == "":
		a.set(e, entry{version: version, status: snapshot.SecretAbsent}) // what was told may say why
	case secret == nil:
		a.set(e, entry{version: version, status: snapshot.SecretAbsent})
		states[key] = a.target.absent()
	case isStub(secret):
		// It became referenced after it had come.
		e.version = ""
		a.ledger.want(key, e)
	default:
		told := judge(secret)
		a.set(e, entry{version: secret.ResourceVersion, status: told.Status})
		states[key] = told
	}
}

func (a *area) bookmark(version string) {
	a.ledger.mu.Lock()
	defer a.ledger.mu.Unlock()
	a.version = version
}

func (a *area) wants(key snapshot.Key) bool {
	a.ledger.mu.Lock()
	defer a.ledger.mu.Unlock()
	return a.entries[key] != nil
}

// failed also answers for the Secrets, which would be pending for ever, if the
// watch may not even begin. Once it has, the last good stays, but not what was open by
// the watch of one Secret whose rights were taken away.
func (a *area) failed(f mirror.Failure) {
	a.ledger.mu.Lock()
	defer a.ledger.mu.Unlock()
	if a.closed {
		return
	}
	if a.isOutOfPatience(f.Kind) {
		a.synced = false
	}
	denied := f.Kind == mirror.FailureForbidden && !a.synced
	a.tellFailed(f, denied)
	if denied {
		a.denyAll(f.Detail)
	}
}

// isOutOfPatience reports whether a watch of one Secret is denied and has not recovered
// for too long since it first was. An attempt that is lost meanwhile changes nothing.
func (a *area) isOutOfPatience(kind mirror.FailureKind) bool {
	if kind != mirror.FailureForbidden || a.target.name == "" || !a.synced {
		return false
	}
	if a.since.IsZero() {
		a.since = time.Now()
	}
	return time.Since(a.since) >= deniedPatience
}

func (a *area) denyAll(detail string) {
	a.denied = detail
	states := make(map[snapshot.Key]snapshot.SecretState)
	for key, e := range a.entries {
		if e.status != snapshot.SecretForbidden {
			a.deny(key, e, states)
		}
	}
	a.ledger.tell(states)
}

// tellFailed tells nobody of a Secret by name that says itself that it may not be
// watched, and only once what all of them have in common.
func (a *area) tellFailed(f mirror.Failure, denied bool) {
	byName := a.target.name != ""
	switch {
	case byName && denied:
		a.tellRecovered()
	case byName && f.Kind != mirror.FailureForbidden:
		a.tellOwnRecovered()
		a.ledger.common.fail(a, f, a.ledger.sink)
	default:
		a.ledger.common.end(a, a.ledger.sink)
		a.failing = true
		a.ledger.sink.Failed(a.target.title, f)
	}
}

func (a *area) recovered() {
	a.ledger.mu.Lock()
	defer a.ledger.mu.Unlock()
	a.since = time.Time{}
	a.tellRecovered()
}

func (a *area) tellRecovered() {
	a.ledger.common.end(a, a.ledger.sink)
	a.tellOwnRecovered()
}

func (a *area) tellOwnRecovered() {
	if a.failing {
		a.failing = false
		a.ledger.sink.Recovered(a.target.title)
	}
}

// close ends an area that has no Secret any more. What failed is nobody's trouble
// then.
func (a *area) close() {
	a.closed = true
	a.tellRecovered()
}
