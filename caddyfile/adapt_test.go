package caddyfile_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2/caddyconfig"
	_ "github.com/caddyserver/caddy/v2/modules/standard"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/authz-bridge/authz-bridge/caddyfile"
)

const separator = "----------\n"

// Each golden file holds a Caddyfile and, after the separator, the JSON that it
// adapts to, or the error that it ends in.
func TestCaddyfilesAdaptToWhatTheGoldenFilesSay(t *testing.T) {
	goldens, err := filepath.Glob("../testdata/caddyfile/*.caddyfiletest")
	require.NoError(t, err)
	require.NotEmpty(t, goldens)
	for _, golden := range goldens {
		name := strings.TrimSuffix(filepath.Base(golden), ".caddyfiletest")
		t.Run(name, func(t *testing.T) {
			content, err := os.ReadFile(golden)
			require.NoError(t, err)
			input, want, found := strings.Cut(string(content), separator)
			require.True(t, found, "no separator")

			got := adapt(t, input)
			if os.Getenv("UPDATE_GOLDEN") != "" {
				require.NoError(t, os.WriteFile(golden, []byte(input+separator+got), 0o600))
				return
			}
			assert.Equal(t, want, got)
		})
	}
}

func adapt(t *testing.T, input string) string {
	t.Helper()
	adapted, warnings, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(input), map[string]any{"filename": "Caddyfile"})
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	assert.Empty(t, warnings)
	var indented bytes.Buffer
	require.NoError(t, json.Indent(&indented, adapted, "", "\t"))
	return indented.String() + "\n"
}

// The errors of a Caddyfile name the option and the fix, whatever else they say.
func TestEveryGoldenErrorNamesTheFix(t *testing.T) {
	goldens, err := filepath.Glob("../testdata/caddyfile/error-*.caddyfiletest")
	require.NoError(t, err)
	require.NotEmpty(t, goldens)
	for _, golden := range goldens {
		content, err := os.ReadFile(golden)
		require.NoError(t, err)
		_, want, _ := strings.Cut(string(content), separator)
		assert.Regexp(t, `^error: .*(write|known|keep|leave it out|options go into a block|takes no options)`, want, filepath.Base(golden))
	}
}
