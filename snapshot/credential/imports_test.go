package credential_test

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

// The package is a function of what it is given: what could do I/O or know of Caddy
// and Kubernetes is not among its imports, the clock is not read and no goroutine
// started. Randomness is for the key of the cache.
func TestPackageIsPure(t *testing.T) {
	allowed := []string{
		"bytes", "cmp", "container/list", "encoding/base64", "encoding/binary", "encoding/hex", "encoding/json", "encoding/pem", "errors", "fmt",
		"hash", "io", "maps", "math", "math/bits", "regexp", "slices", "strconv", "strings", "sync", "sync/atomic", "time", "unicode/utf8",
		"crypto", "crypto/ecdsa", "crypto/ed25519", "crypto/elliptic", "crypto/hmac", "crypto/rand", "crypto/rsa", "crypto/sha1", "crypto/sha256",
		"crypto/subtle", "crypto/x509",
		"github.com/go-jose/go-jose/v4", "github.com/go-jose/go-jose/v4/json", "github.com/go-jose/go-jose/v4/jwt",
		"github.com/tg123/go-htpasswd", "golang.org/x/crypto/bcrypt", "sigs.k8s.io/json",
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
		assert.NotRegexp(t, `time\.(Now|Since|Until|After|Sleep|New)|(?m)^\s*go `, string(text), name)
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
