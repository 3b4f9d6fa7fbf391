package files

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	kjson "sigs.k8s.io/json"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

// definition is one Secret as a manifest defines it.
type definition struct {
	key  snapshot.Key
	line int
	// secret is nil while nobody refers to it, and where it is refused.
	secret *snapshot.Secret
	// refusal says why the document cannot be used; empty if it can.
	refusal string
}

// ignored is the first of some documents of other kinds.
type ignored struct {
	line  int
	kind  string
	count int // of all
}

// maxSecret bounds the document of a Secret that is not the Registry, in bytes:
// the largest Secret in base64, and something around it.
const maxSecret = 2 << 20

// decoder makes definitions of manifests.
type decoder struct {
	registry snapshot.Key // its namespace is that of a Secret that names none
	wanted   func(snapshot.Key) bool
	seal     seal
}

// head is what tells which object a document is about.
type head struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	} `json:"metadata"`
}

// manifestSecret is a Secret with every field that the API has; what is not used
// here is not looked into.
type manifestSecret struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   manifestMeta      `json:"metadata"`
	Immutable  *bool             `json:"immutable"`
	Data       map[string]string `json:"data"`
	StringData map[string]string `json:"stringData"`
	Type       string            `json:"type"`
}

type manifestMeta struct {
	Name        string            `json:"name"`
	Namespace   string            `json:"namespace"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`

	GenerateName               json.RawMessage `json:"generateName"`
	SelfLink                   json.RawMessage `json:"selfLink"`
	UID                        json.RawMessage `json:"uid"`
	ResourceVersion            json.RawMessage `json:"resourceVersion"`
	Generation                 json.RawMessage `json:"generation"`
	CreationTimestamp          json.RawMessage `json:"creationTimestamp"`
	DeletionTimestamp          json.RawMessage `json:"deletionTimestamp"`
	DeletionGracePeriodSeconds json.RawMessage `json:"deletionGracePeriodSeconds"`
	OwnerReferences            json.RawMessage `json:"ownerReferences"`
	Finalizers                 json.RawMessage `json:"finalizers"`
	ManagedFields              json.RawMessage `json:"managedFields"`
}

// decode returns what a file defines. An error means that nobody can say what it
// is about; a Secret that is wrong in itself is a definition with a refusal.
// Neither quotes a value.
func (d decoder) decode(file string, text []byte) ([]*definition, ignored, error) {
	docs := []document{{first: 1, line: 1, text: text}}
	isJSON := strings.HasSuffix(file, ".json")
	if !isJSON {
		docs = splitDocuments(text)
	}
	var defined []*definition
	var others ignored
	for _, doc := range docs {
		def, kind, err := d.decodeDocument(file, doc, isJSON)
		switch {
		case err != nil:
			return nil, ignored{}, err
		case kind != "" && others.count == 0:
			others = ignored{line: doc.line, kind: kind, count: 1}
		case kind != "":
			others.count++
		case def != nil:
			defined = append(defined, def)
		}
	}
	return defined, others, nil
}

// decodeDocument returns what decodeObject does, and makes a panic an error of
// this file alone.
func (d decoder) decodeDocument(file string, doc document, isJSON bool) (def *definition, kind string, err error) {
	where := fmt.Sprintf("%s:%d: ", file, doc.line)
	defer func() {
		if p := recover(); p != nil {
			def, kind, err = nil, "", fmt.Errorf("%s%w", where, panicError(p))
		}
	}()
	object, err := doc.toJSON(file, isJSON)
	if err != nil {
		return nil, "", err
	}
	def, kind, err = d.decodeObject(object, len(doc.text))
	if err != nil {
		return nil, "", fmt.Errorf("%s%w", where, err)
	}
	if def != nil {
		def.line = doc.line
		if def.refusal != "" {
			def.refusal = where + def.refusal
		}
	}
	return def, kind, nil
}

func (d document) toJSON(file string, isJSON bool) ([]byte, error) {
	if isJSON {
		return d.text, d.checkSyntax(file)
	}
	object, err := snapshot.YAMLToJSON(d.text)
	if err != nil {
		line, words := yamlWords(err)
		return nil, fmt.Errorf("%s:%d: %s", file, d.first+max(line-1, 0), words)
	}
	return object, nil
}

func (d document) checkSyntax(file string) error {
	var whole json.RawMessage
	err := kjson.UnmarshalCaseSensitivePreserveInts(d.text, &whole)
	if err == nil {
		return nil
	}
	_, offset := kjson.SyntaxErrorOffset(err)
	before := d.text[:min(max(offset, 0), int64(len(d.text)))]
	return fmt.Errorf("%s:%d: %s", file, 1+bytes.Count(before, []byte("\n")), jsonWords(err))
}

// decodeObject returns a definition, or the kind of an object that is ignored
// aloud, or neither for one that is passed over. Size is that of the document as
// it was written.
func (d decoder) decodeObject(object []byte, size int) (*definition, string, error) {
	var h head
	if err := kjson.UnmarshalCaseSensitivePreserveInts(object, &h); err != nil {
		return nil, "", errors.New(jsonWords(err))
	}
	switch {
	case h.Kind == "" || h.APIVersion == "":
		return nil, "", errors.New("kind or apiVersion: missing; a manifest of a Secret has \"apiVersion: v1\" and \"kind: Secret\"")
	case h.APIVersion == "v1" && h.Kind == "Namespace":
		return nil, "", nil
	case h.APIVersion != "v1" || h.Kind != "Secret":
		return nil, shorten(h.APIVersion) + " " + shorten(h.Kind), nil
	}
	key, err := d.key(h)
	if err != nil {
		return nil, "", err
	}
	def := &definition{key: key}
	if size > maxSecret && key != d.registry {
		def.refusal = fmt.Sprintf("is larger than %d MiB; remove what is no credential, or split the Secret", maxSecret>>20)
		return def, "", nil
	}
	secret, err := d.decodeSecret(key, object)
	switch {
	case err != nil:
		def.refusal = err.Error()
	case d.wanted(key):
		def.secret = secret
	}
	return def, "", nil
}

func (d decoder) key(h head) (snapshot.Key, error) {
	key := snapshot.Key{Namespace: h.Metadata.Namespace, Name: h.Metadata.Name}
	if key.Namespace == "" {
		key.Namespace = d.registry.Namespace
	}
	if !snapshot.ValidLabel(key.Namespace) {
		return key, fmt.Errorf("metadata.namespace: %.80q is no namespace; use lower-case letters, digits and hyphens", key.Namespace)
	}
	if !snapshot.ValidSubdomain(key.Name) {
		return key, fmt.Errorf("metadata.name: %.80q is no name of a Secret; use lower-case letters, digits, hyphens and dots", key.Name)
	}
	return key, nil
}

func (d decoder) decodeSecret(key snapshot.Key, object []byte) (*snapshot.Secret, error) {
	var m manifestSecret
	strict, err := kjson.UnmarshalStrict(object, &m)
	if err != nil {
		return nil, errors.New(jsonWords(err))
	}
	if len(strict) > 0 {
		return nil, errors.New(strictWords(strict[0]))
	}
	data, err := m.data()
	if err != nil {
		return nil, err
	}
	if m.Type == "" {
		m.Type = typeOpaque
	}
	return d.seal.secret(snapshot.SecretMeta{
		Key:       key,
		Type:      m.Type,
		MayInject: m.Metadata.Labels[snapshot.InjectLabel] == "true",
	}, data), nil
}

// data joins data and stringData as the API server does: the latter wins.
func (m *manifestSecret) data() (map[string][]byte, error) {
	all := make(map[string][]byte, len(m.Data)+len(m.StringData))
	for _, name := range slices.Sorted(maps.Keys(m.Data)) {
		value, err := base64.StdEncoding.DecodeString(m.Data[name])
		if err != nil {
			return nil, fmt.Errorf("data: key %.80q: is no base64; encode it, or write it under stringData", name)
		}
		all[name] = value
	}
	for name, value := range m.StringData {
		all[name] = []byte(value)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !snapshot.ValidDataKey(name) {
			return nil, fmt.Errorf("data: key %.80q is no key of a Secret; use letters, digits, hyphens, underscores and dots", name)
		}
	}
	return all, nil
}
