package snapshot_test

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The packages are functions: what could do I/O, start a goroutine or know of Caddy
// and Kubernetes is not among their imports, and the clock is not read. The
// randomness of credential is for the key of what it remembers.
func TestPackagesArePure(t *testing.T) {
	for dir, allowed := range map[string][]string{
		".": {
			"bytes", "cmp", "compress/gzip", "encoding/json", "errors", "fmt", "hash/maphash", "io", "iter", "maps", "net/netip",
			"net/textproto", "net/url", "reflect", "regexp", "slices", "strconv", "strings", "time", "unicode", "unicode/utf8",
			"github.com/authz-bridge/authz-bridge/snapshot/credential",
			"go.yaml.in/yaml/v3", "golang.org/x/net/idna", "sigs.k8s.io/json", "sigs.k8s.io/yaml",
		},
		"credential": {
			"crypto/ecdsa", "crypto/ed25519", "crypto/elliptic", "crypto/hmac", "crypto/rand", "crypto/rsa", "crypto/sha256",
			"crypto/subtle", "crypto/x509", "encoding/base64", "encoding/binary", "encoding/hex", "encoding/json", "encoding/pem",
			"errors", "fmt", "hash", "io", "math", "regexp", "slices", "strings", "sync", "sync/atomic", "time",
			"github.com/go-jose/go-jose/v4", "github.com/go-jose/go-jose/v4/json", "github.com/go-jose/go-jose/v4/jwt",
			"github.com/tg123/go-htpasswd", "golang.org/x/crypto/bcrypt", "sigs.k8s.io/json",
		},
	} {
		assertPure(t, dir, allowed)
	}
}

func assertPure(t *testing.T, dir string, allowed []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	used := make(map[string]bool)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.NotRegexp(t, `time\.(Now|Since|Until|After|Sleep|New)|(?m)^\s*go `, string(text), file)
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ImportsOnly)
		require.NoError(t, err)
		for _, imported := range parsed.Imports {
			path, err := strconv.Unquote(imported.Path.Value)
			require.NoError(t, err)
			assert.Contains(t, allowed, path, file)
			used[path] = true
		}
	}
	for _, path := range allowed {
		assert.True(t, used[path], "%s is permitted in %s and not used there", path, dir)
	}
}
