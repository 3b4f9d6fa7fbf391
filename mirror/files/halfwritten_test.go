package files

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

// half and whole both parse, and define different Secrets.
var (
	half  = manifestOf(openKey, "token", "new")
	whole = half + "---\n" + manifestOf(otherKey, "token", "new")
)

func TestAFileThatGrowsIsTakenWhenItIsLeftAlone(t *testing.T) {
	f := newFixture(t, openKey, otherKey)
	f.write("two.yaml", manifestOf(openKey, "token", "old")+"---\n"+manifestOf(otherKey, "token", "old"))
	f.settle()
	f.forget()

	path := filepath.Join(f.dir, "two.yaml")
	for end := 1; end < len(whole); end += 10 {
		// Each step is a write of its own, closed again: nothing but time tells
		// that more will come.
		require.NoError(t, os.WriteFile(path, []byte(whole[:end]), 0o600))
		assert.True(t, f.glance(), "another look is due soon")
		assert.Empty(t, f.calls())
	}
	require.NoError(t, os.WriteFile(path, []byte(whole), 0o600))
	f.settle()
	assert.Equal(t, "new", f.value(openKey, "token"))
	assert.Equal(t, "new", f.value(otherKey, "token"))
	assert.Equal(t, []string{"secrets"}, f.calls(), "both in one step")
}

func TestAPlainTreeThatGrowsIsTakenWhenItIsLeftAlone(t *testing.T) {
	f := newFixture(t, openKey)
	f.write("demo/open/token", "old")
	f.settle()
	f.forget()
	path := filepath.Join(f.dir, "demo/open/token")
	for _, content := range []string{"", "n", "ne"} {
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		assert.True(t, f.glance())
		assert.Empty(t, f.calls())
	}
	require.NoError(t, os.WriteFile(path, []byte("new"), 0o600))
	f.settle()
	assert.Equal(t, "new", f.value(openKey, "token"))
}

func TestAFileThatIsDeletedAndCreatedAgainClosesNothing(t *testing.T) {
	f := newFixture(t, openKey, otherKey)
	f.write("open.yaml", manifestOf(openKey, "token", "old"))
	f.write("demo/other/token", "old")
	f.settle()
	f.forget()

	f.remove("open.yaml")
	f.remove("demo")
	assert.True(t, f.glance())
	assert.Empty(t, f.calls())
	f.write("open.yaml", manifestOf(openKey, "token", "new"))
	f.write("demo/other/token", "new")
	f.settle()
	assert.Equal(t, []string{"secrets"}, f.calls())
	assert.Equal(t, "new", f.value(openKey, "token"))
	assert.Equal(t, "new", f.value(otherKey, "token"))
}

func TestAFileThatIsOldAtTheStartCountsAtOnce(t *testing.T) {
	f := newFixture(t, openKey)
	f.write("open.yaml", manifestOf(openKey, "token", "one"))
	f.now = f.now.Add(time.Hour)
	assert.False(t, f.glance())
	assert.Equal(t, "one", f.value(openKey, "token"))
}

func TestAFileThatIsYoungAtTheStartHasToWait(t *testing.T) {
	f := newFixture(t, openKey)
	f.write("open.yaml", manifestOf(openKey, "token", "one"))
	f.now = time.Now().Add(-settleTime)
	assert.True(t, f.glance())
	assert.Equal(t, snapshot.SecretPending, f.state(openKey).Status, "not absent: nobody knows yet")
	_, told := f.registry()
	assert.False(t, told)
}

func TestSettledMeansSeenTwice(t *testing.T) {
	now := time.Now()
	version := func(n int64) fingerprint {
		return fingerprint{exists: true, files: []stamp{{path: "a", size: n, modified: now.UnixNano()}}}
	}
	type step struct {
		after   time.Duration // since the start
		seen    fingerprint
		settled bool
	}
	tests := []struct {
		name  string
		steps []step
	}{
		{"seen twice, long enough apart", []step{{0, version(1), false}, {settleTime, version(1), true}}},
		{"seen twice, too soon", []step{{0, version(1), false}, {settleTime - 1, version(1), false}, {settleTime, version(1), true}}},
		{"old at the first look", []step{{settleTime, version(1), true}}},
		{"old at a later look", []step{{0, version(1), false}, {time.Hour, version(2), false}, {time.Hour + settleTime, version(2), true}}},
		{"from the future", []step{{-time.Hour, version(1), false}, {settleTime - time.Hour, version(1), true}}},
		{"back to what it was", []step{{0, version(1), false}, {settleTime, version(2), false}, {2 * settleTime, version(1), false}}},
		{"missing from the start", []step{{0, fingerprint{}, true}}},
		{"gone", []step{{settleTime, version(1), true}, {2 * settleTime, fingerprint{}, false}, {3 * settleTime, fingerprint{}, true}}},
		{"emptied is not gone", []step{{0, fingerprint{}, true}, {settleTime, fingerprint{exists: true}, false}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var s settler
			for _, step := range tt.steps {
				assert.Equal(t, step.settled, s.settled(step.seen, now.Add(step.after)))
			}
		})
	}
}
