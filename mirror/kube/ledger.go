package kube

import (
	"sync"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

// ledger knows which Secrets are referenced and what the Sink has been told
// about each. Watches, reads and the Mirror meet here.
type ledger struct {
	scope   Scope
	changed chan struct{} // has something in it if areas came or went; for one reader

	mu     sync.Mutex             // guards the rest and the areas; held while the Sink is told, to keep order
	areas  map[snapshot.Key]*area // by Scope.place
	quota  quota                  // of areas, in a scope by name
	common common                 // to the areas, in a scope by name
	sink   mirror.Sink
	read   func(snapshot.Key) // asks for a Secret to be read on its own; must not block
	refs   map[snapshot.Key]snapshot.Reference
	marks  uint64
}

// entry is one referenced Secret.
type entry struct {
	version string // of the last news; empty for none
	status  snapshot.SecretStatus
	mark    uint64 // of the read whose answer is wanted; 0 for none
}

func newLedger(scope Scope) *ledger {
	l := &ledger{scope: scope, changed: make(chan struct{}, 1), areas: make(map[snapshot.Key]*area), quota: newQuota(), common: newCommon()}
	for _, t := range scope.targets() {
		l.areas[snapshot.Key{Namespace: t.namespace}] = l.newArea(t)
	}
	return l
}

func (l *ledger) newArea(t target) *area {
	return &area{ledger: l, target: t, entries: make(map[snapshot.Key]*entry)}
}

// open begins telling the Sink, with what was referenced before.
func (l *ledger) open(sink mirror.Sink, read func(snapshot.Key)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sink, l.read = sink, read
	refs := l.refs
	l.refs = nil
	l.referenceLocked(refs)
}

// restart forgets the versions, which are those of other data, and the reads that
// are under way. What was told stays until the watches have brought everything.
func (l *ledger) restart() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range l.areas {
		a.version = ""
		for _, e := range a.entries {
			e.version, e.mark = "", 0
		}
	}
}

// reference replaces the set of referenced Secrets, and answers for the new ones
// as far as that is possible at once.
func (l *ledger) reference(refs map[snapshot.Key]snapshot.Reference) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sink == nil {
		l.refs = refs
		return
	}
	l.referenceLocked(refs)
}

func (l *ledger) referenceLocked(refs map[snapshot.Key]snapshot.Reference) {
	states := make(map[snapshot.Key]snapshot.SecretState)
	for key := range l.refs {
		if _, ok := refs[key]; !ok {
			l.forget(key)
		}
	}
	for key := range refs {
		if _, known := l.refs[key]; !known {
			l.enter(key, states)
		}
	}
	if l.scope.byName() {
		l.admit(refs, states)
	}
	l.refs = refs
	l.tell(states)
}

func (l *ledger) enter(key snapshot.Key, states map[snapshot.Key]snapshot.SecretState) {
	a := l.areaOf(key)
	switch {
	case a != nil:
		a.enter(key, states)
	case !l.scope.byName():
		states[key] = snapshot.Forbidden("namespace " + key.Namespace + ` is outside the scope; add it to "scope namespaces"`)
	}
}

func (l *ledger) forget(key snapshot.Key) {
	a := l.areaOf(key)
	if a == nil {
		return
	}
	a.set(a.entries[key], entry{})
	delete(a.entries, key)
	if l.scope.byName() {
		a.close()
		delete(l.areas, l.scope.place(key))
	}
}

// areaOf returns nil for a Secret that no watch covers.
func (l *ledger) areaOf(key snapshot.Key) *area { return l.areas[l.scope.place(key)] }

func (l *ledger) entryOf(key snapshot.Key) *entry {
	if a := l.areaOf(key); a != nil {
		return a.entries[key]
	}
	return nil
}

// present returns the areas that there are now.
func (l *ledger) present() map[*area]struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	areas := make(map[*area]struct{}, len(l.areas))
	for _, a := range l.areas {
		areas[a] = struct{}{}
	}
	return areas
}

func (l *ledger) tell(states map[snapshot.Key]snapshot.SecretState) {
	if len(states) > 0 {
		l.sink.Secrets(states)
	}
}

// want marks an entry before it is read. Whatever the watch brings afterwards
// takes the mark away, so that the answer to the read, which may be older, is
// dropped.
func (l *ledger) want(key snapshot.Key, e *entry) {
	l.marks++
	e.mark = l.marks
	l.read(key)
}

// wanted returns the mark to answer for, or false if the Secret need not be read
// (any more).
func (l *ledger) wanted(key snapshot.Key) (mark uint64, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entryOf(key)
	if e == nil || e.mark == 0 {
		return 0, false
	}
	return e.mark, true
}

// answer takes what a read found, with the version of the Secret if there is
// one. A Secret that may not be read stays wanted.
func (l *ledger) answer(key snapshot.Key, mark uint64, state snapshot.SecretState, version string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entryOf(key)
	if e == nil || e.mark != mark {
		return
	}
	next := entry{version: version, status: state.Status}
	if state.Status == snapshot.SecretForbidden {
		next.version, next.mark = e.version, e.mark
	}
	l.areaOf(key).set(e, next)
	l.tell(map[snapshot.Key]snapshot.SecretState{key: state})
}
