package mirror_test

import (
	"bytes"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/mirror/cache"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

// startupTimeout is how long the Source has in these tests before the Cache is
// served.
const startupTimeout = 15 * time.Second

// disk is the directory of a Cache, which outlives Mirrors.
type disk struct {
	t   *testing.T
	dir string
}

func newDisk(t *testing.T) *disk {
	t.Helper()
	return &disk{t: t, dir: filepath.Join(t.TempDir(), "cache")}
}

func (d *disk) file() string { return filepath.Join(d.dir, "objects.sealed") }

// cache makes a Cache of the directory.
func (d *disk) cache(changes ...func(*cache.Options)) *cache.Cache {
	d.t.Helper()
	o := cache.Options{
		Dir:    d.dir,
		Key:    bytes.Repeat([]byte("k"), 32),
		Origin: cache.Origin{Server: "https://10.0.0.1:6443", CA: "c0ffee", Registry: registryKey},
	}
	for _, change := range changes {
		change(&o)
	}
	c, err := cache.New(o)
	require.NoError(d.t, err)
	d.t.Cleanup(func() { assert.NoError(d.t, c.Close()) })
	return c
}

// has puts Contents into the directory, as an earlier process did.
func (d *disk) has(c mirror.Contents, changes ...func(*cache.Options)) {
	d.t.Helper()
	earlier := d.cache(changes...)
	require.NoError(d.t, earlier.Store(c))
	require.NoError(d.t, earlier.Close())
}

// load returns what is stored.
func (d *disk) load() mirror.Contents {
	d.t.Helper()
	c, err := d.cache().Load()
	require.NoError(d.t, err)
	return c
}

// shopAndBlog is what an earlier process knew, an hour ago.
func shopAndBlog() mirror.Contents {
	return contents(registry("1", app("shop"), app("blog")), "shop", "blog")
}

// contents are of an hour ago.
func contents(registry *snapshot.Secret, names ...string) mirror.Contents {
	c := mirror.Contents{
		Validated: time.Now().Add(-time.Hour).UTC(),
		Registry:  registry,
		Secrets:   make(map[snapshot.Key]snapshot.SecretState, len(names)),
	}
	for _, name := range names {
		c.Secrets[key(name)] = token(name, "1")
	}
	return c
}

// kept gives a Mirror a Cache.
func kept(c mirror.Cache) option {
	return func(o *mirror.Options) { o.Cache, o.StartupTimeout = c, startupTimeout }
}

func atOnce(o *mirror.Options) { o.StartupTimeout = 0 }

// inRestart runs a test with a Mirror that is started after another process had
// stored what is given.
func inRestart(t *testing.T, stored func() mirror.Contents, test func(*testing.T, *world, *disk), options ...option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := newDisk(t)
		d.has(stored())
		w := newWorld(t, append([]option{kept(d.cache())}, options...)...)
		w.start()
		test(t, w, d)
	})
}

// fromCache lets the time pass after which the Cache is served.
func (w *world) fromCache() {
	w.t.Helper()
	pass(startupTimeout)
	require.Equal(w.t, snapshot.FromCache, w.mirror.Status().State)
}

// assertNothingServed asks that the Cache is not served and that the words say why.
func (w *world) assertNothingServed(why string) {
	w.t.Helper()
	assert.Nil(w.t, w.mirror.Current())
	assert.Equal(w.t, "unsynced", w.reason("shop"))
	_, raised := w.condition(mirror.ServingFromCache, "")
	assert.False(w.t, raised)
	c, raised := w.condition(mirror.CacheRefused, "")
	require.True(w.t, raised)
	assert.Contains(w.t, c.Message, "the cache is not served: ")
	assert.Contains(w.t, c.Message, why)
	ready, reasons := w.mirror.Ready()
	assert.False(w.t, ready)
	assert.Contains(w.t, reasons, c.Message)
	w.assertNotLogged("bytes of")
}

// watched is a Cache that remembers how it was called, and that fails or hangs as the
// test says.
type watched struct {
	mirror.Cache
	stores record[mirror.Contents]
	at     record[time.Time] // of the stores, failed ones included
	calls  record[string]

	mu   sync.Mutex // guards the fields below
	err  error
	hang chan struct{}
}

func (c *watched) Load() (mirror.Contents, error) {
	if err := c.enter("load"); err != nil {
		return mirror.Contents{}, err
	}
	return c.Cache.Load()
}

func (c *watched) Store(contents mirror.Contents) error {
	c.at.add(time.Now())
	if err := c.enter("store"); err != nil {
		return err
	}
	if err := c.Cache.Store(contents); err != nil {
		return err
	}
	c.stores.add(contents)
	return nil
}

func (c *watched) Drop() error {
	if err := c.enter("drop"); err != nil {
		return err
	}
	return c.Cache.Drop()
}

func (c *watched) Close() error {
	c.calls.add("close")
	return c.Cache.Close()
}

func (c *watched) enter(call string) error {
	c.calls.add(call)
	c.mu.Lock()
	err, hang := c.err, c.hang
	c.mu.Unlock()
	if hang != nil {
		<-hang
	}
	return err
}

// fails makes every call from now on return an error; nil ends that.
func (c *watched) fails(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
}

// hangs makes every call from now on wait until the channel is closed.
func (c *watched) hangs(until chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hang = until
}
