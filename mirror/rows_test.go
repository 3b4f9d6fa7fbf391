package mirror_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// rows are the failures that such a Mirror must survive, from 1. Each is shown by a
// test that is named TestRow and its number, in this package or another.
var rows = []string{
	"the API server is down at the start",
	"it is refused while we run",
	"the connection is half open, or the server frozen",
	"etcd is dead and the API server lives",
	"news are not delivered after a recovery",
	"the resource version goes back, for the cluster was restored",
	"the token has expired or was rotated",
	"our rights are taken away",
	"one Secret may not be read",
	"the server asks to be left alone (429, Retry-After)",
	"a version has expired, and deletes were missed",
	"a Secret was recreated with another UID",
	"the Registry is deleted, was never there, or is not read yet",
	"the Registry's bytes are damaged, or unpack to too many",
	"one line of credentials is bad",
	"a hostname is claimed twice",
	"a Builder panics",
	"the schema is newer than this release",
	"the clock jumps",
	"the disk is full, the Cache torn or altered",
	"the Cache is of another cluster or Registry",
	"others can read the Cache, or put it there",
	"two processes have one Cache",
	"a storm of events",
	"all replicas come back at once",
	"goroutines after many starts and stops while refused",
}

func TestEveryRowOfTheFailureTableHasATestOfItsName(t *testing.T) {
	named := regexp.MustCompile(`(?m)^func TestRow(\d+)[A-Z]\w*\(t \*testing\.T\)`)
	found := make(map[string]int)
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, match := range named.FindAllSubmatch(text, -1) {
			found[string(match[1])]++
		}
		return err
	})
	require.NoError(t, err)
	for i, row := range rows {
		assert.Positive(t, found[strconv.Itoa(i+1)], "row %d: %s", i+1, row)
	}
}
