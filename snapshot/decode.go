package snapshot

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	kjson "sigs.k8s.io/json"
)

// documentVersion is the only version of the Registry document there is.
const documentVersion = 1

// document is the Registry document whole.
type document struct {
	Version *int64     `json:"version"`
	Apps    []rawEntry `json:"apps"`
}

// rawEntry is one App as it is written. Fields that have a default tell null
// from absence, since only absence has one. It is small, for there are many.
type rawEntry struct {
	Name        string        `json:"name"`
	Hostnames   []string      `json:"hostnames"`
	SecretRef   *rawSecretRef `json:"secretRef"`
	SecretReady bool          `json:"secretReady"` // the writer's view: read, and dropped here
	ExpiresAt   rawText       `json:"expiresAt"`
	AllowCIDRs  rawText       `json:"allowCIDRs"`
	Upstreams   rawText       `json:"upstreams"` // read by UpstreamsBuilder
	rawPolicy
}

type rawSecretRef struct {
	Namespace optionalText `json:"namespace"`
	Name      string       `json:"name"`
	Key       optionalText `json:"key"`
}

// optionalText is a string that may be left out, but not be null. Anything that
// is no string leaves the value empty, which no field takes.
type optionalText struct {
	value string
	set   bool
	wrong string // what is written instead of a string
}

// UnmarshalJSON implements json.Unmarshaler. It never fails, since the decoder
// would stop there and not see the rest of the entry.
func (o *optionalText) UnmarshalJSON(text []byte) error {
	o.set = true
	if text[0] != '"' {
		o.wrong = shorten(string(text), maxQuoted)
		return nil
	}
	if bytes.IndexByte(text, '\\') < 0 && utf8.Valid(text) {
		o.value = string(text[1 : len(text)-1]) // a decoder of its own costs much more
		return nil
	}
	return json.Unmarshal(text, &o.value)
}

// readDocument decodes whole and strictly, and entry by entry only if that
// fails, to find out whom it is the fault of.
func readDocument(secret *Secret) ([]*Entry, error) {
	text, err := unpack(secret)
	if err != nil {
		return nil, err
	}
	doc := document{Apps: make([]rawEntry, 0, guessApps(text))}
	strict, err := kjson.UnmarshalStrict(text, &doc)
	if err != nil || len(strict) > 0 {
		return readEntries(secret.Key(), text)
	}
	if err := checkVersion(doc.Version); err != nil {
		return nil, err
	}
	entries, shared := make([]*Entry, len(doc.Apps)), make(policies)
	for i := range doc.Apps {
		entries[i] = doc.Apps[i].entry(secret.Key(), i, shared)
	}
	return entries, nil
}

// guessApps spares the decoder from growing the list again and again, which takes a
// quarter of its time.
func guessApps(text []byte) int {
	return min(bytes.Count(text, []byte(`"secretRef"`)), maxApps)
}

func checkVersion(version *int64) error {
	if version == nil {
		return errors.New("version: missing; write \"version: 1\"")
	}
	if *version != documentVersion {
		return fmt.Errorf("version: %d is not known here; this release reads version %d", *version, documentVersion)
	}
	return nil
}

// readEntries is readDocument for a document that has something wrong in it.
func readEntries(registry Key, text []byte) ([]*Entry, error) {
	// The version goes first: what a newer one contains is not judged.
	var head struct {
		Version *int64 `json:"version"`
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(text, &head); err != nil {
		return nil, explain(err)
	}
	if err := checkVersion(head.Version); err != nil {
		return nil, err
	}
	var doc struct {
		Version int64             `json:"version"`
		Apps    []json.RawMessage `json:"apps"`
	}
	strict, err := kjson.UnmarshalStrict(text, &doc)
	if err != nil {
		return nil, explain(err)
	}
	if len(strict) > 0 {
		return nil, explainAll(strict)
	}
	entries, shared := make([]*Entry, len(doc.Apps)), make(policies)
	for i, raw := range doc.Apps {
		if entries[i], err = readEntry(registry, raw, i, shared); err != nil {
			return nil, fmt.Errorf("apps[%d]: %w", i, err)
		}
	}
	return entries, nil
}

// readEntry returns an error only for what spoils the whole document: a
// repeated field, or hostnames that cannot be read as a list.
func readEntry(registry Key, text []byte, index int, shared policies) (*Entry, error) {
	var raw rawEntry
	strict, err := kjson.UnmarshalStrict(text, &raw)
	if err == nil && len(strict) == 0 {
		return raw.entry(registry, index, shared), nil
	}
	if repeated := repeatedField(text); repeated != nil {
		return nil, repeated
	}
	if err != nil {
		return readSpoiledEntry(registry, text, index, shared, explain(err))
	}
	e := raw.entry(registry, index, shared)
	e.Err = nil // an unknown field says more than what follows from it
	e.refuse(fmt.Errorf("%w; remove it, or upgrade authz-bridge if it is newer than this release", explainAll(strict)))
	return e, nil
}

// repeatedField looks in the entry and in its secretRef. The strict decoder tells
// of none where a field has the wrong type as well.
func repeatedField(text []byte) error {
	fields, err := readFields(text)
	if err != nil {
		return err
	}
	if _, err := readFields(fields["secretRef"]); err != nil {
		return fmt.Errorf("secretRef: %w", err)
	}
	return nil
}

// readFields splits a mapping. Text that is none has no fields; that it is none
// is for others to say.
func readFields(text []byte) (map[string]json.RawMessage, error) {
	var fields map[string]json.RawMessage
	repeated, _ := kjson.UnmarshalStrict(text, &fields, kjson.DisallowDuplicateFields)
	if len(repeated) > 0 {
		return nil, explain(repeated[0])
	}
	return fields, nil
}

// readSpoiledEntry saves the name and the hostnames of an entry in which some
// field has the wrong type, so that they stay reserved.
func readSpoiledEntry(registry Key, text []byte, index int, shared policies, cause error) (*Entry, error) {
	var rest struct {
		Name      optionalText `json:"name"`
		Hostnames []string     `json:"hostnames"`
		rawPolicy              // its callers send their keys all the same
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(text, &rest); err != nil {
		return nil, explain(err)
	}
	e := (&rawEntry{Name: rest.Name.value, Hostnames: rest.Hostnames, rawPolicy: rest.rawPolicy}).entry(registry, index, shared)
	e.Err = nil
	e.refuse(cause)
	return e, nil
}
