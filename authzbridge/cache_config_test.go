package authzbridge_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// cacheKey is what Caches are sealed with, in the variable that keyVariable names.
const (
	cacheKey    = "c4n4ry-key-of-the-cache-0123456789abcdef"
	keyVariable = "AUTHZ_BRIDGE_TEST_CACHE_KEY"
)

func TestBadCacheAndTimesNameTheOptionAndTheFix(t *testing.T) {
	const shortKey = "c4n4ry-0123456789abcdef-3456789"
	dir := t.TempDir()
	file := filepath.Join(dir, "key")
	require.NoError(t, os.WriteFile(file, []byte(cacheKey), 0o600))
	short := filepath.Join(dir, "short")
	require.NoError(t, os.WriteFile(short, []byte(shortKey+"  \n\n"), 0o600))
	t.Setenv(keyVariable, cacheKey)
	t.Setenv("AUTHZ_BRIDGE_TEST_SHORT_KEY", shortKey)
	t.Setenv("AUTHZ_BRIDGE_TEST_EMPTY_KEY", "")
	cache := func(options string) string { return `"cache": {"dir": "` + dir + `/cache"` + options + `}` }
	known := `, "key": "{env.` + keyVariable + `}"`
	for name, c := range map[string]struct {
		option string
		says   []string
	}{
		"no directory":           {`"cache": {"key": "{env.` + keyVariable + `}"}`, []string{"cache", "no directory", "write `cache <dir>`"}},
		"directory from nowhere": {`"cache": {"dir": "{env.NO_SUCH_VARIABLE}"` + known + `}`, []string{"cache", "NO_SUCH_VARIABLE"}},
		"no key":                 {cache(""), []string{"no key", "write `key {env.<NAME>}` or `key_file <path>`"}},
		"two keys":               {cache(known + `, "key_file": "` + file + `"`), []string{"key and key_file", "keep one"}},
		"key written out":        {cache(`, "key": "` + cacheKey + `"`), []string{"key", "shows in the configuration", "write `key {env.<NAME>}`"}},
		"key partly written out": {cache(`, "key": "` + cacheKey + `{env.` + keyVariable + `}"`), []string{"key", "shows in the configuration"}},
		"key of two variables":   {cache(`, "key": "{env.` + keyVariable + `}{env.` + keyVariable + `}"`), []string{"key", "shows in the configuration"}},
		"variable not set":       {cache(`, "key": "{env.NO_SUCH_VARIABLE}"`), []string{"key", "NO_SUCH_VARIABLE"}},
		"variable empty":         {cache(`, "key": "{env.AUTHZ_BRIDGE_TEST_EMPTY_KEY}"`), []string{"key", "AUTHZ_BRIDGE_TEST_EMPTY_KEY"}},
		"placeholder unknown":    {cache(`, "key": "{no.such.placeholder}"`), []string{"key", "no.such.placeholder"}},
		"short key":              {cache(`, "key": "{env.AUTHZ_BRIDGE_TEST_SHORT_KEY}"`), []string{"key", "31 characters", "32 at least", "openssl rand"}},
		"key file missing":       {cache(`, "key_file": "/does/not/exist"`), []string{"key_file", "/does/not/exist", "name a file"}},
		"key file a directory":   {cache(`, "key_file": "` + dir + `"`), []string{"key_file", dir, "name a file"}},
		"short key in a file":    {cache(`, "key_file": "` + short + `"`), []string{"key_file", "31 characters", "32 at least"}},
		"unknown field":          {cache(known + `, "ttl": 1`), []string{"ttl"}},
		"interval too short":     {cache(known + `, "persist_interval": "10ms"`), []string{"persist_interval", "10ms", "use 1s at least"}},
		"negative interval":      {cache(known + `, "persist_interval": "-1m"`), []string{"persist_interval", "-1m", "use 1s at least"}},
		"negative timeout":       {`"startup_timeout": "-1s"`, []string{"startup_timeout", "-1s", "use 0s"}},
		"max_age too short":      {`"max_age": "1m"`, []string{"max_age", "1m", "use 5m0s at least"}},
		"negative max_age":       {`"max_age": "-1h"`, []string{"max_age", "-1h", "use 5m0s at least"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := caddy.Load([]byte(`{"admin": {"disabled": true}, `+quiet+`, "apps": {"authz_bridge":
				{"registry": "a/b", "source": {"type": "files", "dir": "`+dir+`"}, `+c.option+`}}}`), true)
			require.Error(t, err)
			for _, word := range c.says {
				assert.ErrorContains(t, err, word)
			}
			canaries{"key": cacheKey, "short key": shortKey}.assertNowhere(t, map[string]string{"the error": err.Error()})
			assert.NoDirExists(t, dir+"/cache")
		})
	}
}

// White space around a key in a file does not count, but within it does.
func TestAKeyMayStandInAFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "key")
	for _, content := range []string{cacheKey, cacheKey + "\n", "\t" + cacheKey + " \r\n\n", cacheKey[:20] + " " + cacheKey[20:]} {
		require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
		assert.NoError(t, validate(t, filesOption(t.TempDir())+keyFileOption(dir, file)), "%q", content)
	}
}

func TestValidationTouchesNoCache(t *testing.T) {
	t.Setenv(keyVariable, cacheKey)
	for name, option := range map[string]string{
		"in a Pod": "registry a/b",
		"far away": "registry a/b\nsource kubernetes {\nkubeconfig " + farKubeconfig(t) + "\n}",
		"files":    filesOption(t.TempDir()),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, validate(t, option+cacheOption(filepath.Join(dir, "cache"))))
			require.NoError(t, validate(t, option+cacheOption(filepath.Join(dir, "no", "parent"))), "that is for the writer to say")
			assertEmpty(t, dir)
		})
	}
}

// validate is `caddy validate`.
func validate(t *testing.T, option string) error {
	t.Helper()
	d := newDoor(t, option)
	adapted, _, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(d.config()), nil)
	require.NoError(t, err)
	var config caddy.Config
	require.NoError(t, caddy.StrictUnmarshalJSON(adapted, &config))
	return caddy.Validate(&config)
}

func assertEmpty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, entries)
}

func filesOption(dir string) string {
	return "registry town/registry\nsource files " + dir
}

// cacheOption adds a Cache with the key of keyVariable, and more of its options.
func cacheOption(dir string, more ...string) string {
	return fmt.Sprintf("\ncache %s {\nkey {env.%s}\n%s\n}", dir, keyVariable, strings.Join(more, "\n"))
}

func keyFileOption(dir, file string) string {
	return fmt.Sprintf("\ncache %s {\nkey_file %s\n}", filepath.Join(dir, "cache"), file)
}
