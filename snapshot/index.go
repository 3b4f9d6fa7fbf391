package snapshot

import (
	"slices"
	"strings"
)

// conflict is the place of a hostname that more than one App claims.
const conflict int32 = -1

// index finds the App of a hostname. Wildcards live in a map of their own, under
// the name without "*.": Go's server lets "Host: *.x" through, and it must not
// find the wildcard entry itself.
type index struct {
	exact, wild map[string]int32 // position of the App, or conflict
	claims      map[string][]int // who claims a hostname in conflict, by pattern
}

func newIndex(entries []Entry) index {
	hostnames := 0
	for i := range entries {
		hostnames += len(entries[i].Hostnames)
	}
	ix := index{
		exact:  make(map[string]int32, hostnames),
		wild:   make(map[string]int32),
		claims: make(map[string][]int),
	}
	for i := range entries {
		for _, pattern := range entries[i].Hostnames {
			ix.claim(pattern, i)
		}
	}
	return ix
}

func (ix *index) claim(pattern string, app int) {
	names, name := ix.exact, pattern
	if parent, ok := strings.CutPrefix(pattern, "*."); ok {
		names, name = ix.wild, parent
	}
	holder, taken := names[name]
	switch {
	case !taken:
		names[name] = int32(app)
	case holder == conflict:
		ix.claims[pattern] = append(ix.claims[pattern], app)
	default:
		names[name] = conflict
		ix.claims[pattern] = []int{int(holder), app}
	}
}

// findNormalized is for a host that is not in the index as it came.
func (ix *index) findNormalized(host string) (place int32, reason Reason) {
	var buf [maxDomain]byte
	name, ok := appendHostname(buf[:0], host)
	if !ok {
		return conflict, ReasonInvalidHost
	}
	if place, ok := ix.exact[string(name)]; ok {
		return place, ReasonAllowed
	}
	if dot := slices.Index(name, '.'); dot >= 0 {
		if place, ok := ix.wild[string(name[dot+1:])]; ok {
			return place, ReasonAllowed
		}
	}
	return conflict, ReasonUnknownHost
}
