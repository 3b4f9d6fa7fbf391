package authzbridge

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"
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
		o.Changes = snapshot.Changes{} // there may be many, and nobody asks for them
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

// of returns the version that an App is served from.
func (v *versions) of(app *snapshot.App) SecretVersion {
	ref := app.SecretRef
	return SecretVersion{
		Namespace: ref.Secret.Namespace,
		Name:      ref.Secret.Name,
		Key:       ref.DataKey,
		Status:    statusNames[v.status(app)],
		UID:       app.SecretUID,
		Version:   app.SecretVersion,
	}
}

// status is that of what an App is served from. The App says itself what that is: while
// its Builder fails the Objects are newer.
func (v *versions) status(app *snapshot.App) snapshot.SecretStatus {
	if app.SecretUID != "" || app.SecretVersion != "" {
		return snapshot.SecretPresent
	}
	if status := v.objects.Secret(app.SecretRef.Secret).Status; status != snapshot.SecretPresent {
		return status
	}
	return snapshot.SecretPending // it is there, and not in use yet
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
	upstreams, _ := snapshot.ViewAt[*snapshot.Upstreams](s, b.upstreams)
	b.summaries.mu.Lock()
	defer b.summaries.mu.Unlock()
	if b.summaries.last.generation != s.Generation() {
		b.summaries.last = summarize(s.Generation(), apps, upstreams, of)
	}
	return b.summaries.last
}

// inUse is one Secret.
type inUse struct {
	key          snapshot.Key
	status       snapshot.SecretStatus
	uid, version string
}

// summarize goes through the Apps, of which several may have one Secret. While a
// Builder fails the Registry that its View is made of is not the newest; then it is of
// no use that the Secrets are.
func summarize(generation uint64, apps *snapshot.Apps, upstreams *snapshot.Upstreams, of *versions) summary {
	all := make([]inUse, 0, apps.Len())
	for i := range apps.Len() {
		if app := apps.At(i); app.Reason != snapshot.ReasonAppInvalid {
			all = append(all, inUse{app.SecretRef.Secret, of.status(app), app.SecretUID, app.SecretVersion})
		}
	}
	slices.SortFunc(all, func(a, b inUse) int {
		if c := strings.Compare(a.key.Namespace, b.key.Namespace); c != 0 {
			return c
		}
		return strings.Compare(a.key.Name, b.key.Name)
	})
	all = slices.CompactFunc(all, func(a, b inUse) bool { return a.key == b.key })
	policy := apps.MadeOf(of.registry())
	places := policy
	if upstreams != nil {
		places = upstreams.MadeOf(of.registry())
	}
	sum := summary{generation: generation, hash: hashVersions(policy, places, all)}
	sum.secrets.Total = len(all)
	for i := range all {
		sum.secrets.count(all[i].status)
	}
	return sum
}

func (s *SecretsStatus) count(status snapshot.SecretStatus) {
	switch status {
	case snapshot.SecretPresent:
		s.Present++
	case snapshot.SecretAbsent:
		s.Absent++
	case snapshot.SecretForbidden:
		s.Forbidden++
	}
}

// hashVersions is a hash of names and versions, in order: no byte of a Secret goes
// in, so it can be shown, and nothing of this process, so replicas can be compared.
func hashVersions(policy, places snapshot.RegistryVersion, all []inUse) string {
	h := sha256.New()
	line := appendRegistry(nil, policy)
	h.Write(line)
	if places != policy {
		line = appendRegistry(appendParts(line[:0], "upstreams"), places)
		h.Write(line)
	}
	for i := range all {
		u := &all[i]
		line = appendParts(line[:0], u.key.Namespace, u.key.Name, statusNames[u.status], u.uid, u.version)
		h.Write(line)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func appendRegistry(to []byte, r snapshot.RegistryVersion) []byte {
	status := snapshot.SecretAbsent
	if r.Present {
		status = snapshot.SecretPresent
	}
	return appendParts(to, r.Key.Namespace, r.Key.Name, statusNames[status], r.UID, r.Version)
}

// appendParts writes each length in front, so that two lists never look alike.
func appendParts(to []byte, parts ...string) []byte {
	for _, part := range parts {
		to = binary.BigEndian.AppendUint64(to, uint64(len(part)))
		to = append(to, part...)
	}
	return to
}
