package files

import (
	"sync"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

// wanted is the set of referenced Secrets, and what the Sink was told of each.
type wanted struct {
	signal chan struct{} // another set is there

	mu      sync.Mutex // guards the fields below
	refs    map[snapshot.Key]snapshot.Reference
	told    map[snapshot.Key]snapshot.SecretState
	version uint64 // counts the sets
}

func newWanted() *wanted {
	return &wanted{
		signal: make(chan struct{}, 1),
		told:   make(map[snapshot.Key]snapshot.SecretState),
	}
}

// replace forgets what was told of a Secret that is left out: when it comes back
// it has to be answered for again, even if no look came in between.
func (w *wanted) replace(refs map[snapshot.Key]snapshot.Reference) {
	w.mu.Lock()
	w.refs = refs
	w.version++
	for key := range w.told {
		if _, ok := refs[key]; !ok {
			delete(w.told, key)
		}
	}
	w.mu.Unlock()
	select {
	case w.signal <- struct{}{}:
	default: // one is queued, and whoever takes it sees this set
	}
}

// list returns the set, which nobody changes, and its version.
func (w *wanted) list() (map[snapshot.Key]snapshot.Reference, uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.refs, w.version
}

// news returns the states that differ from what was told, and counts them as
// told. A set that has come meanwhile gets its answers from the next look.
func (w *wanted) news(looked map[snapshot.Key]snapshot.Reference, resolve func(snapshot.Key) snapshot.SecretState) map[snapshot.Key]snapshot.SecretState {
	w.mu.Lock()
	defer w.mu.Unlock()
	news := make(map[snapshot.Key]snapshot.SecretState)
	for key := range looked {
		if _, ok := w.refs[key]; !ok {
			continue
		}
		old, known := w.told[key]
		next := resolve(key)
		if next.Status == snapshot.SecretPending {
			// Nobody knows whether it is elsewhere. What was open closes; there
			// is no answer to take back otherwise.
			if !known || old.Status == snapshot.SecretAbsent {
				continue
			}
			next = snapshot.Absent()
		}
		if known && old.Equal(next) {
			continue
		}
		w.told[key], news[key] = next, next
	}
	return news
}
