package snapshot

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strings"
)

// MaxDocument bounds a Registry document after unpacking, in bytes. A Secret
// holds 1 MiB; 100,000 Apps are some 25 MiB of JSON.
const MaxDocument = 64 << 20

// documentFormats are the data keys that a Registry document may be under, and how to
// get JSON out of each.
var documentFormats = []documentFormat{
	{"registry.yaml", func(s string) ([]byte, error) { return YAMLToJSON([]byte(s)) }},
	{"registry.json", func(s string) ([]byte, error) { return []byte(s), nil }},
	{"registry.yaml.gz", gunzippedYAML},
	{"registry.json.gz", gunzip},
}

type documentFormat struct {
	key    string
	toJSON func(string) ([]byte, error)
}

// DocumentKeys returns the data keys that a Registry document may be under, the usual
// ones first.
func DocumentKeys() []string {
	keys := make([]string, len(documentFormats))
	for i := range documentFormats {
		keys[i] = documentFormats[i].key
	}
	return keys
}

// unpack returns the document as JSON.
func unpack(secret *Secret) ([]byte, error) {
	found, text, err := findDocument(secret)
	if err != nil {
		return nil, err
	}
	if len(text) > MaxDocument {
		return nil, fmt.Errorf("%s: %w", found.key, errTooLarge)
	}
	doc, err := found.toJSON(text)
	if err == nil {
		err = bound(doc)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", found.key, err)
	}
	return doc, nil
}

func findDocument(secret *Secret) (found documentFormat, text string, err error) {
	for _, format := range documentFormats {
		value, ok := secret.Value(format.key)
		switch {
		case !ok:
		case found.key != "":
			return found, "", fmt.Errorf("data keys %q and %q: remove all but one", min(found.key, format.key), max(found.key, format.key))
		default:
			found, text = format, value
		}
	}
	if found.key == "" {
		return found, "", fmt.Errorf("no known data key; use exactly one of %s", strings.Join(DocumentKeys(), ", "))
	}
	return found, text, nil
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
