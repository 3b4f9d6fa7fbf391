package cache

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

// Origin is what a Cache is of; one of another origin is refused. It is readable
// in the file and shown in errors.
type Origin struct {
	// Server is the URL of the API server, without credentials, or the directory
	// of the files source.
	Server string `json:"server"`
	// CA is the SHA-256 of the CA's certificates in hex; empty for none.
	CA string `json:"ca,omitempty"`
	// Registry is the Secret that lists the Apps.
	Registry snapshot.Key `json:"registry"`
}

// validate refuses what would not come back as it was, or must not be shown.
func (o Origin) validate() error {
	for _, field := range []struct{ name, text string }{
		{"server", o.Server},
		{"CA", o.CA},
		{"registry namespace", o.Registry.Namespace},
		{"registry name", o.Registry.Name},
	} {
		if !utf8.ValidString(field.text) {
			return fmt.Errorf("%s: is no valid UTF-8; rename it", field.name)
		}
	}
	if at, err := url.Parse(o.Server); err == nil && at.User != nil {
		return errors.New("server: has credentials in its URL; leave them out")
	}
	return nil
}

// admit refuses a file of another origin.
func (o Origin) admit(found Origin) error {
	switch {
	case found.Server != o.Server:
		return foreign("server", found.Server, o.Server)
	case found.CA != o.CA:
		return foreign("CA", found.CA, o.CA)
	case found.Registry != o.Registry:
		return foreign("registry", found.Registry.String(), o.Registry.String())
	}
	return nil
}

func foreign(field, found, want string) error {
	return fmt.Errorf("is of another %s (%q, and this one is %q); name another directory, or remove it",
		field, shorten(found), shorten(want))
}

// maxShown bounds what an error repeats of a file, in bytes.
const maxShown = 128

func shorten(text string) string {
	if len(text) <= maxShown {
		return text
	}
	return strings.ToValidUTF8(text[:maxShown-3], "") + "..."
}
