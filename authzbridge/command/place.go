package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
)

// place is a value in a document, and the line that it is in.
type place struct {
	line    int
	end     int    // line of the last value in it
	text    string // of a value that is neither mapping nor list
	literal bool   // the lines of the text are lines of the document
	fields  map[string]*place
	items   []*place
}

// newPlace returns nil for nothing.
func newPlace(node *yamlv3.Node) *place {
	if node.Kind == yamlv3.DocumentNode {
		if len(node.Content) == 0 {
			return nil
		}
		node = node.Content[0]
	}
	p := &place{line: node.Line, end: node.Line}
	switch node.Kind {
	case yamlv3.MappingNode:
		p.fields = make(map[string]*place, len(node.Content)/2)
		for i := 0; i+1 < len(node.Content); i += 2 {
			value := newPlace(node.Content[i+1])
			if value.fields != nil || value.items != nil {
				value.line = node.Content[i].Line // the field's, not that of the first thing in it
			}
			p.fields[node.Content[i].Value] = value
			p.end = max(p.end, value.end)
		}
	case yamlv3.SequenceNode:
		p.items = make([]*place, len(node.Content))
		for i, item := range node.Content {
			p.items[i] = newPlace(item)
			p.end = max(p.end, p.items[i].end)
		}
	default:
		p.text, p.literal = node.Value, node.Style&yamlv3.LiteralStyle != 0
	}
	return p
}

// placeIn returns where everything is in a document, as far as it can be read.
func placeIn(text []byte, isJSON bool) *place {
	if isJSON {
		r := jsonPlaces{decoder: json.NewDecoder(bytes.NewReader(text)), text: text, line: 1}
		r.decoder.UseNumber()
		if p, err := r.next(0); err == nil {
			return p
		}
		return nil
	}
	var node yamlv3.Node
	if yamlv3.Unmarshal(text, &node) != nil {
		return nil
	}
	return newPlace(&node)
}

// jsonPlaces reads JSON, which the parser of YAML takes for YAML but for some escapes.
type jsonPlaces struct {
	decoder *json.Decoder
	text    []byte
	at      int64 // up to where lines were counted
	line    int
}

// mostDeep bounds how deep a document is looked into: no field is as deep.
const mostDeep = 64

var errTooDeep = errors.New("too deep")

func (r *jsonPlaces) next(depth int) (*place, error) {
	token, err := r.decoder.Token()
	if err != nil {
		return nil, err
	}
	offset := r.decoder.InputOffset()
	r.line += bytes.Count(r.text[r.at:offset], []byte{'\n'})
	r.at = offset
	p := &place{line: r.line}
	delim, isDelim := token.(json.Delim)
	switch {
	case !isDelim:
		p.text, _ = token.(string)
		return p, nil
	case depth > mostDeep:
		return nil, errTooDeep
	case delim == '{':
		p.fields = make(map[string]*place)
	}
	for r.decoder.More() {
		key, err := r.next(depth + 1)
		if err == nil && delim == '{' {
			var value *place
			if value, err = r.next(depth + 1); err == nil {
				value.line = key.line
				p.fields[key.text] = value
			}
		} else if err == nil {
			p.items = append(p.items, key)
		}
		if err != nil {
			return nil, err
		}
	}
	_, err = r.decoder.Token()
	return p, err
}

// find returns a field whatever its name is made of.
func (p *place) find(field string) (*place, bool) {
	if p == nil {
		return nil, false
	}
	value, ok := p.fields[field]
	return value, ok
}

// child returns a field, or nil.
func (p *place) child(field string) *place {
	value, _ := p.find(field)
	return value
}

var steps = regexp.MustCompile(`^(?:\.?([A-Za-z0-9_/-]+)|\[(\d+)\])`)

// descend follows a path such as anyOf[0].apiKey as far as it goes.
func (p *place) descend(path string) *place {
	for {
		step := steps.FindStringSubmatch(path)
		if step == nil {
			return p
		}
		path = path[len(step[0]):]
		next, ok := p.fields[step[1]]
		if step[2] != "" {
			i, err := strconv.Atoi(step[2])
			if ok = err == nil && i < len(p.items); ok {
				next = p.items[i]
			}
		}
		if !ok {
			return p
		}
		p = next
	}
}

var (
	leadingPath = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_/-]+|\[\d+\])*): `)
	oddField    = regexp.MustCompile(`^(?:unknown|duplicate) field "([^"]+)"`)
	quotedItem  = regexp.MustCompile(`^"(?:[^"\\]|\\.)*"`)
	namedKey    = regexp.MustCompile(`another in (anyOf\[\d+\]|inject\.key|secretRef\.key)`)
)

// blame follows what an error says to the place that it is about.
func (p *place) blame(words string) *place {
	for {
		if odd := oddField.FindStringSubmatch(words); odd != nil {
			return p.descend(odd[1])
		}
		path := leadingPath.FindStringSubmatch(words)
		if path == nil {
			return p.blameItem(words)
		}
		next := p.descend(path[1])
		if next == p {
			return p.blameItem(words)
		}
		p, words = next, words[len(path[0]):]
	}
}

// blameItem finds the item of a list that an error quotes.
func (p *place) blameItem(words string) *place {
	text, err := strconv.Unquote(quotedItem.FindString(words))
	if err != nil {
		return p
	}
	for _, item := range p.items {
		if item.text == text {
			return item
		}
	}
	return p
}

// blameSecret finds what names the Secret, or the key, that an error is about.
func (p *place) blameSecret(words string) *place {
	if named := namedKey.FindStringSubmatch(words); named != nil {
		if next := p.descend(named[1]); next != p {
			return next
		}
	}
	for _, way := range []string{"apiKey", "basic", "jwt"} {
		if !strings.Contains(words, ": "+way+": ") {
			continue
		}
		for _, item := range p.child("anyOf").list() {
			if found, ok := item.find(way); ok {
				return found
			}
		}
	}
	return p.descend("secretRef")
}

func (p *place) list() []*place {
	if p == nil {
		return nil
	}
	return p.items
}
