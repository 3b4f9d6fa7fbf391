package files

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

func TestADirectoryIsReadOnce(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	key := func(name string) snapshot.Key { return snapshot.Key{Namespace: "town", Name: name} }
	const manifest = "---\napiVersion: v1\nkind: Secret\nmetadata: {namespace: town, name: "
	put("a.yaml", manifest+"one}\nstringData: {token: a}\n"+manifest+"twice}\nstringData: {token: a}\n"+manifest+"wrong}\ndata: {token: '%'}\n")
	put("b.yaml", manifest+"twice}\nstringData: {token: b}\n")
	put("town/tree/token", "c")
	o := Options{Dir: dir, Registry: key("registry")}
	refs := references(key("one"), key("twice"), key("wrong"), key("tree"), key("absent"))

	got, err := Read(t.Context(), o, refs)
	require.NoError(t, err, "files that were written just now are waited for")
	status := make(map[string]snapshot.SecretStatus)
	for k, state := range got.Secrets {
		status[k.Name] = state.Status
	}
	assert.Equal(t, map[string]snapshot.SecretStatus{
		"one": snapshot.SecretPresent, "tree": snapshot.SecretPresent, "absent": snapshot.SecretAbsent,
		"twice": snapshot.SecretForbidden, "wrong": snapshot.SecretForbidden,
	}, status)
	assert.Equal(t, map[snapshot.Key]string{key("one"): "a.yaml:2", key("wrong"): "a.yaml:12", key("tree"): "town/tree"}, got.Places)
	assert.Len(t, got.Failures, 1)

	t.Log("a manifest that nobody can read may define what is not known")
	put("c.yaml", "kind: [")
	got, err = Read(t.Context(), o, refs)
	require.NoError(t, err)
	assert.NotContains(t, got.Secrets, key("absent"))
	assert.Len(t, got.Failures, 2)

	_, err = Read(t.Context(), Options{Dir: filepath.Join(dir, "none"), Registry: o.Registry}, refs)
	assert.ErrorContains(t, err, "does not exist")
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	put("a.yaml", "kind: [")
	_, err = Read(stopped, o, refs)
	assert.ErrorIs(t, err, context.Canceled)
}
