package credential

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"sync"
)

// generation is half of the successes that are remembered.
const generation = 5000

// successes remembers what was right, by a MAC under a key that is made with it and
// never leaves it: no password is kept. A success that is not asked for while a whole
// generation of others comes is forgotten.
type successes struct {
	macs sync.Pool // of *sealer

	mu         sync.Mutex // guards the fields below
	young, old map[digest]struct{}
}

// sealer is what making a key needs, to be used again.
type sealer struct {
	mac  hash.Hash
	text []byte
	sum  digest
}

func (s *successes) init() {
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // it never fails
	s.macs.New = func() any { return &sealer{mac: hmac.New(sha256.New, key)} }
	s.young = make(map[digest]struct{})
}

// keys returns the key of each hash of an attempt.
func (s *successes) keys(owner Owner, a attempt) (keys [maxHashes]digest) {
	sealer := s.macs.Get().(*sealer)
	defer s.macs.Put(sealer)
	for i, stored := range a.hashes {
		keys[i] = sealer.seal(owner.App, owner.Namespace, owner.Name, owner.UID, owner.Version, a.user, stored.text, a.password)
	}
	return keys
}

// seal puts the length before each field, so that no two lists of fields are one
// text. It leaves no password behind.
func (s *sealer) seal(fields ...string) digest {
	s.text = s.text[:0]
	for _, field := range fields {
		s.text = binary.AppendUvarint(s.text, uint64(len(field)))
		s.text = append(s.text, field...)
	}
	s.mac.Reset()
	_, _ = s.mac.Write(s.text) // a hash never fails
	s.mac.Sum(s.sum[:0])
	s.mac.Reset()
	clear(s.text)
	return s.sum
}

// has reports whether one of the keys is remembered.
func (s *successes) has(keys []digest) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range keys {
		if _, ok := s.young[key]; ok {
			return true
		}
		if _, ok := s.old[key]; ok {
			s.put(key)
			return true
		}
	}
	return false
}

func (s *successes) add(key digest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(key)
}

func (s *successes) put(key digest) {
	if len(s.young) >= generation {
		s.old, s.young = s.young, make(map[digest]struct{})
	}
	s.young[key] = struct{}{}
}
