package authzbridge

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/caddyserver/caddy/v2"
	"go.uber.org/zap"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/mirror/files"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

func init() {
	caddy.RegisterModule(new(Files))
}

// Files reads Secrets from a directory: manifests, and trees of
// `namespace/name/key` files as kubelet mounts them. Changes are picked up live.
type Files struct {
	// The directory. Required. Placeholders are resolved once.
	Dir string `json:"dir,omitempty"`

	dir string
}

// CaddyModule returns the Caddy module information.
func (*Files) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "authz_bridge.sources.files",
		New: func() caddy.Module { return new(Files) },
	}
}

// Provision checks the options.
func (f *Files) Provision(caddy.Context) error {
	dir, err := resolve("source files", f.Dir)
	if err != nil {
		return err
	}
	if dir == "" {
		return errors.New("source files: no directory; write `source files <dir>`")
	}
	if f.dir, err = filepath.Abs(dir); err != nil {
		return fmt.Errorf("source files: %w", err)
	}
	return nil
}

// Check implements Source: the directory must be readable.
func (f *Files) Check() error {
	if _, err := os.ReadDir(f.dir); err != nil {
		return fmt.Errorf("source files: %w; name a directory that this process can read", err)
	}
	return nil
}

// Fingerprint implements Source: a relative path depends on where the process
// runs.
func (f *Files) Fingerprint() ([]byte, error) { return []byte(f.dir), nil }

// Origin implements Source.
func (f *Files) Origin() (Origin, error) { return Origin{Server: f.dir}, nil }

// NewSource implements Source.
func (f *Files) NewSource(registry snapshot.Key, logger *zap.Logger) (mirror.Source, error) {
	return files.New(files.Options{Dir: f.dir, Registry: registry, MayBeMissing: true, Logger: logger})
}

// Interface guards.
var (
	_ Source            = (*Files)(nil)
	_ caddy.Provisioner = (*Files)(nil)
)
