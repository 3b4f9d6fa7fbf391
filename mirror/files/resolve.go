package files

import (
	"fmt"
	"slices"
	"strings"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

// place is one document that defines a Secret.
type place struct {
	file string
	*definition
}

func (p place) String() string { return fmt.Sprintf("%s:%d", p.file, p.line) }

func (l *looker) newIndex() map[snapshot.Key][]place {
	index := make(map[snapshot.Key][]place)
	for _, m := range l.manifests {
		for _, def := range m.defined {
			index[def.key] = append(index[def.key], place{file: m.name, definition: def})
		}
	}
	return index
}

// resolve joins all places that may define a Secret. Pending means that some of
// them have not been read.
func (l *looker) resolve(key snapshot.Key) snapshot.SecretState {
	inTree := finding{}
	if t := l.trees[key]; t != nil {
		inTree = t.finding
	}
	defined := l.index[key]
	treeDefines := inTree.secret != nil || inTree.refusal != ""
	switch {
	case len(defined) > 1 || len(defined) == 1 && treeDefines:
		return snapshot.Forbidden(l.repeated(key, defined, treeDefines))
	case len(defined) == 1:
		return stateOf(finding{secret: defined[0].secret, refusal: defined[0].refusal})
	case treeDefines:
		return stateOf(inTree)
	case inTree.absent && l.sawAll():
		return snapshot.Absent()
	}
	return snapshot.SecretState{}
}

func stateOf(f finding) snapshot.SecretState {
	switch {
	case f.refusal != "":
		return snapshot.Forbidden(f.refusal)
	case f.secret != nil:
		return snapshot.Present(f.secret)
	}
	return snapshot.SecretState{}
}

// sawAll reports whether what is not known does not exist: a manifest that was
// never read may define anything.
func (l *looker) sawAll() bool {
	if l.blind != nil {
		return false
	}
	for _, m := range l.manifests {
		if !m.good {
			return false
		}
	}
	return true
}

// repeated says where a Secret is defined more than once: nobody can say which
// one counts.
func (l *looker) repeated(key snapshot.Key, defined []place, inTree bool) string {
	var places []string
	for _, p := range defined {
		places = append(places, p.String())
	}
	slices.Sort(places)
	if inTree {
		places = append(places, "the directory "+key.String())
	}
	if more := len(places) - maxNames; more > 0 {
		places = append(places[:maxNames], fmt.Sprintf("%d more places", more))
	}
	last := len(places) - 1
	if last == 1 {
		return fmt.Sprintf("defined in both %s and %s; remove one", places[0], places[1])
	}
	return fmt.Sprintf("defined in %s and %s; remove all but one", strings.Join(places[:last], ", "), places[last])
}
