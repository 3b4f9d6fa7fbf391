package caddyfile

import (
	"strings"

	"github.com/caddyserver/caddy/v2"
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

// positive is duration for an option for which zero would mean its default.
func positive(d *caddyfile.Dispenser, option string, into *caddy.Duration) error {
	if err := duration(d, option, into); err != nil {
		return err
	}
	if *into == 0 {
		return d.Errf("%s: is zero; leave it out for the default", option)
	}
	return nil
}

// duration reads the only argument of an option into a field that must be empty.
func duration(d *caddyfile.Dispenser, option string, into *caddy.Duration) error {
	if *into != 0 {
		return d.Errf("%s: given twice; keep one", option)
	}
	var text string
	if err := oneArg(d, option, "<duration>", &text); err != nil {
		return err
	}
	parsed, err := caddy.ParseDuration(text)
	if err != nil || parsed < 0 {
		return d.Errf("%s: %q is no duration; write it as in 30s, 5m or 1d", option, text)
	}
	*into = caddy.Duration(parsed)
	return nil
}

// hasPlaceholder reports whether a value is not known before it is resolved.
func hasPlaceholder(value string) bool {
	return strings.Contains(value, "{")
}
