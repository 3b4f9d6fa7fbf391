package credential

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/go-jose/go-jose/v4"
)

// TokenKeys are what the tokens of one App are verified with. They are immutable
// and safe for concurrent use.
type TokenKeys struct {
	all        []tokenKey
	algorithms []jose.SignatureAlgorithm // of all keys
}

// tokenKey is one key. Its material is an *rsa.PublicKey, an *ecdsa.PublicKey, an
// ed25519.PublicKey or, for HMAC, a []byte.
type tokenKey struct {
	kid        string // empty for any
	algorithms algorithmSet
	material   any
	digest     digest // of the material
}

// mostTokenKeys bounds the keys of one Secret.
const mostTokenKeys = 100

var (
	errTooManyTokenKeys = fmt.Errorf("holds more than %d keys; remove those that are not used any more", mostTokenKeys)
	errUnfit            = errors.New("fits none of the App's algorithms")
)

// ReadTokenKeys reads the keys for tokens with one of the algorithms. What is wrong
// with one key spoils that key alone and is a warning, and so does one that fits
// none of the algorithms; an error means that nothing can be used, and names the
// fix.
func ReadTokenKeys(s Secret, spec Spec, algorithms []string) (*TokenKeys, Warnings, error) {
	format, dataKey, err := tokenFormat(s, spec)
	if err != nil {
		return nil, nil, located(spec.DataKey, err)
	}
	text, ok := s.Value(dataKey)
	if !ok {
		return nil, nil, located(dataKey, errors.New("does not exist; add it"))
	}
	r := tokenReader{dataKey: dataKey, wanted: setOf(algorithms...)}
	if err := r.read(format, text); err != nil {
		return nil, r.said(), located(dataKey, err)
	}
	keys := r.keys()
	if len(keys.all) == 0 {
		return nil, r.said(), located(dataKey, errNoneLeft)
	}
	return keys, r.said(), nil
}

// Equal reports whether both have the same keys, for the same kids and algorithms,
// in the same order.
func (k *TokenKeys) Equal(other *TokenKeys) bool {
	return slices.EqualFunc(k.all, other.all, tokenKey.equal)
}

func (k tokenKey) equal(other tokenKey) bool {
	return k.kid == other.kid && k.algorithms == other.algorithms && k.digest == other.digest
}

// tokenReader gathers the keys of one Secret.
type tokenReader struct {
	notes
	dataKey string
	wanted  algorithmSet
	found   []placedTokenKey
}

type placedTokenKey struct {
	tokenKey
	at place
}

func (r *tokenReader) read(format Format, text string) error {
	switch format {
	case JWKS:
		return r.readJWKS(text)
	case PEM:
		return r.readPEM(text)
	case HMAC:
		return r.readHMAC(text)
	default:
		return fmt.Errorf("format %s is not for tokens; write jwks, pem or hmac", format)
	}
}

// item is where the nth key is, from 1.
func (r *tokenReader) item(n int) place { return place{r.dataKey, "item", n} }

// add takes a key, for the algorithms that its owner allows, if it is a good one.
func (r *tokenReader) add(at place, kid string, allowed algorithmSet, material any) error {
	if err := checkStrength(material); err != nil {
		return err
	}
	usable := algorithmsOf(material) & allowed & r.wanted
	if usable == 0 {
		return errUnfit
	}
	sum, err := digestOf(material)
	if err != nil {
		return err
	}
	r.found = append(r.found, placedTokenKey{tokenKey{kid, usable, material, sum}, at})
	return nil
}

// digestOf tells keys apart, however they are written.
func digestOf(material any) (digest, error) {
	text, err := jose.JSONWebKey{Key: material}.MarshalJSON()
	if err != nil {
		return digest{}, errors.New("is no key that can be used")
	}
	return sha256.Sum256(text), nil
}

// keys leaves out every kid that two keys share: nobody could tell which counts. A
// repeat counts once.
func (r *tokenReader) keys() *TokenKeys {
	doubtful := r.doubtfulKids()
	keys := &TokenKeys{}
	var algorithms algorithmSet
	for _, p := range r.found {
		switch {
		case doubtful[p.kid]:
			r.warn(p.at, "another key has the same kid; both are left out")
		case slices.ContainsFunc(keys.all, p.equal):
			r.warn(p.at, "is there before; it is left out")
		default:
			keys.all = append(keys.all, p.tokenKey)
			algorithms |= p.algorithms
		}
	}
	r.countUnnamed(keys)
	keys.algorithms = algorithms.names()
	return keys
}

// countUnnamed warns of keys that no token is ever tried with.
func (r *tokenReader) countUnnamed(keys *TokenKeys) {
	unnamed := 0
	for i := range keys.all {
		if keys.all[i].kid == "" {
			unnamed++
		}
	}
	if unnamed > mostTries {
		r.warn(place{dataKey: r.dataKey}, "%d keys have no kid; a token is tried with %d at most, remove the oldest", unnamed, mostTries)
	}
}

func (r *tokenReader) doubtfulKids() map[string]bool {
	first := make(map[string]digest, len(r.found))
	doubtful := make(map[string]bool)
	for _, p := range r.found {
		if p.kid == "" {
			continue
		}
		if other, ok := first[p.kid]; ok && other != p.digest {
			doubtful[p.kid] = true
		}
		first[p.kid] = p.digest
	}
	return doubtful
}
