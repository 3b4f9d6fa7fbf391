package cache_test

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/mirror/cache"
)

func TestOptionsThatCannotWorkAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*cache.Options)
		words  string
	}{
		"no directory":          {func(o *cache.Options) { o.Dir = "" }, "no directory"},
		"no key":                {func(o *cache.Options) { o.Key = nil }, "has 0 bytes; give at least 32"},
		"a short key":           {func(o *cache.Options) { o.Key = bytes.Repeat([]byte("k"), 31) }, "has 31 bytes"},
		"a password in the URL": {func(o *cache.Options) { o.Origin.Server = "https://u:hidden@host" }, "has credentials"},
		"a server in no encoding": {
			func(o *cache.Options) { o.Origin.Server = "/etc/\xff" }, "server: is no valid UTF-8",
		},
		"a Registry in no encoding": {
			func(o *cache.Options) { o.Origin.Registry.Name = "\xff" }, "registry name: is no valid UTF-8",
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t.TempDir())
			test.change(&o)
			_, err := cache.New(o)
			require.ErrorContains(t, err, test.words)
			assert.NotContains(t, err.Error(), "hidden")
			assert.NotContains(t, err.Error(), "kkk")
		})
	}
}

func TestANewCacheTouchesNothing(t *testing.T) {
	c := emptyCache(t)
	assert.NoFileExists(t, c.Path())
	require.NoError(t, c.Close())
	assert.NoFileExists(t, c.Path())
}

func TestTheKeyIsCopied(t *testing.T) {
	o := options(t.TempDir() + "/cache")
	o.Key = bytes.Clone(o.Key)
	c := newCache(t, o)
	clear(o.Key)
	require.NoError(t, c.Store(shop()))
	_, err := newCache(t, options(o.Dir)).Load()
	require.NoError(t, err)
}

func TestAClosedCacheDoesNothing(t *testing.T) {
	c := storedCache(t)
	require.NoError(t, c.Close())
	require.NoError(t, c.Close(), "a second time is fine")
	_, err := c.Load()
	require.ErrorIs(t, err, os.ErrClosed)
	require.ErrorIs(t, c.Store(shop()), os.ErrClosed)
	require.ErrorIs(t, c.Drop(), os.ErrClosed)
	assert.FileExists(t, c.Path())
}

func TestContentsThatWouldBeRefusedAreNotStored(t *testing.T) {
	changed := func(change func(*mirror.Contents)) mirror.Contents {
		contents := shop()
		change(&contents)
		return contents
	}
	for name, test := range map[string]struct {
		contents mirror.Contents
		words    string
	}{
		"no time":              {changed(func(c *mirror.Contents) { c.Validated = time.Time{} }), "validated: is zero"},
		"a time ahead":         {changed(func(c *mirror.Contents) { c.Validated = noon.Add(2 * time.Minute) }), "ahead of this machine's clock"},
		"a UID in no encoding": {changed(func(c *mirror.Contents) { c.Cluster = "\xff" }), "cluster: is no valid UTF-8"},
		"a UID without end":    {changed(func(c *mirror.Contents) { c.Cluster = strings.Repeat("c", 70_000) }), "header: has 70"},
		"more than is read":    {town(1), "more than the 65536 that are read"},
		"a file too large":     {changed(func(c *mirror.Contents) { c.Registry = secret(registryKey, noise(8_000)) }), "more than the 4096"},
	} {
		t.Run(name, func(t *testing.T) {
			c := emptyCache(t)
			require.NoError(t, c.Store(shop()))
			before := readFile(t, c.Path())
			c.LimitTo(4096, 64<<10)
			requireRefused(t, c.Store(test.contents), test.words)
			assert.Equal(t, before, readFile(t, c.Path()), "what was there stays")
		})
	}
}
