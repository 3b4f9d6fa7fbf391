// Package plugin is what `xcaddy build --with` takes: importing it
// registers every Caddy module of authz-bridge.
package plugin

import (
	// Each registers its modules when it is imported.
	_ "github.com/authz-bridge/authz-bridge/authzbridge"
	_ "github.com/authz-bridge/authz-bridge/authzbridge/command"
	_ "github.com/authz-bridge/authz-bridge/caddyfile"
)
