package credential

import "encoding/binary"

// What the tests of the Hasher need to hold a slot, and to fill its memory, without
// hashing for minutes.
const (
	Budget     = budget
	Generation = generation
)

// RunInTurn does the work as if it were a hash of so many units.
func (h *Hasher) RunInTurn(app string, units int, cancel <-chan struct{}, work func()) bool {
	return h.queue.run(app, units, cancel, work)
}

// Waiting returns the units that wait, and of how many Apps.
func (h *Hasher) Waiting() (units, apps int) {
	h.queue.mu.Lock()
	defer h.queue.mu.Unlock()
	return h.queue.waiting, len(h.queue.apps)
}

// Remember adds the n-th of many successes.
func (h *Hasher) Remember(n int) { h.seen.add(numbered(n)) }

// Remembers reports whether the n-th of many successes is remembered, and asks for
// it by that.
func (h *Hasher) Remembers(n int) bool { return h.seen.has([]digest{numbered(n)}) }

// Remembered returns how many successes are remembered.
func (h *Hasher) Remembered() int { return len(h.seen.young) + len(h.seen.old) }

func numbered(n int) (d digest) {
	binary.BigEndian.PutUint64(d[:], uint64(n))
	return d
}
