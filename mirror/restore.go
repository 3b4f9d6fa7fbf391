package mirror

import (
	"fmt"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

// restored is what the Cache had. The loop owns it.
type restored struct {
	contents Contents
	objects  snapshot.Objects
	asOf     time.Time // Validated, by the clock of this process, which nobody sets
}

// input returns the Objects of a build.
func (l *loop) input(now time.Time) snapshot.Objects {
	if l.live {
		return l.objects.take(now)
	}
	l.restored.objects = l.restored.objects.With(now, nil)
	return l.restored.objects
}

// absorbCluster reports whether the cluster is another one than was known.
func (l *loop) absorbCluster(id string) bool {
	if id == "" || id == l.cluster {
		return false
	}
	l.cluster = id
	return true
}

// absorbCache takes what the Cache had, and drops it when the Source turns out to
// have contact with another cluster.
func (l *loop) absorbCache(contents *Contents) {
	if l.live {
		return
	}
	if contents != nil {
		l.restore(*contents)
	}
	if l.restored == nil {
		return
	}
	if why := l.foreign(l.restored.contents); why != "" {
		l.drop(why)
	}
}

func (l *loop) restore(c Contents) {
	registry := snapshot.AbsentRegistry(l.registry)
	if c.Registry != nil {
		var err error
		if registry, err = parse(c.Registry); err != nil {
			l.refuseCache(err.Error())
			return
		}
	}
	now := time.Now()
	asOf := now.Add(-max(now.Round(0).Sub(c.Validated), 0))
	l.restored = &restored{contents: c, objects: snapshot.NewObjects(now, registry, c.Secrets), asOf: asOf}
	l.progress.serve(registry)
	l.startOver()
	message := "the source is not in sync; the cache is served, as of " + c.Validated.UTC().Format(time.RFC3339)
	l.conditions.raise(ServingFromCache, "", message)
	l.logger.Warn("serving from the cache until the source is in sync", zap.Time("as_of", c.Validated))
}

// adopt takes the Registry of the Cache for the last good one while the Source's is
// malformed, so that its Secrets are watched: one that was revoked must not stay
// open. What is served is as old as that Registry.
func (l *loop) adopt(now time.Time) {
	o := &l.objects
	if l.restored == nil || o.registry != nil || !l.malformed {
		return
	}
	o.registry, o.document, o.renewed = l.restored.objects.Registry, l.restored.contents.Registry, true
	l.adopted, l.registryAt = true, now
	l.ages.holdSince("registry", l.restored.asOf)
	l.reference(o.registry.References())
	l.progress.set(o.registry, o.pending)
}

// disown forgets a Registry that was adopted, which is somebody else's. Its Secrets
// are watched no more, so that those of the next one are told anew.
func (l *loop) disown() {
	if !l.adopted {
		return
	}
	l.objects.registry, l.objects.document = nil, nil
	l.adopted, l.registryAt = false, time.Time{}
	l.reference(nil)
	l.ages.release("registry")
}

func (l *loop) noteUID(registry *snapshot.Secret) {
	if registry != nil {
		l.registryUID = registry.UID()
	}
}

// foreign says why the Cache is of another cluster, or returns "". The address and
// the CA of the cluster are the same, or it would not have been loaded.
func (l *loop) foreign(c Contents) string {
	switch {
	case sameKind(c.Cluster, l.cluster):
		if c.Cluster != l.cluster {
			return fmt.Sprintf("it is of cluster %s, and this is cluster %s", c.Cluster, l.cluster)
		}
	case c.Registry != nil && c.Registry.UID() != "" && l.registryUID != "":
		if c.Registry.UID() != l.registryUID {
			return fmt.Sprintf("it has the registry with UID %s, and this one has %s", c.Registry.UID(), l.registryUID)
		}
	}
	return ""
}

// sameKind reports whether two names of clusters can be compared: they are what
// identifies a cluster, a slash, and a UID.
func sameKind(a, b string) bool {
	kind, _, _ := strings.Cut(a, "/")
	other, _, _ := strings.Cut(b, "/")
	return a != "" && b != "" && kind == other
}

// drop stops serving what is somebody else's, and removes it.
func (l *loop) drop(why string) {
	l.restored = nil
	l.disown()
	l.startOver()
	for _, r := range l.registrations.list() {
		r.view, r.due, r.asOf = nil, time.Time{}, time.Time{}
	}
	l.withdraw()
	l.conditions.clear(ServingFromCache, "")
	l.refuseCache(why)
	l.keeper.drop()
}

func (m *Mirror) refuseCache(why string) {
	m.conditions.raise(CacheRefused, "", "the cache is not served: "+why)
	m.logger.Error("cache refused", zap.String("reason", why))
}
