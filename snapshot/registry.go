package snapshot

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"
)

// Registry is the document that lists Apps, parsed. It is immutable.
type Registry struct {
	key        Key
	present    bool
	uid        string
	version    string
	entries    []*Entry
	references map[Key]Reference
}

// Entry is one App as the document describes it.
type Entry struct {
	// Name is the App's name, or "apps[N]" where the entry has no valid one; no
	// valid name looks like that.
	Name string
	// Hostnames are normalized and without repeats; a wildcard starts with "*.".
	// An entry that is wrong keeps those that could be read.
	Hostnames []string
	// SecretRef names the App's bytes. It is zero where Err is set.
	SecretRef SecretRef
	// ExpiresAt is when the App is denied from; zero means never.
	ExpiresAt time.Time
	// AllowCIDRs are the addresses that the App is open to; none means all.
	AllowCIDRs []netip.Prefix
	// Policy is what the App asks of its callers. It is never nil; of an entry that is
	// wrong it is what could be read.
	*Policy
	// Err says why the entry is wrong, with the field and the fix; nil if it is
	// not.
	Err error
	// Warnings are oddities that deny nothing.
	Warnings []string

	upstreams rawText // as it is written: whatever is wrong with it is not wrong with the entry
}

// SecretRef points at the bytes of one App.
type SecretRef struct {
	// Secret is the Secret's namespace and name.
	Secret Key `json:"secret"`
	// DataKey is the key in the Secret's data; empty means any.
	DataKey string `json:"key,omitempty"`
}

// MalformedError says why a Registry document cannot be read at all. What was
// read before stays in use.
type MalformedError struct {
	// Registry is the Secret that holds the document.
	Registry Key
	// Version is the resourceVersion of that Secret.
	Version string
	// Err is what is wrong.
	Err error
}

// Error names the Secret, its version and what is wrong.
func (e *MalformedError) Error() string {
	return fmt.Sprintf("registry %s (version %s) is malformed: %v", e.Registry, e.Version, e.Err)
}

// Unwrap returns what is wrong.
func (e *MalformedError) Unwrap() error { return e.Err }

// AbsentRegistry is a Registry whose Secret is not there: valid, and without
// Apps.
func AbsentRegistry(key Key) *Registry {
	return &Registry{key: key}
}

// ParseRegistry reads the document in a Registry Secret. A Secret without data
// is valid and has no Apps. An error is a *MalformedError; an entry that is
// wrong is none, it says so in its Err.
func ParseRegistry(secret *Secret) (*Registry, error) {
	reg := &Registry{key: secret.Key(), present: true, uid: secret.UID(), version: secret.Version()}
	if secret.Len() == 0 {
		return reg, nil
	}
	entries, err := readDocument(secret)
	if err != nil {
		return nil, &MalformedError{Registry: reg.key, Version: reg.version, Err: err}
	}
	reg.entries = entries
	refuseRepeatedNames(reg.entries)
	reg.references = collectReferences(reg.entries)
	return reg, nil
}

// Key returns the Secret's namespace and name.
func (r *Registry) Key() Key { return r.key }

// Present reports whether the Secret is there.
func (r *Registry) Present() bool { return r.present }

// UID returns the Secret's UID, empty when it is absent.
func (r *Registry) UID() string { return r.uid }

// Version returns the Secret's resourceVersion, empty when it is absent.
func (r *Registry) Version() string { return r.version }

// Entries returns the Apps in the order of the document. Neither the slice nor what it
// points to must be changed.
func (r *Registry) Entries() []*Entry { return r.entries }

// References returns the Secrets that the entries refer to, and which of their
// data keys. The map must not be changed.
func (r *Registry) References() map[Key]Reference { return r.references }

// Share returns a Registry that is equal to r, in which what is equal to something in last
// is that: an entry at the same place, and a Policy. So Apps which stay the same keep
// nothing of an older document beside it, and those that change still share what most
// are written alike. last may be nil.
func (r *Registry) Share(last *Registry) *Registry {
	if last == nil {
		return r
	}
	next := *r
	next.entries = slices.Clone(r.entries)
	known := newKnownPolicies(last)
	for i, e := range next.entries {
		if i < len(last.entries) && last.entries[i].equal(e) {
			next.entries[i] = last.entries[i]
			continue
		}
		if p := known.find(e.Policy); p != e.Policy {
			shared := *e
			shared.Policy = p
			next.entries[i] = &shared
		}
	}
	return &next
}

// refuseRepeatedNames makes every entry of a repeated name wrong: nobody could
// say which one is meant.
func refuseRepeatedNames(entries []*Entry) {
	first := make(map[string]*Entry, len(entries))
	for _, e := range entries {
		other, seen := first[e.Name]
		if !seen {
			first[e.Name] = e
			continue
		}
		for _, repeated := range []*Entry{other, e} {
			repeated.refuse(errors.New("name: more than one App has this name; rename all but one"))
		}
	}
}

// equal reports whether nobody could tell two entries apart.
func (e *Entry) equal(other *Entry) bool {
	return e == other ||
		e.Name == other.Name && slices.Equal(e.Hostnames, other.Hostnames) && e.SecretRef == other.SecretRef &&
			e.ExpiresAt.Equal(other.ExpiresAt) && e.upstreams == other.upstreams && slices.Equal(e.AllowCIDRs, other.AllowCIDRs) &&
			e.Policy.equal(other.Policy) && errorText(e.Err) == errorText(other.Err) && slices.Equal(e.Warnings, other.Warnings)
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// refuse marks an entry as wrong; the first reason stays.
func (e *Entry) refuse(err error) {
	if e.Err == nil {
		e.Err = err
	}
	e.SecretRef = SecretRef{}
}
