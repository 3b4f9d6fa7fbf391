package caddyfile

import (
	"strings"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
)

// oneArg reads the only argument of an option into a field that must be empty.
func oneArg(d *caddyfile.Dispenser, option, usage string, into *string) error {
	if *into != "" {
		return d.Errf("%s: given twice; keep one", option)
	}
	if d.CountRemainingArgs() != 1 {
		return d.Errf("%s: takes one argument; write `%s %s`", option, option, usage)
	}
	d.NextArg()
	if *into = d.Val(); *into == "" {
		return d.Errf("%s: is empty; write `%s %s`", option, option, usage)
	}
	return nil
}

// hasPlaceholder reports whether a value is not known before it is resolved.
func hasPlaceholder(value string) bool {
	return strings.Contains(value, "{")
}
