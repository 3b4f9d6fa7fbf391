package files

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

const examples = "../../caddyfile/examples"

// TestTheQuickstart goes the whole way from a file to a decision, with what a
// newcomer is told to do.
func TestTheQuickstart(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join(examples, "quickstart"))))
	core, logs := observer.New(zap.WarnLevel)
	src, err := New(Options{Dir: dir, Registry: registryKey, Logger: zap.New(core)})
	require.NoError(t, err)
	m, err := mirror.New(mirror.Options{Registry: registryKey, Source: src, Logger: zap.New(core)})
	require.NoError(t, err)
	apps, err := m.Register(snapshot.NewAppsBuilder())
	require.NoError(t, err)
	published := make(chan struct{}, 100)
	m.OnPublish(func(*snapshot.Snapshot) { published <- struct{}{} })
	require.NoError(t, m.Start())
	t.Cleanup(m.Stop)

	decide := func(host string) snapshot.Reason {
		d := snapshot.Decider{Apps: apps, Now: time.Now}
		return d.Decide(m.Current(), snapshot.Request{Host: host}).Reason
	}
	await := func(host string, reason snapshot.Reason) {
		t.Helper()
		deadline := time.After(10 * time.Second)
		for decide(host) != reason {
			select {
			case <-published:
			case <-deadline:
				require.FailNow(t, "never "+reason.String(), "%s is %s", host, decide(host))
			}
		}
	}
	await("open.localhost", snapshot.ReasonAllowed)
	assert.Equal(t, snapshot.ReasonCredentialsMissing, decide("private.localhost"))
	assert.Equal(t, snapshot.ReasonSecretAbsent, decide("closed.localhost"))
	assert.Equal(t, snapshot.ReasonUnknownHost, decide("unknown.localhost"))

	closed, err := os.ReadFile(filepath.Join(examples, "closed.secret.yaml"))
	require.NoError(t, err)
	copied := filepath.Join(dir, "closed.secret.yaml")
	require.NoError(t, os.WriteFile(copied, closed, 0o600))
	await("closed.localhost", snapshot.ReasonAllowed)
	require.NoError(t, os.Remove(copied))
	await("closed.localhost", snapshot.ReasonSecretAbsent)

	registry := filepath.Join(dir, "registry.yaml")
	text, err := os.ReadFile(registry)
	require.NoError(t, err)
	require.NoError(t, os.Remove(registry))
	await("open.localhost", snapshot.ReasonUnknownHost)
	writeFile(t, registry, string(text))
	await("open.localhost", snapshot.ReasonAllowed)
	for _, entry := range logs.All() {
		assert.Equal(t, "registry absent; every hostname is unknown", entry.Message)
	}
}

// TestTheQuickstartIsRightForACluster: it is applied to one as it is, and no
// object may be known here only. kubectl goes by the names of the files.
func TestTheQuickstartIsRightForACluster(t *testing.T) {
	all, err := os.ReadDir(filepath.Join(examples, "quickstart"))
	require.NoError(t, err)
	require.Equal(t, "namespace.yaml", all[0].Name(), "everything else is in one")
	for file, want := range map[string]snapshot.Key{
		"quickstart/registry.yaml": registryKey,
		"quickstart/open.yaml":     openKey,
		"quickstart/private.yaml":  {Namespace: "demo", Name: "private"},
		"closed.secret.yaml":       {Namespace: "demo", Name: "closed"},
	} {
		text, err := os.ReadFile(filepath.Join(examples, file))
		require.NoError(t, err)
		defined, others, err := decodeAll(file, string(text))
		require.NoError(t, err)
		require.Len(t, defined, 1)
		assert.Empty(t, others)
		assert.Empty(t, defined[0].refusal)
		assert.Equal(t, want, defined[0].key)
	}
}
