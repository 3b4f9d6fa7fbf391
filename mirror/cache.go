package mirror

import (
	"errors"
	"time"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

// Cache keeps the last good objects over a restart. Its methods are called by one
// goroutine at a time.
type Cache interface {
	// Load returns what was stored last, or ErrNoCache if nothing was. Every other
	// error says in words what is wrong, and the fix.
	Load() (Contents, error)
	// Store replaces what was stored, whole or not at all. ErrCacheLocked says that
	// another process, or another Mirror, stores here.
	Store(Contents) error
	// Drop removes what was stored.
	Drop() error
	// Close lets another one store.
	Close() error
}

// Contents is what a Cache keeps. It holds Secrets.
type Contents struct {
	// Cluster identifies the cluster that the objects are of; empty if it is not
	// known.
	Cluster string
	// Validated is as of when all of it was known to be right, by the wall clock. It
	// comes back in UTC.
	Validated time.Time
	// Registry is the Secret of the last good Registry; nil if it was absent.
	Registry *snapshot.Secret
	// Secrets are the states of the referenced Secrets, narrowed to the data keys that
	// are referenced. It is never nil when it comes back.
	Secrets map[snapshot.Key]snapshot.SecretState
}

// String says nothing of the Secrets.
func (Contents) String() string { return "contents of a cache (not shown)" }

// GoString says nothing of the Secrets.
func (c Contents) GoString() string { return c.String() }

// What a Cache returns that is no fault.
var (
	// ErrNoCache: nothing was stored.
	ErrNoCache = errors.New("nothing has been stored yet")
	// ErrCacheLocked: another process, or another Mirror, stores here.
	ErrCacheLocked = errors.New("is written by another process, or by the configuration before this one; " +
		"give each process a directory of its own")
)
