package snapshot

import (
	"hash/maphash"
	"iter"
	"maps"
	"slices"
)

// shards is into how many maps the states are split, of which one is copied when one
// of them changes.
const shards = 256

// secretStates are the states of the referenced Secrets. Generations share the maps
// in which nothing changes.
type secretStates []*shard

// shard keeps the Secrets that are there apart, which are most: a state takes twice as
// much.
type shard struct {
	present map[Key]*Secret
	others  map[Key]SecretState
}

func (s *shard) get(key Key) SecretState {
	if secret, ok := s.present[key]; ok {
		return Present(secret)
	}
	return s.others[key]
}

func (s *shard) put(key Key, state SecretState) {
	if state == Present(state.Secret) {
		delete(s.others, key)
		s.present[key] = state.Secret
		return
	}
	delete(s.present, key)
	s.others[key] = state
}

func (s *shard) clone() *shard { return &shard{maps.Clone(s.present), maps.Clone(s.others)} }

var shardSeed = maphash.MakeSeed()

func shardOf(key Key) int { return int(maphash.Comparable(shardSeed, key) % shards) }

func newSecretStates(n int) secretStates {
	s := make(secretStates, shards)
	for i := range s {
		s[i] = &shard{make(map[Key]*Secret, n/shards), make(map[Key]SecretState)}
	}
	return s
}

// get returns the zero state for one that is not there.
func (s secretStates) get(key Key) SecretState {
	if s == nil {
		return SecretState{}
	}
	return s[shardOf(key)].get(key)
}

func (s secretStates) put(key Key, state SecretState) { s[shardOf(key)].put(key, state) }

// clone shares every map.
func (s secretStates) clone() secretStates {
	if s == nil {
		return newSecretStates(0)
	}
	return slices.Clone(s)
}

// replace puts a state into a clone of last, and leaves last as it is.
func (s secretStates) replace(key Key, state SecretState, last secretStates) {
	i := shardOf(key)
	if last != nil && s[i] == last[i] {
		s[i] = last[i].clone()
	}
	s[i].put(key, state)
}

func (s secretStates) all() iter.Seq2[Key, SecretState] {
	return func(yield func(Key, SecretState) bool) {
		for _, shard := range s {
			for key, secret := range shard.present {
				if !yield(key, Present(secret)) {
					return
				}
			}
			for key, state := range shard.others {
				if !yield(key, state) {
					return
				}
			}
		}
	}
}
