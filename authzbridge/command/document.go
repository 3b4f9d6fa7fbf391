package command

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/authz-bridge/authz-bridge/mirror/files"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

// defaultRegistry is what a document that does not say its name is taken for.
var defaultRegistry = snapshot.Key{Namespace: "authz-bridge", Name: "registry"}

// document is a file with a Registry: the document itself, or a manifest of the
// Secret that holds it.
type document struct {
	path    string
	secret  *snapshot.Secret // as the Mirror would get it
	assumed bool             // nothing says the Registry's name

	dataKey string
	text    []byte // the document, unpacked
	first   int    // line of the file that the document begins at; 0 where its lines are not those of the file
	at      int    // line of the file to tell where first is 0
}

// mostOfFile bounds what is read of a file, in bytes: the largest Registry in base64.
const mostOfFile = snapshot.MaxDocument/3*4 + 1<<20

// readDocument reads a Registry file. registry is the zero Key if nobody says which
// Registry it is. An error means that there is no Registry to look at.
func readDocument(path string, registry snapshot.Key) (*document, error) {
	text, err := readFile(path)
	if err != nil {
		return nil, err
	}
	d := &document{path: path, assumed: registry == snapshot.Key{}}
	if d.assumed {
		registry = defaultRegistry
	}
	if isManifest(path, text) {
		return d, d.readManifest(text, registry)
	}
	d.dataKey = "registry" + extension(path)
	if !slices.Contains(snapshot.DocumentKeys(), d.dataKey) {
		return nil, fmt.Errorf("%s: is neither YAML nor JSON by its name; name it *.yaml, *.yml, *.json, or one of these with .gz", path)
	}
	d.secret = snapshot.NewSecret(snapshot.SecretMeta{Key: registry}, map[string][]byte{d.dataKey: text})
	d.text, d.first = unpacked(d.dataKey, text), 1
	return d, nil
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostOfFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > mostOfFile {
		return nil, fmt.Errorf("%s: larger than any Registry", path)
	}
	return text, nil
}

// extension is that of the data key which a file would be under.
func extension(path string) string {
	path, packed := strings.CutSuffix(path, ".gz")
	ext := filepath.Ext(path)
	if ext == ".yml" {
		ext = ".yaml"
	}
	if packed {
		ext += ".gz"
	}
	return ext
}

// kindOfManifest is at the margin, where a Registry document has other fields.
var kindOfManifest = regexp.MustCompile(`(?m)^(?:kind|apiVersion)\s*:`)

func isManifest(path string, text []byte) bool {
	switch extension(path) {
	case ".yaml":
		return kindOfManifest.Match(text)
	case ".json":
		var head struct {
			Kind string `json:"kind"`
		}
		return json.Unmarshal(text, &head) == nil && head.Kind != ""
	}
	return false
}

// readManifest finds the one Secret that is a Registry.
func (d *document) readManifest(text []byte, registry snapshot.Key) error {
	all, err := files.ReadManifest(d.path, text, registry)
	if err != nil {
		return err
	}
	var found []files.Defined
	for _, def := range all {
		if !d.assumed && def.Key == registry || d.assumed && (def.Refusal != "" || keyOf(def.Secret) != "") {
			found = append(found, def)
		}
	}
	switch {
	case len(found) == 0 && d.assumed:
		return fmt.Errorf("%s: defines no Secret with one of %s", d.path, strings.Join(snapshot.DocumentKeys(), ", "))
	case len(found) == 0:
		return fmt.Errorf("%s: does not define the Secret %s", d.path, registry)
	case len(found) > 1:
		return fmt.Errorf("%s: defines several Secrets that may be the Registry; say which with --registry <namespace>/<name>", d.path)
	case found[0].Refusal != "":
		return errors.New(found[0].Refusal)
	}
	d.secret, d.at, d.assumed = found[0].Secret, found[0].Line, false
	d.dataKey = keyOf(d.secret)
	value, _ := d.secret.Value(d.dataKey)
	d.text = unpacked(d.dataKey, []byte(value))
	d.findText(text)
	return nil
}

func keyOf(secret *snapshot.Secret) string {
	for _, key := range snapshot.DocumentKeys() {
		if _, ok := secret.Value(key); ok {
			return key
		}
	}
	return ""
}

// findText looks for the document in a manifest. A block keeps its lines; what is
// quoted, or in base64, does not.
func (d *document) findText(manifest []byte) {
	decoder := yamlv3.NewDecoder(bytes.NewReader(manifest))
	for {
		var node yamlv3.Node
		if decoder.Decode(&node) != nil {
			return // what comes after was no YAML to others either
		}
		root := newPlace(&node)
		if root == nil || root.line < d.at && root.end < d.at || root.descend("metadata.name").text != d.secret.Key().Name {
			continue
		}
		for _, field := range []string{"data", "stringData"} { // the latter wins
			value, ok := root.child(field).find(d.dataKey)
			if !ok {
				continue
			}
			d.at, d.first = value.line, 0
			if value.literal {
				d.first = value.line + 1
			}
		}
	}
}

// unpacked returns nothing for what cannot be unpacked; others say why.
func unpacked(dataKey string, text []byte) []byte {
	if !strings.HasSuffix(dataKey, ".gz") {
		return text
	}
	r, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil
	}
	text, err = io.ReadAll(io.LimitReader(r, snapshot.MaxDocument))
	if err != nil {
		return nil
	}
	return text
}

func (d *document) isJSON() bool { return strings.HasPrefix(d.dataKey, "registry.json") }

// parseRegistryName reads the flag --registry.
func parseRegistryName(text string) (snapshot.Key, error) {
	if text == "" {
		return snapshot.Key{}, nil
	}
	return parseKey("--registry", text)
}

func parseKey(flag, text string) (snapshot.Key, error) {
	namespace, name, _ := strings.Cut(text, "/")
	if !snapshot.ValidLabel(namespace) || !snapshot.ValidSubdomain(name) {
		return snapshot.Key{}, fmt.Errorf("%s: %.64q is no name; write <namespace>/<name>", flag, text)
	}
	return snapshot.Key{Namespace: namespace, Name: name}, nil
}
