package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCaddyfilesOfTheOverlaysAdaptWithoutWarnings(t *testing.T) {
	for _, overlay := range overlays() {
		for _, variable := range readDeployment(t, overlay).Spec.Template.Spec.Containers[0].Env {
			t.Setenv(variable.Name, variable.Value)
		}
		caddyfile := readCaddyfile(t, overlay)
		t.Run(overlay, func(t *testing.T) { adapt(t, caddyfile) })
		t.Run(overlay+" with the cache of the comment", func(t *testing.T) { adapt(t, uncomment(t, caddyfile, "cache ")) })
		t.Run(overlay+" with the proxies of the comment", func(t *testing.T) { adapt(t, uncomment(t, caddyfile, "servers ")) })
	}
}

// uncomment removes the comment signs of a block, from the line that begins with
// some words to the one that closes it.
func uncomment(tb testing.TB, text, begin string) string {
	tb.Helper()
	before, rest, found := strings.Cut(text, "# "+begin)
	require.True(tb, found, begin)
	sign := before[strings.LastIndex(before, "\n"):] + "# "
	block, after, found := strings.Cut(begin+rest, sign+"}")
	require.True(tb, found, begin)
	indent := strings.TrimSuffix(sign, "# ")
	return before + strings.ReplaceAll(block, sign, indent) + indent + "}" + after
}

// replaceEach replaces pairs of old and new, and asks that each old one occurs.
func replaceEach(tb testing.TB, text string, pairs ...string) string {
	tb.Helper()
	for i := 0; i < len(pairs); i += 2 {
		require.Contains(tb, text, pairs[i])
		text = strings.ReplaceAll(text, pairs[i], pairs[i+1])
	}
	return text
}

// adapt asks that there is no warning: badly formatted counts too.
func adapt(tb testing.TB, caddyfile string) []byte {
	tb.Helper()
	adapter := caddyconfig.GetAdapter("caddyfile")
	require.NotNil(tb, adapter)
	config, warnings, err := adapter.Adapt([]byte(caddyfile), nil)
	require.NoError(tb, err)
	assert.Empty(tb, warnings)
	return config
}

func adaptedHTTPApp(tb testing.TB, caddyfile string) caddyhttp.App {
	tb.Helper()
	var config struct {
		Apps struct{ HTTP caddyhttp.App }
	}
	require.NoError(tb, json.Unmarshal(adapt(tb, caddyfile), &config))
	return config.Apps.HTTP
}
