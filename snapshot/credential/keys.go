package credential

import (
	"crypto/sha256"
	"crypto/subtle"
	"slices"
	"time"
)

// Keys are the API keys of one App: digests, and whom each belongs to. They are
// immutable and safe for concurrent use.
type Keys struct {
	all   []key
	index map[digest]int // where there are many
}

type digest = [sha256.Size]byte

type key struct {
	digest digest
	client string
	times  *times // nil: valid for ever, as most are
}

// times are when a key is valid; zero is not bounded.
type times struct{ notBefore, notAfter time.Time }

// fewKeys are looked through one by one, which takes less memory than a map.
const fewKeys = 8

// Equal reports whether both take the same values, for the same clients at the same
// times, in the same order.
func (k *Keys) Equal(other *Keys) bool {
	return slices.EqualFunc(k.all, other.all, func(a, b key) bool { return a.digest == b.digest && a.equal(b) })
}

// Find returns whom a presented value belongs to. The time it takes does not
// depend on how much of a value is right: digests are compared, in constant time.
// now is asked only for a key that is not valid for ever.
func (k *Keys) Find(value string, now func() time.Time) (client string, result Result) {
	found := k.find(sum(value))
	switch {
	case found == nil:
		return "", Unknown
	case found.times != nil && !found.times.include(now()):
		return "", Expired
	}
	return found.client, Valid
}

func (t *times) include(now time.Time) bool {
	return !now.Before(t.notBefore) && (t.notAfter.IsZero() || now.Before(t.notAfter))
}

func (t *times) equal(other *times) bool {
	if t == nil || other == nil {
		return t == other
	}
	return t.notBefore.Equal(other.notBefore) && t.notAfter.Equal(other.notAfter)
}

func (k *Keys) find(d digest) *key {
	if k.index != nil {
		i, ok := k.index[d]
		if !ok || subtle.ConstantTimeCompare(d[:], k.all[i].digest[:]) != 1 {
			return nil
		}
		return &k.all[i]
	}
	var found *key
	for i := range k.all {
		if subtle.ConstantTimeCompare(d[:], k.all[i].digest[:]) == 1 {
			found = &k.all[i]
		}
	}
	return found
}

// sum does not allocate for values of usual length.
func sum(value string) digest {
	var buf [256]byte
	if len(value) > len(buf) {
		return sha256.Sum256([]byte(value))
	}
	return sha256.Sum256(buf[:copy(buf[:], value)])
}

// newKeys keeps a key that is the only one beside the rest: a request for one of many
// Apps finds neither in the processor's cache.
func newKeys(n int) *Keys {
	if n != 1 {
		return &Keys{all: make([]key, 0, n)}
	}
	one := new(struct {
		Keys
		key [1]key
	})
	one.all = one.key[:0]
	return &one.Keys
}

func (k key) equal(other key) bool {
	return k.client == other.client && k.times.equal(other.times)
}

func (k *Keys) makeIndex() {
	if len(k.all) <= fewKeys {
		return
	}
	k.index = make(map[digest]int, len(k.all))
	for i := range k.all {
		k.index[k.all[i].digest] = i
	}
}
