package snapshot

import (
	"iter"
	"time"
)

// Changes says what differs from the Objects of a Builder's last success.
type Changes struct {
	// All means that nothing may be reused: the Builder never succeeded.
	All bool
	// Registry means that the Registry document is another one.
	Registry bool
	// Secrets are the referenced Secrets whose state is another one. A Builder
	// must not change the map.
	Secrets map[Key]struct{}
}

// Empty reports whether nothing changed (the build is due by time alone).
func (c Changes) Empty() bool {
	return !c.All && !c.Registry && len(c.Secrets) == 0
}

// Objects is the immutable input of one build: the Registry document, the state
// of every Secret that it references (with only the data keys that are
// referenced), and one Now for the whole build.
type Objects struct {
	// Now is the wall-clock time of the build.
	Now time.Time
	// Registry is the last good document. It is never nil; an absent Registry
	// has no Apps.
	Registry *Registry
	// Changes is relative to the last success of the Builder that is called.
	Changes Changes

	secrets secretStates
}

// NewObjects copies the map of Secrets, and keeps of each only the data keys
// that reg references. Secrets that reg does not reference are left out, and
// referenced ones that are missing count as pending.
func NewObjects(now time.Time, reg *Registry, secrets map[Key]SecretState) Objects {
	kept := newSecretStates(len(reg.references))
	for key, ref := range reg.references {
		state, ok := secrets[key]
		if !ok {
			continue
		}
		state.Secret = state.Secret.narrow(ref)
		kept.put(key, state)
	}
	return Objects{Now: now, Registry: reg, Changes: Changes{All: true}, secrets: kept}
}

// With returns Objects in which the given Secrets have another state; the
// receiver stays as it is. Keys that the Registry does not reference are left
// out.
func (o Objects) With(now time.Time, secrets map[Key]SecretState) Objects {
	next := o
	next.Now = now
	if len(secrets) == 0 {
		return next
	}
	next.secrets = o.secrets.clone()
	for key, state := range secrets {
		ref, ok := o.Registry.references[key]
		if !ok {
			continue
		}
		state.Secret = state.Secret.narrow(ref)
		next.secrets.replace(key, state, o.secrets)
	}
	return next
}

// Secrets yields the states of the referenced Secrets that the Source has answered
// for, in no order.
func (o Objects) Secrets() iter.Seq2[Key, SecretState] { return o.secrets.all() }

// Secret returns the state of a referenced Secret. One that the Source has not
// answered for is pending.
func (o Objects) Secret(key Key) SecretState {
	return o.secrets.get(key)
}
