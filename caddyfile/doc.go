// Package caddyfile teaches the Caddyfile the global option `authz_bridge` and
// the directives `authz_bridge`, `authz_bridge_ready` and `authz_bridge_verify`. It
// only translates: what a value means is checked by the modules of package
// authzbridge, and here already where the line can be named. Matchers, permissions and
// upstreams read their own lines, since Caddy asks the modules themselves.
package caddyfile
