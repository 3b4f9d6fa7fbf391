package snapshot

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	kjson "sigs.k8s.io/json"
)

// Bounds of what an error repeats of the document, in bytes.
const (
	maxQuoted    = 64
	maxExplained = 256
)

// explain puts the error of a decoder into words for an operator: one line of
// bounded length, with the field, and without the types of Go.
func explain(err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		words := fmt.Sprintf("found %s; write %s", shorten(wrong.Value, maxQuoted), inWords(wrong.Type))
		if wrong.Field != "" {
			words = wrong.Field + ": " + words
		}
		return errors.New(words)
	}
	line := shorten(strings.Join(strings.Fields(err.Error()), " "), maxExplained)
	if isSyntax, offset := kjson.SyntaxErrorOffset(err); isSyntax {
		return fmt.Errorf("%s (at byte %d)", line, offset)
	}
	return errors.New(line)
}

// explainAll joins the errors of a strict decoder.
func explainAll(all []error) error {
	const most = 3
	words := make([]string, 0, most+1)
	for i, err := range all {
		if i == most {
			words = append(words, fmt.Sprintf("and %d more", len(all)-most))
			break
		}
		words = append(words, explain(err).Error())
	}
	return errors.New(strings.Join(words, ", "))
}

func inWords(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int64:
		return "a whole number"
	case reflect.String:
		return "a string"
	case reflect.Slice:
		return "a list"
	default:
		return "a mapping"
	}
}

func quote(s string) string {
	if len(s) > maxQuoted {
		return strconv.Quote(s[:maxQuoted]) + "..."
	}
	return strconv.Quote(s)
}

func shorten(s string, most int) string {
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}
