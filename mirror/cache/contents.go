package cache

import (
	"errors"
	"unicode/utf8"

	"github.com/authz-bridge/authz-bridge/mirror"
)

// validate refuses what would not come back as it was.
func validate(c mirror.Contents) error {
	if c.Validated.IsZero() {
		return errors.New("contents: validated: is zero; say as of when they were current")
	}
	if !utf8.ValidString(c.Cluster) {
		return errors.New("contents: cluster: is no valid UTF-8; leave it empty")
	}
	return nil
}

func registryUID(c mirror.Contents) string {
	if c.Registry == nil {
		return ""
	}
	return c.Registry.UID()
}
