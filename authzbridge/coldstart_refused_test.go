package authzbridge_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/mirror/cache"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

const otherKey = "c4n4ry-another-key-0123456789abcdef01234"

// Rows 19 to 22 of the table of failures: what is stored is not what was stored, or
// of something else, or where others could have put it.
func TestRows19To22ACacheIsRefusedInWordsAndLiveWorksAfterwards(t *testing.T) {
	r := newReach(t)
	r.secret("open", clients("c4n4ry-key-of-open"))
	r.registry(document(app("open", "open.example.com")))
	r.stored(t, "open.example.com", http.StatusOK)
	sealed, err := os.ReadFile(r.path())
	require.NoError(t, err)
	good := r.contents()

	for name, c := range refusals(r) {
		t.Run(name, func(t *testing.T) {
			again := *r
			again.vault = newVault(t, r.origin)
			require.NoError(t, os.Mkdir(again.dir, 0o700))
			require.NoError(t, os.WriteFile(again.path(), sealed, 0o600))
			c.spoil(again.vault, good)
			r.proxy.Cut()
			d := open(t, again.option("startup_timeout 0s"))

			words := d.degraded("CacheRefused", true)
			for _, word := range append(c.says, "the cache is not served: ") {
				assert.Contains(t, words, word)
			}
			assert.Contains(t, d.bridge().Reasons, words)
			assert.Contains(t, d.logged(), "cache refused")
			assert.Equal(t, "unsynced", d.bridge().State)
			d.assertMetrics(map[string]int64{`authz_bridge_degraded{reason="CacheRefused"}`: 1, `authz_bridge_ready`: 0})
			refused := d.told()

			r.proxy.Pass()
			d.becomes("open.example.com", http.StatusOK)
			d.writes(1)
			d.degraded("CacheRefused", false)
			d.degraded("CacheWriteFailed", false)
			again.vault = &vault{tb: t, dir: again.dir, key: cacheKey, origin: r.origin}
			assert.Equal(t, good.Secrets, again.contents().Secrets, "it is replaced by a good one")
			for _, texts := range []map[string]string{refused, d.told()} {
				canaries{"key": cacheKey, "other key": otherKey, "key of open": "c4n4ry-key-of-open", "document": "c4n4ry-document"}.assertNowhere(t, texts)
			}
			require.NoError(t, caddy.Stop())
		})
	}
}

type refusal struct {
	spoil func(v *vault, good mirror.Contents)
	says  []string
}

func refusals(r *reach) map[string]refusal {
	reseal := func(change func(*vault, *mirror.Contents)) func(*vault, mirror.Contents) {
		return func(v *vault, c mirror.Contents) {
			change(v, &c)
			v.store(c)
		}
	}
	return map[string]refusal{
		"row 19, from the future": {func(v *vault, c mirror.Contents) {
			ahead, err := cache.New(cache.Options{
				Dir: v.dir, Key: []byte(v.key), Origin: v.origin,
				Now: func() time.Time { return time.Now().Add(time.Hour) },
			})
			require.NoError(v.tb, err)
			require.NoError(v.tb, ahead.Store(c))
			require.NoError(v.tb, ahead.Close())
		}, []string{"ahead of this machine's clock", "set the clock right"}},
		"row 20, torn": {func(v *vault, _ mirror.Contents) {
			require.NoError(v.tb, os.Truncate(v.path(), 700))
		}, []string{"cut short", "remove it"}},
		"row 20, altered": {func(v *vault, _ mirror.Contents) {
			sealed, err := os.ReadFile(v.path())
			require.NoError(v.tb, err)
			sealed[len(sealed)-20] ^= 1
			require.NoError(v.tb, os.WriteFile(v.path(), sealed, 0o600))
		}, []string{"altered or damaged", "remove it"}},
		"row 21, of another registry": {reseal(func(v *vault, _ *mirror.Contents) {
			v.origin.Registry = snapshot.Key{Namespace: "elsewhere", Name: "registry"}
		}), []string{"another registry", "elsewhere/registry", r.namespace + "/registry"}},
		"row 21, of another server": {reseal(func(v *vault, _ *mirror.Contents) {
			v.origin.Server = "https://192.0.2.1:6443"
		}), []string{"another server", "https://192.0.2.1:6443", r.proxy.Address()}},
		"row 21, of another CA": {reseal(func(v *vault, _ *mirror.Contents) {
			v.origin.CA = strings.Repeat("0", 64)
		}), []string{"another CA"}},
		"row 22, readable by others": {func(v *vault, _ mirror.Contents) {
			require.NoError(v.tb, os.Chmod(v.path(), 0o604))
		}, []string{"objects.sealed", "chmod o-rwx"}},
		"row 22, a symbolic link": {func(v *vault, _ mirror.Contents) {
			aside := filepath.Join(filepath.Dir(v.dir), "aside")
			require.NoError(v.tb, os.Rename(v.path(), aside))
			require.NoError(v.tb, os.Symlink(aside, v.path()))
		}, []string{"symbolic link", "remove it"}},
		"sealed with another key": {reseal(func(v *vault, _ *mirror.Contents) {
			v.key = otherKey
		}), []string{"sealed with another key", "give the key that it was sealed with"}},
		"older than max_age": {reseal(func(_ *vault, c *mirror.Contents) {
			c.Validated = c.Validated.Add(-25 * time.Hour)
		}), []string{"last right at", "longer ago than max_age 24h"}},
		"a registry that cannot be read": {reseal(func(_ *vault, c *mirror.Contents) {
			c.Registry = snapshot.NewSecret(snapshot.SecretMeta{Key: c.Registry.Key(), UID: c.Registry.UID(), Version: "7"},
				map[string][]byte{"registry.yaml": []byte("version: 1\napps: c4n4ry-document")})
		}), []string{"registry", "7"}},
	}
}

func keyIn(namespace, name string) snapshot.Key {
	return snapshot.Key{Namespace: namespace, Name: name}
}
