package cache_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

func TestContentsComeBackAsTheyWere(t *testing.T) {
	states := func(state snapshot.SecretState) mirror.Contents {
		return mirror.Contents{Validated: noon, Secrets: map[snapshot.Key]snapshot.SecretState{shopKey: state}}
	}
	full := snapshot.SecretMeta{Key: shopKey, UID: "u", Version: "7", Type: "kubernetes.io/basic-auth", MayInject: true}
	for name, contents := range map[string]mirror.Contents{
		"a Registry and a Secret":        shop(),
		"nothing at all":                 {Validated: noon},
		"no Registry":                    {Cluster: "c", Validated: noon, Secrets: shop().Secrets},
		"a Registry without data":        {Validated: noon, Registry: secret(registryKey, nil)},
		"a Registry with an empty value": {Validated: noon, Registry: secret(registryKey, map[string][]byte{"registry.yaml": {}})},
		"a present Secret with all it has": states(snapshot.Present(snapshot.NewSecret(full,
			map[string][]byte{"username": []byte("u"), "password": []byte("\x00\xff\n"), "": []byte("no name")}))),
		"a Secret without anything":        states(snapshot.Present(snapshot.NewSecret(snapshot.SecretMeta{}, nil))),
		"a Secret with nil and empty data": states(snapshot.Present(secret(shopKey, map[string][]byte{"a": nil, "b": {}}))),
		"an absent Secret":                 states(snapshot.Absent()),
		"a forbidden Secret":               states(snapshot.Forbidden("outside the scope")),
		"a pending Secret with a detail":   states(snapshot.SecretState{Detail: "not yet"}),
		"a present state without a Secret": states(snapshot.SecretState{Status: snapshot.SecretPresent}),
		"a Secret with text in no encoding": states(snapshot.Present(snapshot.NewSecret(
			snapshot.SecretMeta{Key: shopKey, UID: "\xff", Version: "\xfe", Type: "\xfd"}, nil))),
		"a moment with nanoseconds elsewhere": {Validated: noon.Add(-time.Nanosecond).In(time.FixedZone("east", 3600))},
		"a large town":                        town(2_000),
		"one value of a mebibyte": states(snapshot.Present(secret(shopKey,
			map[string][]byte{"token": []byte(strings.Repeat("0123456789abcdef", 1<<16))}))),
	} {
		t.Run(name, func(t *testing.T) {
			c := emptyCache(t)
			require.NoError(t, c.Store(contents))
			got, err := c.Load()
			require.NoError(t, err)
			requireSame(t, contents, got)
			assert.NotNil(t, got.Secrets)
			assert.Equal(t, contents.Registry == nil, got.Registry == nil, "absent is not the same as without data")
		})
	}
}

func TestTheLastOneStoredIsLoadedByAnother(t *testing.T) {
	dir := t.TempDir() + "/cache"
	writer := newCache(t, options(dir))
	require.NoError(t, writer.Store(town(10)))
	require.NoError(t, writer.Store(shop()))
	got, err := newCache(t, options(dir)).Load()
	require.NoError(t, err)
	requireSame(t, shop(), got)
}

func TestNothingStoredIsNoFault(t *testing.T) {
	c := emptyCache(t)
	_, err := c.Load()
	require.ErrorIs(t, err, mirror.ErrNoCache)
	assert.NoDirExists(t, c.Path())

	require.NoError(t, c.Store(shop()))
	require.NoError(t, c.Drop())
	_, err = c.Load()
	require.ErrorIs(t, err, mirror.ErrNoCache, "there is a directory now, and no file")
}

func TestTheFileShowsWhatItIsAndNoSecret(t *testing.T) {
	c := storedCache(t)
	file := string(readFile(t, c.Path()))
	for _, shown := range []string{origin.Server, origin.CA, registryKey.Name, "cluster-uid", "uid-of-apps", "2027-03-01T11:59:00Z"} {
		assert.Contains(t, file, shown)
	}
	for _, hidden := range []string{shopValue, shopKey.Name, "version: 1", string(sealingKey)} {
		assert.NotContains(t, file, hidden)
	}
}

func TestNoFormatPrintsContents(t *testing.T) {
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		assert.NotContains(t, fmt.Sprintf(format, shop()), "uid", format)
	}
}

func TestTwoFilesOfTheSameContentsAreNotAlike(t *testing.T) {
	c := emptyCache(t)
	one, err := c.Seal(shop())
	require.NoError(t, err)
	other, err := c.Seal(shop())
	require.NoError(t, err)
	assert.NotEqual(t, one[len(one)-64:], other[len(other)-64:], "the key of a body is its own")
}
