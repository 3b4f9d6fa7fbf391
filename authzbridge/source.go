package authzbridge

import (
	"go.uber.org/zap"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

// Origin is where objects come from. What was kept of one is never served for
// another.
type Origin struct {
	// Server is a URL without credentials, or a directory.
	Server string
	// CA is a hash of the certificates that the server is verified with; empty for
	// none.
	CA string
}

// Source is what a module of the namespace `authz_bridge.sources` implements.
type Source interface {
	// Fingerprint returns all that makes this source another one than a source
	// with the same configuration, such as the content of a file that it names.
	// It is hashed and never shown.
	Fingerprint() ([]byte, error)

	// Check says why nothing can be had from here, as far as that shows without the
	// network. It is not asked where there is a Cache, which is there for that.
	Check() error

	// Origin says where the objects come from. It must not need the network.
	Origin() (Origin, error)

	// NewSource makes what the Mirror runs. It must not need the network. An
	// error fails the start of the app, not its validation. The logger outlives
	// the configuration.
	NewSource(registry snapshot.Key, logger *zap.Logger) (mirror.Source, error)
}
