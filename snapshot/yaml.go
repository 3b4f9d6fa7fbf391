package snapshot

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

// maxYAMLValues bounds the values of a YAML document: each takes some hundred
// bytes while it is read.
const maxYAMLValues = 2 << 20

// YAMLError says why YAML is refused.
type YAMLError struct {
	// Line is the line in the document, from 1; 0 if it is not known.
	Line int
	// Words say what is wrong. They quote nothing of the document, which may be
	// secret.
	Words string
}

// Error returns the line, if known, and the words.
func (e *YAMLError) Error() string {
	if e.Line == 0 {
		return "yaml: " + e.Words
	}
	return fmt.Sprintf("yaml: line %d: %s", e.Line, e.Words)
}

// YAMLToJSON converts one YAML document by the rules of Kubernetes manifests. It
// refuses a second document, of which sigs.k8s.io/yaml would say nothing, and
// what makes a small document a large one: aliases, merge keys and !!binary. An
// error is a *YAMLError.
func YAMLToJSON(text []byte) ([]byte, error) {
	if countYAMLValues(text) > maxYAMLValues {
		return nil, &YAMLError{Words: "too many values; write JSON"}
	}
	if err := refuseExpansion(text); err != nil {
		return nil, err
	}
	doc, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, yamlError(err)
	}
	return doc, nil
}

// countYAMLValues counts what may separate two values, at least: commas, and all
// that YAML 1.1 takes for the end of a line.
func countYAMLValues(text []byte) int {
	n := 0
	for _, separator := range []string{",", "\n", "\r", "\u0085", "\u2028", "\u2029"} {
		n += bytes.Count(text, []byte(separator))
	}
	return n
}

// refuseExpansion looks at the nodes, which are not expanded yet.
func refuseExpansion(text []byte) error {
	dec := yamlv3.NewDecoder(bytes.NewReader(text))
	var doc, second yamlv3.Node
	if err := dec.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		return yamlError(err)
	}
	if err := refuseNode(&doc); err != nil {
		return err
	}
	if err := dec.Decode(&second); !errors.Is(err, io.EOF) {
		return &YAMLError{Words: "more than one document; remove every --- but the first"}
	}
	return nil
}

func refuseNode(node *yamlv3.Node) error {
	switch {
	case node.Kind == yamlv3.AliasNode:
		return &YAMLError{Line: node.Line, Words: "aliases are not read; write the value out"}
	case node.Kind == yamlv3.ScalarNode && node.Tag == "!!merge":
		return &YAMLError{Line: node.Line, Words: "merge keys are not read; write the fields out"}
	case node.Kind == yamlv3.ScalarNode && node.Tag == "!!binary":
		return &YAMLError{Line: node.Line, Words: "!!binary is not read; write text"}
	}
	for _, child := range node.Content {
		if err := refuseNode(child); err != nil {
			return err
		}
	}
	return nil
}

// yamlPhrases begin the messages of the YAML parsers that quote nothing of the
// document.
var yamlPhrases = []string{
	"block sequence entries are not allowed",
	"control characters are not allowed",
	"could not find expected",
	"did not find",
	"exceeded max depth",
	"found a tab character",
	"found character that cannot start",
	"found undefined tag",
	"found unexpected",
	"found unknown escape",
	"invalid leading UTF-8 octet",
	"mapping keys are not allowed",
	"mapping values are not allowed",
}

var (
	yamlLine     = regexp.MustCompile(`line (\d+): (.*)`)
	yamlRepeated = regexp.MustCompile(`already (?:set in map|defined at line \d+)$`)
)

// yamlError keeps of a parser's error what cannot be a secret.
func yamlError(err error) *YAMLError {
	refused := &YAMLError{Words: "this is no valid YAML"}
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	if m := yamlLine.FindStringSubmatch(message); m != nil {
		refused.Line, _ = strconv.Atoi(m[1])
		message = m[2]
	}
	if yamlRepeated.MatchString(message) {
		refused.Words = "a key is there twice; remove one"
	}
	for _, phrase := range yamlPhrases {
		if strings.HasPrefix(message, phrase) {
			refused.Words = message
		}
	}
	return refused
}
