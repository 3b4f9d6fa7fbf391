package files

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"strings"
	"syscall"

	kjson "sigs.k8s.io/json"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

// locatedError says of what in the directory an error is, for people.
type locatedError struct {
	what string
	err  error
}

func located(what string, err error) error {
	if _, ok := errors.AsType[*locatedError](err); ok {
		return err
	}
	return &locatedError{what: what, err: err}
}

// Error implements error.
func (e *locatedError) Error() string { return e.what + ": " + reason(e.err) }

// Unwrap returns the error without its place.
func (e *locatedError) Unwrap() error { return e.err }

// reason says in words why something on disk cannot be read, without the path.
func reason(err error) string {
	var at *locatedError
	switch {
	case errors.As(err, &at):
		return at.Error()
	case errors.Is(err, fs.ErrPermission):
		return "permission denied"
	case errors.Is(err, fs.ErrNotExist):
		return "does not exist"
	case errors.Is(err, syscall.ELOOP):
		return "is a symbolic link to itself"
	case leavesDirectory(err):
		return "is a symbolic link that leaves the directory; put the file itself there"
	}
	if inner, ok := errors.AsType[*fs.PathError](err); ok {
		return inner.Err.Error()
	}
	return err.Error()
}

// leavesDirectory goes by the words: package os exports no value for it.
func leavesDirectory(err error) bool {
	return strings.Contains(err.Error(), "path escapes from parent")
}

// passing reports whether an error is of the device or the network, not of what
// is stored there.
func passing(err error) bool {
	var number syscall.Errno
	if !errors.As(err, &number) || errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		return false
	}
	// These are what a link can be made to lead to.
	return number != syscall.ELOOP && number != syscall.ENOTDIR && number != syscall.ENAMETOOLONG
}

func newFailure(err error, detail string) *mirror.Failure {
	kind := mirror.FailureInvalid
	switch {
	case errors.Is(err, fs.ErrPermission):
		kind = mirror.FailureForbidden
	case errors.Is(err, fs.ErrNotExist), err != nil && passing(err):
		kind = mirror.FailureContact
	}
	return &mirror.Failure{Kind: kind, Detail: detail}
}

// yamlWords returns what is wrong with a YAML document, and the line in it,
// where 0 is unknown.
func yamlWords(err error) (line int, words string) {
	if refused, ok := errors.AsType[*snapshot.YAMLError](err); ok {
		return refused.Line, refused.Words
	}
	return 0, "this is no valid YAML"
}

// jsonWords says what a decoded document has wrong, without quoting a value.
func jsonWords(err error) string {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		is, _, _ := strings.Cut(wrong.Value, " ")
		must, fix := "a mapping", ""
		switch wrong.Type.Kind() {
		case reflect.String:
			must, fix = "text", "; put it in quotes"
		case reflect.Bool:
			must = "true or false"
		}
		return fmt.Sprintf("%s: is of type %s and must be %s%s", orDocument(wrong.Field), is, must, fix)
	}
	if ok, _ := kjson.SyntaxErrorOffset(err); ok {
		return "this is no valid JSON"
	}
	return "cannot be decoded"
}

func orDocument(field string) string {
	if field == "" {
		return "the document"
	}
	return shorten(field)
}

// strictWords names a field that is not known, or is there twice.
func strictWords(err error) string {
	words, _, _ := strings.Cut(err.Error(), ` "`)
	if field, ok := errors.AsType[kjson.FieldError](err); ok {
		return fmt.Sprintf("%s %q; remove it, or correct its name", words, shorten(field.FieldPath()))
	}
	return "a field is not known, or is there twice; remove it, or correct its name"
}

// maxShown bounds what a message repeats of a file, in bytes.
const maxShown = 64

// shorten returns text that may be shown. It shares no memory with the file.
func shorten(text string) string {
	if len(text) <= maxShown {
		return strings.Clone(text)
	}
	return strings.ToValidUTF8(text[:maxShown-3], "") + "..."
}
