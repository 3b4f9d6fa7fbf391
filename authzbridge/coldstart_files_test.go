package authzbridge_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/mirror/cache"
)

// desk is a directory of manifests, and a Cache of it.
type desk struct {
	*vault
	manifests string
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "manifests")
	require.NoError(t, os.Mkdir(dir, 0o700))
	return &desk{newVault(t, cache.Origin{Server: dir, Registry: keyIn("town", "registry")}), dir}
}

func (k *desk) option() string {
	return filesOption(k.manifests) + cacheOption(k.dir) + "\nstartup_timeout 0s"
}

// secret writes a manifest, in one step.
func (k *desk) secret(name, key, value string) {
	k.tb.Helper()
	text := fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {namespace: town, name: %s}\nstringData:\n  %s: %q\n", name, key, value)
	k.write(name, text)
}

func (k *desk) write(name, text string) {
	k.tb.Helper()
	partial := filepath.Join(k.manifests, "."+name)
	require.NoError(k.tb, os.WriteFile(partial, []byte(text), 0o600))
	require.NoError(k.tb, os.Rename(partial, filepath.Join(k.manifests, name+".yaml")))
}

func TestTheCacheServesWhileTheFilesCannotBeRead(t *testing.T) {
	for name, c := range map[string]struct {
		lose, find func(*desk)
		condition  string
	}{
		"the registry is half written": {
			func(k *desk) { k.write("registry", "kind: Secret\nmetadata: [half") },
			func(*desk) {},
			"SourceInvalid",
		},
		"the directory has gone": {
			func(k *desk) { require.NoError(k.tb, os.Rename(k.manifests, k.manifests+".aside")) },
			func(k *desk) { require.NoError(k.tb, os.Rename(k.manifests+".aside", k.manifests)) },
			"ContactLost",
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := newDesk(t)
			k.secret("registry", "registry.yaml", document(app("open", "open.example.com"), app("shop", "shop.example.com")+byKey))
			k.secret("open", "token", "placeholder")
			k.secret("shop", "token", "c4n4ry-key-of-shop")
			d := open(t, k.option())
			d.becomes("open.example.com", http.StatusOK)
			d.writes(1)
			require.NoError(t, caddy.Stop())
			k.rewrite(func(c *mirror.Contents) { c.Validated = c.Validated.Add(-time.Hour) })

			c.lose(k)
			require.NoError(t, d.load())
			assertDeskServesTheCache(t, d)
			d.degraded(c.condition, true)
			c.find(k)
			k.secret("late", "token", "placeholder")
			k.secret("registry", "registry.yaml", document(app("late", "late.example.com")))
			d.becomes("late.example.com", http.StatusOK)
			assert.Equal(t, http.StatusForbidden, d.status("open.example.com"), "live replaces it whole")
			assert.Equal(t, "live", d.bridge().State)
			d.writes(1)
			assert.Len(t, k.contents().Secrets, 1)
			require.NoError(t, caddy.Stop())
		})
	}
}

func assertDeskServesTheCache(t *testing.T, d *door) {
	t.Helper()
	assert.Equal(t, http.StatusOK, d.status("open.example.com"))
	assert.Equal(t, http.StatusUnauthorized, d.status("shop.example.com"))
	assert.Equal(t, http.StatusOK, d.send("shop.example.com", http.Header{"X-Api-Key": {"c4n4ry-key-of-shop"}}).status)
	assert.Equal(t, http.StatusForbidden, d.status("unknown.example.com"))
	words := d.degraded("ServingFromCache", true)
	st := d.bridge()
	assert.Equal(t, "from_cache", st.State)
	assert.True(t, st.Ready)
	assert.Contains(t, st.Reasons, words)
	assert.GreaterOrEqual(t, *st.AgeSeconds, time.Hour.Seconds())
	canaries{"key": cacheKey, "key of shop": "c4n4ry-key-of-shop"}.assertNowhere(t, d.told())
}

func TestADirectoryThatHasNeverBeenThereIsToldWithACacheAndRefusedWithout(t *testing.T) {
	k := newDesk(t)
	require.NoError(t, os.Remove(k.manifests))
	d := newDoor(t, filesOption(k.manifests))
	assert.ErrorContains(t, d.load(), "name a directory that this process can read")

	d.option = k.option()
	require.NoError(t, d.load())
	d.degraded("ContactLost", true)
	st := d.bridge()
	assert.Equal(t, "unsynced", st.State)
	assert.Contains(t, st.Reasons[len(st.Reasons)-1], k.manifests)

	require.NoError(t, os.Mkdir(k.manifests, 0o700))
	k.secret("registry", "registry.yaml", document(app("open", "open.example.com")))
	k.secret("open", "token", "placeholder")
	d.becomes("open.example.com", http.StatusOK)
}
