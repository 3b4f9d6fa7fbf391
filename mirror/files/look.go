package files

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

// maxNames bounds the names of files and places in one line.
const maxNames = 20

// looker is what Run knows. Only its goroutine touches it.
type looker struct {
	*Source
	sink mirror.Sink
	seal seal

	refs    map[snapshot.Key]snapshot.Reference
	version uint64 // of refs

	manifests map[string]*manifest
	trees     map[snapshot.Key]*tree
	index     map[snapshot.Key][]place // what the manifests define
	blind     *mirror.Failure          // why the directory cannot be read; nil if it can
	stale     bool                     // something changed that the Sink has not been told of

	contact, asOf time.Time

	registryTold bool
	registryLast *snapshot.Secret
	failures     failures
}

func newLooker(s *Source, sink mirror.Sink) *looker {
	return &looker{
		Source:    s,
		sink:      sink,
		seal:      newSeal(),
		manifests: make(map[string]*manifest),
		trees:     make(map[snapshot.Key]*tree),
		stale:     true,
	}
}

// look goes through the directory once and tells the Sink what differs. It
// reports whether something has not settled, so that another look is due soon.
func (l *looker) look(now time.Time) (again bool) {
	l.rereference()
	again, err := l.readDirectory(now)
	l.setBlind(err)
	if l.stale {
		l.stale = false
		l.index = l.newIndex()
		l.tellRegistry()
		l.tellSecrets()
	}
	failing := l.failing()
	l.failures.tell(l.sink, now, failing)
	l.tellFresh(now, failing, again)
	return again
}

// tellFresh tells of a look that has seen everything that is wanted as it is now. A
// file that cannot be read keeps what it defined, so that is as old as it is; a
// stray one that defined nothing of the kind makes nothing old.
func (l *looker) tellFresh(now time.Time, failing map[string]mirror.Failure, again bool) {
	if l.blind != nil {
		return
	}
	l.contact = now
	oldest := l.kept()
	if _, wrong := failing[watchRegistry]; wrong {
		oldest = watchRegistry
	}
	if oldest == "" {
		oldest = watchDirectory
		if !again {
			l.asOf = now
		}
	}
	l.sink.Fresh(mirror.Freshness{Contact: l.contact, AsOf: l.asOf, Oldest: oldest})
}

// kept names the first watch of something wanted that could not be read, so that what
// was read before is in use; "" for none.
func (l *looker) kept() string {
	var titles []string
	for key, t := range l.trees {
		if t.failure != nil {
			titles = append(titles, titleOfTree(key))
		}
	}
	for _, m := range l.manifests {
		if m.failure() != nil && slices.ContainsFunc(m.defined, func(d *definition) bool { return l.isWanted(d.key) }) {
			titles = append(titles, m.title())
		}
	}
	if len(titles) == 0 {
		return ""
	}
	return slices.Min(titles)
}

func titleOfTree(key snapshot.Key) string { return "secret " + key.String() }

// rereference takes over another set of referenced Secrets.
func (l *looker) rereference() {
	refs, version := l.wanted.list()
	if version == l.version {
		return
	}
	l.refs, l.version, l.stale = refs, version, true
	for _, m := range l.manifests {
		m.rereference(l.isWanted)
	}
	for key := range l.trees {
		if !l.isWanted(key) {
			delete(l.trees, key)
		}
	}
}

func (l *looker) isWanted(key snapshot.Key) bool {
	_, ok := l.refs[key]
	return ok || key == l.registry
}

// readDirectory opens the directory anew each time, so one that was replaced is
// noticed. An error means that nothing could be read; what was read before
// stays.
func (l *looker) readDirectory(now time.Time) (again bool, err error) {
	root, err := os.OpenRoot(onlyDirectory(l.dir))
	if err != nil {
		return false, err
	}
	defer root.Close()
	top, err := openDirectory(root, ".", nil)
	if err != nil {
		return false, err
	}
	entries, err := top.list(maxTopEntries)
	switch {
	case errors.Is(err, errMoved):
		return true, nil
	case err != nil:
		return false, err
	}
	a := l.readManifests(root, entries, now)
	b := l.readTrees(top, now)
	return a || b, nil
}

func (l *looker) setBlind(err error) {
	l.stale = l.stale || (err != nil) != (l.blind != nil)
	l.blind = nil
	if err != nil {
		l.blind = newFailure(err, fmt.Sprintf("%s: %s; what was read before stays in use", l.shown, reason(err)))
	}
}

func (l *looker) readManifests(root *os.Root, entries []entry, now time.Time) (again bool) {
	there := make(map[string]struct{}, len(entries))
	d := decoder{registry: l.registry, wanted: l.isWanted, seal: l.seal}
	for _, e := range entries {
		if !isManifest(e.name) {
			continue
		}
		there[e.name] = struct{}{}
		m := l.manifests[e.name]
		if m == nil {
			m = &manifest{name: e.name}
			l.manifests[e.name] = m
		}
		again = l.absorbManifest(m, m.look(root, e, d, now)) || again
	}
	for name, m := range l.manifests {
		if _, ok := there[name]; !ok {
			again = l.absorbManifest(m, m.lookMissing(now)) || again
		}
	}
	return again
}

func (l *looker) absorbManifest(m *manifest, seen sight) (again bool) {
	if seen == gone {
		delete(l.manifests, m.name)
	}
	if i := m.takeIgnored(); i.count > 0 {
		l.logger.Warn("manifest of another kind ignored; only Secrets are read",
			zap.String("file", m.name), zap.Int("line", i.line), zap.String("kind", i.kind), zap.Int("count", i.count))
	}
	l.stale = l.stale || seen == changed || seen == gone
	return seen == unsettled
}

// readTrees looks only where a wanted Secret would be, so a path is made of
// valid names alone, and what nobody refers to costs nothing.
func (l *looker) readTrees(top directory, now time.Time) (again bool) {
	namespaces := make(map[string]lookup)
	for key := range l.refs {
		again = l.readTree(top, namespaces, key, now) || again
	}
	return l.readTree(top, namespaces, l.registry, now) || again
}

func (l *looker) readTree(top directory, namespaces map[string]lookup, key snapshot.Key, now time.Time) (again bool) {
	ns, ok := namespaces[key.Namespace]
	if !ok {
		ns = top.child(key.Namespace)
		namespaces[key.Namespace] = ns
	}
	t := l.trees[key]
	if t == nil {
		t = &tree{key: key, most: maxTree, seal: l.seal}
		if key == l.registry {
			t.most = snapshot.MaxDocument
		}
		l.trees[key] = t
	}
	seen := t.look(ns, now)
	if names := t.takeIgnored(); len(names) > 0 {
		l.logger.Warn("files ignored; their names are no keys of a Secret",
			zap.Stringer("secret", key), zap.Strings("files", names[:min(len(names), maxNames)]), zap.Int("count", len(names)))
	}
	l.stale = l.stale || seen == changed
	return seen == unsettled
}

// failing returns what is wrong now, by watch.
func (l *looker) failing() map[string]mirror.Failure {
	all := make(map[string]mirror.Failure)
	if l.blind != nil {
		all[watchDirectory] = *l.blind
	}
	for _, m := range l.manifests {
		if f := m.failure(); f != nil {
			all[m.title()] = *f
		}
	}
	for key, t := range l.trees {
		if t.failure != nil {
			all[titleOfTree(key)] = *t.failure
		}
	}
	if state := l.resolve(l.registry); state.Status == snapshot.SecretForbidden {
		all[watchRegistry] = mirror.Failure{
			Kind:   mirror.FailureInvalid,
			Detail: fmt.Sprintf("%s: %s; the last good one stays in use", l.registry, state.Detail),
		}
	}
	return all
}
