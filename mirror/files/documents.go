package files

import (
	"bytes"
	"strings"
)

// document is one of several in a file.
type document struct {
	first int // line that the text begins at, from 1
	line  int // line that the content begins at, for people
	text  []byte
}

// splitDocuments splits at the lines that YAML reserves for it, "---" and "...":
// nothing else can begin with them at the left margin. A document keeps its own
// "---", which may have content behind it.
func splitDocuments(text []byte) []document {
	var all []document
	begin, first, number := 0, 1, 0
	add := func(end, next, nextFirst int) {
		d := document{first: first, text: text[begin:end]}
		if d.findContent() {
			all = append(all, d)
		}
		begin, first = next, nextFirst
	}
	for at := 0; at < len(text); {
		number++
		end := len(text)
		if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		line := text[at:end]
		switch {
		case marks(line, "---"):
			add(at, at, number)
		case marks(line, "..."):
			add(at, end, number+1)
		}
		at = end
	}
	add(len(text), len(text), number)
	return all
}

func marks(line []byte, marker string) bool {
	rest, ok := bytes.CutPrefix(line, []byte(marker))
	return ok && (len(rest) == 0 || strings.IndexByte(" \t\r\n", rest[0]) >= 0)
}

// findContent reports whether there is more than comments.
func (d *document) findContent() bool {
	d.line = d.first
	for line := range bytes.Lines(d.text) {
		if marks(line, "---") {
			line = line[3:]
		}
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' {
			return true
		}
		d.line++
	}
	return false
}
