package authzbridge_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/authzbridge"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

func TestEveryReasonHasARemedyAndARowInTheREADME(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "README.md"))
	require.NoError(t, err)
	for _, reason := range snapshot.Reasons() {
		step, remedy := authzbridge.AdviceOn(reason)
		assert.NotEmpty(t, step, reason)
		assert.NotEmpty(t, remedy, reason)
		assert.Regexp(t, `(?m)^\| [^|]+ \| [^|]*`+"`"+reason.String()+"`"+`[^|]* \| [^|]+ \|`, string(readme))
	}
}
