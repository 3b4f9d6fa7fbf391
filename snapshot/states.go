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

type shard struct{ states map[Key]SecretState }

var shardSeed = maphash.MakeSeed()

func shardOf(key Key) int { return int(maphash.Comparable(shardSeed, key) % shards) }

func newSecretStates(n int) secretStates {
	s := make(secretStates, shards)
	for i := range s {
		s[i] = &shard{make(map[Key]SecretState, n/shards)}
	}
	return s
}

// get returns the zero state for one that is not there.
func (s secretStates) get(key Key) SecretState {
	if s == nil {
		return SecretState{}
	}
	return s[shardOf(key)].states[key]
}

func (s secretStates) put(key Key, state SecretState) { s[shardOf(key)].states[key] = state }

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
		s[i] = &shard{maps.Clone(last[i].states)}
	}
	s[i].states[key] = state
}

func (s secretStates) all() iter.Seq2[Key, SecretState] {
	return func(yield func(Key, SecretState) bool) {
		for _, shard := range s {
			for key, state := range shard.states {
				if !yield(key, state) {
					return
				}
			}
		}
	}
}
