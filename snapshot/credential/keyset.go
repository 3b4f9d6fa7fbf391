package credential

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"

	kjson "sigs.k8s.io/json"
)

// keysetItem is one key of a keyset: its digest in hexadecimal, whose it is and
// when it is valid.
type keysetItem struct {
	ID        string       `json:"id"`
	SHA256    string       `json:"sha256"`
	NotBefore optionalTime `json:"notBefore"`
	NotAfter  optionalTime `json:"notAfter"`
}

// optionalTime may be left out, but not be null: a template that has lost its date
// must not make a key that is valid for ever.
type optionalTime struct{ at time.Time }

// UnmarshalJSON implements json.Unmarshaler.
func (o *optionalTime) UnmarshalJSON(text []byte) error {
	var written string
	if err := json.Unmarshal(text, &written); err != nil {
		return err
	}
	at, err := time.Parse(time.RFC3339, written)
	if err != nil || at.IsZero() {
		return errors.New("no time")
	}
	o.at = at
	return nil
}

// isKeyset tells a keyset from a JWKS and from any other JSON, by its first key.
func isKeyset(text string) bool {
	var doc struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if kjson.UnmarshalCaseSensitivePreserveInts([]byte(text), &doc) != nil || len(doc.Keys) == 0 {
		return false
	}
	var first struct {
		SHA256 *string `json:"sha256"`
		KTY    *string `json:"kty"`
	}
	return kjson.UnmarshalCaseSensitivePreserveInts(doc.Keys[0], &first) == nil && first.SHA256 != nil && first.KTY == nil
}

// readKeyset spoils the whole only if it is no list of keys at all.
func (r *reader) readKeyset(text string) error {
	var doc struct {
		Keys []json.RawMessage `json:"keys"`
	}
	strict, err := kjson.UnmarshalStrict([]byte(text), &doc)
	if err != nil || len(strict) > 0 {
		return errors.New(`is no keyset; write {"keys":[{"id":"...","sha256":"..."}]}`)
	}
	if len(doc.Keys) > maxKeys {
		return errTooManyKeys
	}
	for i, raw := range doc.Keys {
		at := place{r.dataKey, "item", i + 1}
		item, err := parseItem(raw)
		if err != nil {
			r.warn(at, "%v; it is left out", err)
			continue
		}
		r.found = append(r.found, placed{item, at})
	}
	return nil
}

func parseItem(raw []byte) (key, error) {
	var item keysetItem
	strict, err := kjson.UnmarshalStrict(raw, &item)
	if err != nil || len(strict) > 0 {
		return key{}, errors.New("has a field that is unknown, repeated or not as it must be; write times as in 2027-03-01T00:00:00Z")
	}
	sum, err := hex.DecodeString(item.SHA256)
	if err != nil || len(sum) != sha256.Size {
		return key{}, errors.New("sha256: is no digest; write 64 hexadecimal digits")
	}
	if !validClient(item.ID) {
		return key{}, errors.New("id: is missing, or has more than letters, digits and -_.@:+")
	}
	k := key{digest: digest(sum), client: item.ID}
	switch valid := (times{item.NotBefore.at, item.NotAfter.at}); {
	case valid == times{}:
	case !valid.notAfter.IsZero() && !valid.notBefore.Before(valid.notAfter):
		return key{}, errors.New("notAfter: is not after notBefore")
	default:
		k.times = &valid
	}
	return k, nil
}
