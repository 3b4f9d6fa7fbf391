package snapshot

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
)

// MaxDocument bounds a Registry document after unpacking, in bytes. A Secret
// holds 1 MiB; 100,000 Apps are some 25 MiB of JSON.
const MaxDocument = 64 << 20

// documentKeys are the data keys that a Registry document may be under, and how
// to get JSON out of each.
var documentKeys = map[string]func(string) ([]byte, error){
	"registry.json":    func(s string) ([]byte, error) { return []byte(s), nil },
	"registry.yaml":    func(s string) ([]byte, error) { return YAMLToJSON([]byte(s)) },
	"registry.json.gz": gunzip,
	"registry.yaml.gz": gunzippedYAML,
}

var errUnknownKeys = errors.New("no known data key; use exactly one of registry.yaml, " +
	"registry.json, registry.yaml.gz, registry.json.gz")

// unpack returns the document as JSON.
func unpack(secret *Secret) ([]byte, error) {
	var found string
	for _, key := range secret.Keys() {
		if documentKeys[key] == nil {
			continue
		}
		if found != "" {
			return nil, fmt.Errorf("data keys %q and %q: remove all but one", found, key)
		}
		found = key
	}
	if found == "" {
		return nil, errUnknownKeys
	}
	text, _ := secret.Value(found)
	if len(text) > MaxDocument {
		return nil, fmt.Errorf("%s: %w", found, errTooLarge)
	}
	doc, err := documentKeys[found](text)
	if err == nil {
		err = bound(doc)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", found, err)
	}
	return doc, nil
}

// These bound what a document unpacks to in memory, which may be some hundred times
// its size. 100,000 Apps have a fifth of that, at most.
const (
	maxApps     = 1 << 18
	maxMappings = 1 << 20
	maxValues   = 4 << 20
)

// bound refuses a document in JSON that takes too much memory to decode.
func bound(doc []byte) error {
	if len(doc) > MaxDocument {
		return errTooLarge
	}
	mappings, values := bytes.Count(doc, []byte{'{'}), bytes.Count(doc, []byte{','})
	switch {
	case mappings > maxMappings, values > maxValues:
		return errTooMany
	case max(mappings, values) > maxApps && countApps(doc) > maxApps:
		return errTooMany
	}
	return nil
}

// countApps counts the commas of lists at the top, one of which is apps: what is no
// App costs as much as one before that is found out.
func countApps(doc []byte) int {
	depth, commas := 0, 0
	quoted := false
	for i := 0; i < len(doc); i++ {
		switch c := doc[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		case c == ',' && depth == 2:
			commas++
		}
	}
	return commas
}

var errTooMany = fmt.Errorf("more than %d Apps, %d mappings or %d values; split the Registry", maxApps, maxMappings, maxValues)

var errTooLarge = fmt.Errorf("larger than %d MiB after unpacking; split the Registry", MaxDocument>>20)

func gunzip(packed string) ([]byte, error) {
	r, err := gzip.NewReader(strings.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("unpacking: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(r, MaxDocument+1))
	if err != nil {
		return nil, fmt.Errorf("unpacking: %w", err)
	}
	if len(text) > MaxDocument {
		return nil, errTooLarge
	}
	return text, nil
}

func gunzippedYAML(packed string) ([]byte, error) {
	text, err := gunzip(packed)
	if err != nil {
		return nil, err
	}
	return YAMLToJSON(text)
}
