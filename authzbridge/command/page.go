package command

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// columns is the width of a terminal. Only a word of its own that is wider exceeds it,
// such as a path: broken, it could not be copied.
const columns = 80

// page prints for people.
type page struct {
	to    io.Writer
	label int // width of the labels
}

func newPage(to io.Writer) *page { return &page{to: to, label: 12} }

// field prints a label and what it is of.
func (p *page) field(label, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	for i, line := range wrap(text, columns-p.label) {
		if i > 0 {
			label = ""
		}
		p.line("%-*s%s", p.label, label, line)
	}
}

// heading begins a list, after an empty line.
func (p *page) heading(format string, args ...any) {
	p.line("")
	p.paragraph(0, fmt.Sprintf(format, args...))
}

// paragraph prints text that is indented by some columns.
func (p *page) paragraph(indent int, text string) {
	for _, line := range wrap(text, columns-indent) {
		p.line("%*s%s", indent, "", line)
	}
}

func (p *page) line(format string, args ...any) {
	fmt.Fprintln(p.to, strings.TrimRight(fmt.Sprintf(format, args...), " "))
}

// wrap breaks text into lines, between words.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		word = printable(word)
		if used := utf8.RuneCountInString(line); used > 0 && used+1+utf8.RuneCountInString(word) <= width {
			line += " " + word
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		line = word
	}
	if line != "" || len(lines) == 0 {
		lines = append(lines, line)
	}
	return lines
}

// printable keeps what a server or a file says from steering the terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
}

// table prints rows of which the first names the columns. Where a row is too wide the
// widest columns give way; note may add a paragraph below a row.
func (p *page) table(rows [][]string, note func(row int) string) {
	widths := fit(rows)
	for i, row := range rows {
		var b strings.Builder
		for c, cell := range row {
			b.WriteString(pad(cell, widths[c]))
			b.WriteString(gap)
		}
		p.line("%s", b.String())
		if note == nil || i == 0 {
			continue
		}
		if text := note(i - 1); text != "" {
			p.paragraph(4, text)
		}
	}
}

const (
	gap         = "  "
	leastColumn = 8
)

// fit returns the widths of columns.
func fit(rows [][]string) []int {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for c, cell := range row {
			widths[c] = max(widths[c], utf8.RuneCountInString(cell))
		}
	}
	for {
		total, widest := len(gap)*(len(widths)-1), 0
		for c, width := range widths {
			total += width
			if width > widths[widest] {
				widest = c
			}
		}
		if total <= columns || widths[widest] <= leastColumn {
			return widths
		}
		widths[widest]--
	}
}

// pad cuts what is too wide.
func pad(cell string, width int) string {
	cell = printable(cell)
	n := utf8.RuneCountInString(cell)
	if n <= width {
		return cell + strings.Repeat(" ", width-n)
	}
	const cut = "..."
	return string([]rune(cell)[:width-len(cut)]) + cut
}

// printJSON prints for programs.
func printJSON(to io.Writer, value any) {
	encoder := json.NewEncoder(to)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value) // to somebody who has gone
}

// plural is for people.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
