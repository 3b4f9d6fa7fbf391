package snapshot_test

import (
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The package is a function: what could do I/O, start a goroutine or know of
// Caddy and Kubernetes is not among its imports, and the clock is not read.
func TestPackageIsPure(t *testing.T) {
	allowed := []string{
		"bytes", "cmp", "compress/gzip", "encoding/json", "errors", "fmt", "hash/maphash", "io", "iter", "maps", "net/netip", "net/textproto", "net/url",
		"reflect", "regexp", "slices", "strconv", "strings", "time", "unicode", "unicode/utf8",
		"github.com/authz-bridge/authz-bridge/snapshot/credential", "go.yaml.in/yaml/v3", "golang.org/x/net/idna", "sigs.k8s.io/json", "sigs.k8s.io/yaml",
	}
	files, err := os.ReadDir(".")
	require.NoError(t, err)
	read := 0
	for _, file := range files {
		name := file.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		read++
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		assert.NotRegexp(t, `time\.(Now|Since|Until|After|Sleep|New)|\bgo func`, string(text), name)
		parsed, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly)
		require.NoError(t, err)
		for _, imported := range parsed.Imports {
			path, err := strconv.Unquote(imported.Path.Value)
			require.NoError(t, err)
			assert.Contains(t, allowed, path, name)
		}
	}
	require.NotZero(t, read)
}
