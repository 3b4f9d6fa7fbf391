package snapshot_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

// start is the time that most tests begin at.
var start = time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)

var registryKey = snapshot.Key{Namespace: "edge", Name: "registry"}

// entry is an App of a document: the fields that a test gives, in JSON.
type entry map[string]any

// app returns an entry that is in order. Its Secret is shop/<name>, key "token".
func app(name string, hostnames ...string) entry {
	return entry{
		"name":      name,
		"hostnames": hostnames,
		"secretRef": entry{"namespace": "shop", "name": name, "key": "token"},
	}
}

// with returns the entry with one field more.
func (e entry) with(field string, value any) entry {
	changed := entry{field: value}
	for k, v := range e {
		if k != field {
			changed[k] = v
		}
	}
	return changed
}

// jsonOf returns a document of version 1.
func jsonOf(t testing.TB, apps ...entry) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{"version": 1, "apps": apps})
	require.NoError(t, err)
	return string(text)
}

func registrySecret(data map[string]string) *snapshot.Secret {
	return secret(registryKey, "7", data)
}

func secret(key snapshot.Key, version string, data map[string]string) *snapshot.Secret {
	values := make(map[string][]byte, len(data))
	for k, v := range data {
		values[k] = []byte(v)
	}
	return snapshot.NewSecret(snapshot.SecretMeta{
		Key: key, UID: "uid-" + key.Name, Version: version, Type: "Opaque",
	}, values)
}

// parseText reads a document under a data key.
func parseText(dataKey, text string) (*snapshot.Registry, error) {
	return snapshot.ParseRegistry(registrySecret(map[string]string{dataKey: text}))
}

// registry parses entries that make a readable document.
func registry(t testing.TB, apps ...entry) *snapshot.Registry {
	t.Helper()
	reg, err := parseText("registry.json", jsonOf(t, apps...))
	require.NoError(t, err)
	return reg
}

// allPresent returns a state of every referenced Secret in which it is in order.
func allPresent(reg *snapshot.Registry) map[snapshot.Key]snapshot.SecretState {
	states := make(map[snapshot.Key]snapshot.SecretState)
	for key, ref := range reg.References() {
		data := make(map[string]string)
		if ref.All {
			data["any"] = "value"
		}
		for _, k := range ref.Keys {
			data[k] = "value"
		}
		states[key] = snapshot.Present(secret(key, "1", data))
	}
	return states
}

// build builds from nothing.
func build(t testing.TB, o snapshot.Objects) *snapshot.Apps {
	t.Helper()
	return buildWith(t, snapshot.NewAppsBuilder(), o)
}

func buildWith(t testing.TB, b *snapshot.AppsBuilder, o snapshot.Objects) *snapshot.Apps {
	t.Helper()
	view, err := b.Build(o)
	require.NoError(t, err)
	require.IsType(t, (*snapshot.Apps)(nil), view)
	return view.(*snapshot.Apps)
}

// open builds entries whose Secrets are all in order.
func open(t testing.TB, apps ...entry) *snapshot.Apps {
	t.Helper()
	reg := registry(t, apps...)
	return build(t, snapshot.NewObjects(start, reg, allPresent(reg)))
}

// publish wraps a View as the Mirror does, in slot 0.
func publish(view any) *snapshot.Snapshot {
	return snapshot.NewSnapshot(1, start, snapshot.Live, []any{view})
}

// answer tells the App and the reason of a host in one string.
func answer(apps *snapshot.Apps, host string) string {
	found, reason := apps.Lookup(host)
	if found == nil {
		return reason.String()
	}
	return found.Name + ": " + reason.String()
}

func gzipped(t testing.TB, text string) string {
	t.Helper()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return packed.String()
}
