package credential

import "sync/atomic"

// Hasher hashes what callers present, a few at once, and remembers what was right.
// It is safe for concurrent use, has no goroutine of its own and reads no clock.
type Hasher struct {
	hashed atomic.Uint64
	queue  queue
	seen   successes
}

// attempt is a user and a password to check. The decoy of an unknown user is never
// right, and all its hashes are computed.
type attempt struct {
	user, password string
	hashes         []storedHash
	decoy          bool
}

// NewHasher returns a Hasher that computes at most so many hashes at once, and at
// least one.
func NewHasher(atOnce int) *Hasher {
	h := &Hasher{}
	h.queue.free = max(1, atOnce)
	h.seen.init()
	return h
}

// Hashed returns how many hashes of passwords were ever computed.
func (h *Hasher) Hashed() uint64 { return h.hashed.Load() }

func (h *Hasher) check(owner Owner, a attempt, cancel <-chan struct{}) Result {
	units := 0
	for _, stored := range a.hashes {
		units += stored.units(a.password)
	}
	if units == 0 { // nothing, or {SHA}, which is less work than to remember it
		if h.compute(a) < 0 {
			return Unknown
		}
		return Valid
	}
	keys := h.seen.keys(owner, a)
	if h.seen.has(keys[:len(a.hashes)]) {
		return Valid
	}
	return h.checkInTurn(owner.App, units, a, keys, cancel)
}

func (h *Hasher) checkInTurn(app string, units int, a attempt, keys [maxHashes]digest, cancel <-chan struct{}) Result {
	result := Overloaded
	h.queue.run(app, units, cancel, func() {
		result = Unknown
		if h.seen.has(keys[:len(a.hashes)]) { // another request of this caller was before
			result = Valid
			return
		}
		if i := h.compute(a); i >= 0 {
			h.seen.add(keys[i])
			result = Valid
		}
	})
	return result
}

// compute returns which hash is right, or -1.
func (h *Hasher) compute(a attempt) int {
	for i, stored := range a.hashes {
		h.hashed.Add(1)
		if stored.matches(a.password) && !a.decoy {
			return i
		}
	}
	return -1
}
