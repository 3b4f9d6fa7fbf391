package authzbridge

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/authz-bridge/authz-bridge/mirror/cache"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

// Cache keeps what was read last in a sealed file, so that a process which starts
// while the source is out of reach serves that.
type Cache struct {
	// The directory of the file. It is made if it is missing, and must be this
	// process's alone. Required. Placeholders are resolved once.
	Dir string `json:"dir,omitempty"`

	// What the file is sealed with, as a placeholder such as
	// `{env.AUTHZ_BRIDGE_CACHE_KEY}`: 32 characters at least. Default: key_file.
	Key string `json:"key,omitempty"`

	// The path of a file with the key, in place of key. White space around the key
	// does not count. Default: key.
	KeyFile string `json:"key_file,omitempty"`

	// The shortest time between two writes. Default: `30s`.
	PersistInterval caddy.Duration `json:"persist_interval,omitempty"`

	dir string
	key []byte
}

const leastPersistInterval = time.Second

// placeholder is a value that is nothing but a placeholder: what is written out
// would show in the configuration that the admin API answers with.
var placeholder = regexp.MustCompile(`^\{[^{}]+\}$`)

// provision resolves the options. It reads the key, and not the file.
func (c *Cache) provision() error {
	dir, err := resolve("cache", c.Dir)
	if err != nil {
		return err
	}
	if dir == "" {
		return errors.New("cache: no directory; write `cache <dir>`")
	}
	if c.dir, err = filepath.Abs(dir); err != nil {
		return fmt.Errorf("cache: %w", err)
	}
	if c.PersistInterval != 0 && time.Duration(c.PersistInterval) < leastPersistInterval {
		return fmt.Errorf("persist_interval: %v is too short; use %v at least", time.Duration(c.PersistInterval), leastPersistInterval)
	}
	c.key, err = c.readKey()
	return err
}

func (c *Cache) readKey() ([]byte, error) {
	switch {
	case c.Key == "" && c.KeyFile == "":
		return nil, errors.New("cache: no key; write `key {env.<NAME>}` or `key_file <path>`, since the file holds Secrets")
	case c.Key != "" && c.KeyFile != "":
		return nil, errors.New("cache: key and key_file are both given; keep one")
	case c.KeyFile != "":
		return c.readKeyFile()
	case !placeholder.MatchString(c.Key):
		return nil, errors.New("key: a key that is written here shows in the configuration; write `key {env.<NAME>}` or `key_file <path>`")
	}
	key, err := resolve("key", c.Key)
	if err != nil {
		return nil, err
	}
	return checkKey("key", []byte(key))
}

func (c *Cache) readKeyFile() ([]byte, error) {
	path, err := resolve("key_file", c.KeyFile)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("key_file: %w; name a file that this process can read", err)
	}
	return checkKey("key_file", bytes.TrimSpace(text))
}

func checkKey(option string, key []byte) ([]byte, error) {
	if len(key) < cache.MinKey {
		return nil, fmt.Errorf("%s: the key has %d characters; use %d at least, as from `openssl rand -hex 32`", option, len(key), cache.MinKey)
	}
	return key, nil
}

// fingerprint is all that makes this Cache another one.
func (c *Cache) fingerprint() []any {
	if c == nil {
		return nil
	}
	return []any{c.dir, c.key, c.PersistInterval}
}

// open makes the Cache without touching the disk.
func (c *Cache) open(registry snapshot.Key, origin Origin) (*cache.Cache, error) {
	return cache.New(cache.Options{
		Dir: c.dir,
		Key: c.key,
		Origin: cache.Origin{
			Server:   origin.Server,
			CA:       origin.CA,
			Registry: registry,
		},
	})
}
