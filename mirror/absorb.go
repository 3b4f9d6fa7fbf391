package mirror

import (
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

// objects is what the loop knows. Only the loop touches it.
type objects struct {
	registry *snapshot.Registry // the last good one; nil before the first
	document *snapshot.Secret   // what registry was read from; nil if absent
	secrets  map[snapshot.Key]snapshot.SecretState
	pending  int // referenced Secrets without an answer

	built   snapshot.Objects // of the last build
	changed map[snapshot.Key]snapshot.SecretState
	renewed bool // the Registry is another one than in built
}

func newObjects() objects {
	return objects{
		secrets: make(map[snapshot.Key]snapshot.SecretState),
		changed: make(map[snapshot.Key]snapshot.SecretState),
	}
}

// absorb takes the news in, and notes for every Builder what changed.
func (l *loop) absorb(n news, now time.Time) {
	o := &l.objects
	asked := o.references()
	registry := n.registrySet && l.absorbRegistry(n.registry, now)
	refs := o.references()
	changed := o.absorbSecrets(n.secrets, asked, refs)
	if registry {
		addAnew(changed, asked, refs)
	}
	if (registry || len(changed) > 0) && l.restored == nil {
		for _, r := range l.registrations.list() {
			r.note(registry, refs, changed)
		}
	}
	l.progress.set(o.registry, o.pending)
}

// references is what the Source has been asked for.
func (o *objects) references() map[snapshot.Key]snapshot.Reference {
	if o.registry == nil {
		return nil
	}
	return o.registry.References()
}

// absorbRegistry reports whether there is another Registry than before. One that
// is malformed changes nothing but the conditions.
func (l *loop) absorbRegistry(secret *snapshot.Secret, now time.Time) bool {
	o := &l.objects
	l.noteUID(secret)
	next, err := l.readRegistry(secret)
	l.malformed = err != nil
	if err != nil {
		l.ages.hold("registry", now)
		if l.conditions.raise(RegistryMalformed, "", err.Error()) {
			l.logger.Error("registry malformed; the last good one stays in use",
				zap.Stringer("registry", l.registry), zap.Error(err))
		}
		return false
	}
	l.ages.release("registry")
	l.adopted = false
	if l.conditions.clear(RegistryMalformed, "") {
		l.logger.Info("registry readable again", zap.Stringer("registry", l.registry))
	}
	if next == o.registry {
		return false
	}
	if o.registry == nil {
		l.registryAt = now
	}
	o.registry, o.document, o.renewed = next, secret, true
	l.reference(next.References())
	return true
}

// readRegistry returns the Registry in use for the very Secret that it was read
// from. The version alone would not tell: after a restore of the cluster another
// document may get the same one.
func (l *loop) readRegistry(secret *snapshot.Secret) (*snapshot.Registry, error) {
	l.noteAbsence(secret == nil)
	o := &l.objects
	switch {
	case o.registry != nil && secret.Equal(o.document):
		return o.registry, nil
	case secret == nil:
		return snapshot.AbsentRegistry(l.registry), nil
	}
	next, err := parse(secret)
	if err != nil {
		return nil, err
	}
	return next.Share(l.lastRegistry()), nil
}

// lastRegistry is what the last builds saw, or nil.
func (l *loop) lastRegistry() *snapshot.Registry {
	if l.objects.registry == nil && l.restored != nil {
		return l.restored.objects.Registry
	}
	return l.objects.registry
}

// parse keeps a document that no parser expected from ending the process.
func parse(secret *snapshot.Secret) (registry *snapshot.Registry, err error) {
	defer func() {
		if p := recover(); p != nil {
			// A panic's value may quote the document, which is secret.
			registry, err = nil, &snapshot.MalformedError{
				Registry: secret.Key(),
				Version:  secret.Version(),
				Err:      fmt.Errorf("cannot be decoded (%T)", p),
			}
		}
	}()
	return snapshot.ParseRegistry(secret)
}

func (l *loop) noteAbsence(absent bool) {
	if !absent {
		l.conditions.clear(RegistryAbsent, "")
		return
	}
	if l.conditions.raise(RegistryAbsent, "", "registry "+l.registry.String()+" does not exist; every hostname is unknown") {
		l.logger.Warn("registry absent; every hostname is unknown", zap.Stringer("registry", l.registry))
	}
}

// reference derives anew what is watched, and forgets what is not any more.
func (l *loop) reference(refs map[snapshot.Key]snapshot.Reference) {
	o := &l.objects
	for key := range o.secrets {
		if !has(refs, key) {
			delete(o.secrets, key)
		}
	}
	o.pending = len(refs) - len(o.secrets)
	l.source.Reference(refs)
}

// absorbSecrets returns the keys of the Secrets whose state is another one. What
// came in before the Source was asked for a Secret is ignored: it may be from
// an earlier time in which the Secret was watched, and nobody watched since.
func (o *objects) absorbSecrets(states map[snapshot.Key]snapshot.SecretState, asked, refs map[snapshot.Key]snapshot.Reference) map[snapshot.Key]struct{} {
	changed := make(map[snapshot.Key]struct{}, len(states))
	for key, state := range states {
		if !has(asked, key) || !has(refs, key) || state.Status == snapshot.SecretPending {
			continue
		}
		old, known := o.secrets[key]
		if known && old.Equal(state) {
			continue
		}
		if !known {
			o.pending--
		}
		o.secrets[key], o.changed[key] = state, state
		changed[key] = struct{}{}
	}
	return changed
}

func has(refs map[snapshot.Key]snapshot.Reference, key snapshot.Key) bool {
	_, ok := refs[key]
	return ok
}

// addAnew adds the Secrets that another Registry shows in another way: those
// that it refers to and the one before did not, and those of which it refers to
// other data keys.
func addAnew(changed map[snapshot.Key]struct{}, before, refs map[snapshot.Key]snapshot.Reference) {
	for key, ref := range refs {
		old, ok := before[key]
		if !ok || old.All != ref.All || !slices.Equal(old.Keys, ref.Keys) {
			changed[key] = struct{}{}
		}
	}
}

// take returns the Objects of a build.
func (o *objects) take(now time.Time) snapshot.Objects {
	if o.renewed {
		o.built = snapshot.NewObjects(now, o.registry, o.secrets)
	} else {
		o.built = o.built.With(now, o.changed)
	}
	o.renewed = false
	clear(o.changed)
	return o.built
}
