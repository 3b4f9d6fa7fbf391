package files

import (
	"context"
	"time"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

// Reading is what a directory says at one moment.
type Reading struct {
	// Secrets are the states of the Secrets that were asked for. One that is left out
	// is pending: some file could not be read that may define it.
	Secrets map[snapshot.Key]snapshot.SecretState
	// Places say where a Secret is defined once, as "file:line" or as a directory, seen
	// from the directory.
	Places map[snapshot.Key]string
	// Failures say what is wrong, by what a Source watches.
	Failures map[string]mirror.Failure
}

// Read reads the directory once, as a Source does that starts: what is being written
// is waited for, until ctx is done.
func Read(ctx context.Context, o Options, refs map[snapshot.Key]snapshot.Reference) (Reading, error) {
	s, err := New(o)
	if err != nil {
		return Reading{}, err
	}
	s.Reference(refs)
	l := newLooker(s, deaf{})
	for l.look(time.Now()) {
		select {
		case <-ctx.Done():
			return Reading{}, ctx.Err()
		case <-time.After(settleTime):
		}
	}
	return l.reading(), nil
}

func (l *looker) reading() Reading {
	r := Reading{
		Secrets:  make(map[snapshot.Key]snapshot.SecretState, len(l.refs)),
		Places:   make(map[snapshot.Key]string),
		Failures: l.failing(),
	}
	for key := range l.refs {
		if state := l.resolve(key); state.Status != snapshot.SecretPending {
			r.Secrets[key] = state
		}
		switch defined := l.index[key]; {
		case len(defined) == 1:
			r.Places[key] = defined[0].String()
		case len(defined) == 0 && l.trees[key] != nil && l.trees[key].finding.secret != nil:
			r.Places[key] = key.String()
		}
	}
	return r
}

// deaf is the Sink of somebody who asks afterwards.
type deaf struct{}

func (deaf) Registry(*snapshot.Secret)                     {}
func (deaf) Secrets(map[snapshot.Key]snapshot.SecretState) {}
func (deaf) Fresh(mirror.Freshness)                        {}
func (deaf) Cluster(string)                                {}
func (deaf) Failed(string, mirror.Failure)                 {}
func (deaf) Recovered(string)                              {}
func (deaf) Resynced(string)                               {}

// Defined is a Secret as a manifest defines it.
type Defined struct {
	Key snapshot.Key
	// Line is where its document begins, from 1.
	Line int
	// Secret is nil where Refusal, which says why it cannot be used, is not empty.
	Secret  *snapshot.Secret
	Refusal string
}

// ReadManifest returns the Secrets that the text of a manifest defines, in order. The
// extension of its name says whether it is JSON. registry is the Secret that may be
// large, and whose namespace is the default. An error says where nobody can tell what
// is defined; it quotes no value.
func ReadManifest(name string, text []byte, registry snapshot.Key) ([]Defined, error) {
	d := decoder{registry: registry, wanted: func(snapshot.Key) bool { return true }, seal: newSeal()}
	found, _, err := d.decode(name, text)
	if err != nil {
		return nil, err
	}
	all := make([]Defined, len(found))
	for i, def := range found {
		all[i] = Defined{Key: def.key, Line: def.line, Secret: def.secret, Refusal: def.refusal}
	}
	return all, nil
}
