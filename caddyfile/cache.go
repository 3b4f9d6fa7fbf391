package caddyfile

import (
	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/authz-bridge/authz-bridge/authzbridge"
)

func parseCache(d *caddyfile.Dispenser, app *authzbridge.App) error {
	if app.Cache != nil {
		return d.Err("cache: given twice; keep one")
	}
	cache := new(authzbridge.Cache)
	if err := oneArg(d, "cache", "<dir>", &cache.Dir); err != nil {
		return err
	}
	for nesting := d.Nesting(); d.NextBlock(nesting); {
		if err := parseCacheOption(d, cache); err != nil {
			return err
		}
	}
	if (cache.Key == "") == (cache.KeyFile == "") {
		return d.Err("cache: takes one key; write either `key {env.<NAME>}` or `key_file <path>`")
	}
	app.Cache = cache
	return nil
}

func parseCacheOption(d *caddyfile.Dispenser, cache *authzbridge.Cache) error {
	switch d.Val() {
	case "key":
		return oneArg(d, "key", "{env.<NAME>}", &cache.Key)
	case "key_file":
		return oneArg(d, "key_file", "<path>", &cache.KeyFile)
	case "persist_interval":
		return positive(d, "persist_interval", &cache.PersistInterval)
	}
	return d.Errf("cache: unknown option %q; known are key, key_file and persist_interval", d.Val())
}

// parseStartupTimeout tells 0s, which is a choice, from nothing.
func parseStartupTimeout(d *caddyfile.Dispenser, app *authzbridge.App) error {
	if app.StartupTimeout != nil {
		return d.Err("startup_timeout: given twice; keep one")
	}
	var timeout caddy.Duration
	if err := duration(d, "startup_timeout", &timeout); err != nil {
		return err
	}
	app.StartupTimeout = &timeout
	return nil
}
