package cache_test

import (
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write testdata/shop.sealed anew; only with a new format version")

const goldenPath = "testdata/shop.sealed"

func TestAFileOfThisFormatVersionStaysReadable(t *testing.T) {
	c := emptyCache(t)
	if *update {
		file, err := c.Seal(shop())
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(goldenPath, file, 0o600))
	}
	got, err := c.Unseal(readFile(t, goldenPath))
	require.NoError(t, err)
	requireSame(t, shop(), got)
}
