package files

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"maps"
	"slices"
	"strconv"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

// typeOpaque is the type of a Secret that names none.
const typeOpaque = "Opaque"

// versionBytes is how much of the hash a version shows.
const versionBytes = 8

// seal makes versions of content. They are shown to people, so they are hashes
// under a random key: nobody can try secrets against them.
type seal struct{ key [32]byte }

func newSeal() seal {
	var s seal
	_, _ = rand.Read(s.key[:]) // never fails
	return s
}

// secret gives a Secret the version that follows from its content.
func (s seal) secret(meta snapshot.SecretMeta, data map[string][]byte) *snapshot.Secret {
	h := hmac.New(sha256.New, s.key[:])
	write(h, []byte(meta.Key.Namespace), []byte(meta.Key.Name), []byte(meta.Type), []byte(strconv.FormatBool(meta.MayInject)))
	for _, name := range slices.Sorted(maps.Keys(data)) {
		write(h, []byte(name), data[name])
	}
	meta.Version = hex.EncodeToString(h.Sum(nil)[:versionBytes])
	return snapshot.NewSecret(meta, data)
}

// text returns what tells one content of a file from another.
func (s seal) text(text []byte) [sha256.Size]byte {
	h := hmac.New(sha256.New, s.key[:])
	h.Write(text)
	return [sha256.Size]byte(h.Sum(nil))
}

// write puts each length in front, so that two lists never look alike.
func write(h hash.Hash, parts ...[]byte) {
	var size [8]byte
	for _, part := range parts {
		binary.BigEndian.PutUint64(size[:], uint64(len(part)))
		h.Write(size[:])
		h.Write(part)
	}
}
