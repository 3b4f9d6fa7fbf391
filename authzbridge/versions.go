package authzbridge

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"maps"
	"slices"
	"sync"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

// SecretVersion says which version of a Secret an App is served from.
type SecretVersion struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Key is the data key that the App names; absent for any.
	Key string `json:"key,omitempty"`
	// Status is present, absent, forbidden or pending.
	Status string `json:"status"`
	// UID and Version are the metadata.uid and metadata.resourceVersion of what is in
	// use; absent while there is nothing.
	UID     string `json:"uid,omitempty"`
	Version string `json:"version,omitempty"`
}

var statusNames = [...]string{
	snapshot.SecretPending:   "pending",
	snapshot.SecretPresent:   "present",
	snapshot.SecretAbsent:    "absent",
	snapshot.SecretForbidden: "forbidden",
}

// versions is the View of what a Snapshot was built from. It costs a build nothing:
// it is the Objects themselves, and nobody looks into them before somebody asks.
type versions struct{ objects snapshot.Objects }

type versionsBuilder struct{ last *versions }

// Name implements snapshot.Builder.
func (*versionsBuilder) Name() string { return "versions" }

// Build implements snapshot.Builder.
func (b *versionsBuilder) Build(o snapshot.Objects) (any, error) {
	if b.last == nil || !o.Changes.Empty() {
		b.last = &versions{o}
	}
	return b.last, nil
}

// registry returns the document that a Snapshot was built from, nil for none.
func (v *versions) registry() *snapshot.Registry {
	if v == nil {
		return nil
	}
	return v.objects.Registry
}

// of returns the version that an App is served from. The App says it itself: while
// its Builder fails the Objects are newer than what is served.
func (v *versions) of(app *snapshot.App) SecretVersion {
	ref := app.SecretRef
	out := SecretVersion{Namespace: ref.Secret.Namespace, Name: ref.Secret.Name, Key: ref.DataKey, UID: app.SecretUID, Version: app.SecretVersion}
	status := v.objects.Secret(ref.Secret).Status
	switch {
	case out.UID != "" || out.Version != "":
		status = snapshot.SecretPresent
	case status == snapshot.SecretPresent:
		status = snapshot.SecretPending // it is there, and not in use yet
	}
	out.Status = statusNames[status]
	return out
}

// summary is what all versions of a Snapshot come to.
type summary struct {
	generation uint64
	hash       string
	secrets    SecretsStatus
}

// summaries keeps the summary that was asked for last: one of 100,000 Secrets takes
// a tenth of a second, so it is made when somebody asks, and once.
type summaries struct {
	mu   sync.Mutex // held while a summary is made: others wait for it
	last summary
}

// summary returns that of a Snapshot, the zero summary while nothing is served.
func (b *bridge) summary(s *snapshot.Snapshot) summary {
	apps, ok := snapshot.ViewAt[*snapshot.Apps](s, b.decider.Apps)
	of, known := snapshot.ViewAt[*versions](s, b.versioned)
	if !ok || !known {
		return summary{}
	}
	b.summaries.mu.Lock()
	defer b.summaries.mu.Unlock()
	if b.summaries.last.generation != s.Generation() {
		b.summaries.last = summarize(s.Generation(), apps, of)
	}
	return b.summaries.last
}

// summarize goes through the Apps, of which several may have one Secret.
func summarize(generation uint64, apps *snapshot.Apps, of *versions) summary {
	all := make(map[snapshot.Key]SecretVersion)
	for i := range apps.Len() {
		if app := apps.At(i); app.Reason != snapshot.ReasonAppInvalid {
			all[app.SecretRef.Secret] = of.of(app)
		}
	}
	sum := summary{generation: generation, hash: hashVersions(of.registry(), all)}
	sum.secrets.Total = len(all)
	for _, v := range all {
		sum.secrets.count(v.Status)
	}
	return sum
}

func (s *SecretsStatus) count(status string) {
	switch status {
	case statusNames[snapshot.SecretPresent]:
		s.Present++
	case statusNames[snapshot.SecretAbsent]:
		s.Absent++
	case statusNames[snapshot.SecretForbidden]:
		s.Forbidden++
	}
}

// hashVersions is a hash of names and versions, in order: no byte of a Secret goes
// in, so it can be shown, and nothing of this process, so replicas can be compared.
func hashVersions(registry *snapshot.Registry, all map[snapshot.Key]SecretVersion) string {
	h := sha256.New()
	key := registry.Key()
	put(h, key.Namespace, key.Name, statusNames[statusOf(registry)], registry.UID(), registry.Version())
	keys := slices.SortedFunc(maps.Keys(all), func(a, b snapshot.Key) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for _, k := range keys {
		v := all[k]
		put(h, v.Namespace, v.Name, v.Status, v.UID, v.Version)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func statusOf(registry *snapshot.Registry) snapshot.SecretStatus {
	if registry.Present() {
		return snapshot.SecretPresent
	}
	return snapshot.SecretAbsent
}

// put writes each length in front, so that two lists never look alike.
func put(h hash.Hash, parts ...string) {
	var size [8]byte
	for _, part := range parts {
		binary.BigEndian.PutUint64(size[:], uint64(len(part)))
		h.Write(size[:])
		h.Write([]byte(part))
	}
}
