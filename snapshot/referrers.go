package snapshot

import "hash/maphash"

// referrers find the Apps of a Secret. They are chains through two arrays, for a map of
// lists takes ten times as much.
type referrers struct {
	first []int32 // by hash of the Secret's key; none for no App
	next  []int32 // by App
}

const none int32 = -1

var referrerSeed = maphash.MakeSeed()

func newReferrers(entries []*Entry) referrers {
	size := 1
	for size < len(entries) {
		size *= 2
	}
	r := referrers{first: make([]int32, size), next: make([]int32, len(entries))}
	for i := range r.first {
		r.first[i] = none
	}
	for i := len(entries) - 1; i >= 0; i-- { // so that a chain is in order
		if entries[i].Err == nil {
			first := r.chain(entries[i].SecretRef.Secret)
			r.next[i], *first = *first, int32(i)
		}
	}
	return r
}

func (r *referrers) chain(secret Key) *int32 {
	return &r.first[int(maphash.Comparable(referrerSeed, secret))&(len(r.first)-1)]
}

// of yields the positions of the Apps that refer to a Secret, in order.
func (r *referrers) of(secret Key, entries []*Entry) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for i := *r.chain(secret); i != none; i = r.next[i] {
			if entries[i].SecretRef.Secret == secret && !yield(int(i)) {
				return
			}
		}
	}
}
