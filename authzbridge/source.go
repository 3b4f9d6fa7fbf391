package authzbridge

import (
	"go.uber.org/zap"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

// Source is what a module of the namespace `authz_bridge.sources` implements.
type Source interface {
	// Fingerprint returns all that makes this source another one than a source
	// with the same configuration, such as the content of a file that it names.
	// It is hashed and never shown.
	Fingerprint() ([]byte, error)

	// NewSource makes what the Mirror runs. It must not need the network. An
	// error fails the start of the app, not its validation. The logger outlives
	// the configuration.
	NewSource(registry snapshot.Key, logger *zap.Logger) (mirror.Source, error)
}
