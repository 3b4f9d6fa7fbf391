// Command xcaddy is a ready Caddy: the standard modules and authz-bridge. It is
// the same as what xcaddy makes with --with github.com/authz-bridge/authz-bridge,
// but at the versions that this module is tested with.
package main

import (
	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	_ "github.com/caddyserver/caddy/v2/modules/standard"

	_ "github.com/authz-bridge/authz-bridge"
)

func main() { caddycmd.Main() }
