package snapshot

import (
	"slices"
	"strings"
)

// conflict is the place of a hostname that more than one App claims.
const conflict int32 = -1

// index finds the App of a hostname. Wildcards are in a table of their own, under
// the name without "*.": Go's server lets "Host: *.x" through, and it must not
// find the wildcard entry itself.
type index struct {
	exact, wild hostTable        // the place is the position of the App, or conflict
	claims      map[string][]int // who claims a hostname in conflict, by pattern
}

func newIndex(entries []*Entry) index {
	var names, sizes [2]int // exact, wild
	for _, e := range entries {
		for _, pattern := range e.Hostnames {
			i := 0
			if isWild(pattern) {
				i = 1
			}
			names[i]++
			sizes[i] += len(pattern)
		}
	}
	ix := index{
		exact:  newHostTable(names[0], sizes[0]),
		wild:   newHostTable(names[1], sizes[1]),
		claims: make(map[string][]int),
	}
	for i, e := range entries {
		for _, pattern := range e.Hostnames {
			ix.claim(pattern, i)
		}
	}
	return ix
}

func isWild(pattern string) bool { return strings.HasPrefix(pattern, "*.") }

func (ix *index) claim(pattern string, app int) {
	names, name := &ix.exact, pattern
	if parent, ok := strings.CutPrefix(pattern, "*."); ok {
		names, name = &ix.wild, parent
	}
	place, taken := names.claim(name, int32(app))
	switch {
	case !taken:
	case *place == conflict:
		ix.claims[pattern] = append(ix.claims[pattern], app)
	default:
		ix.claims[pattern] = []int{int(*place), app}
		*place = conflict
	}
}

// findNormalized is for a host that is not in the index as it came.
func (ix *index) findNormalized(host string) (place int32, reason Reason) {
	var buf [maxDomain]byte
	name, ok := appendHostname(buf[:0], host)
	if !ok {
		return conflict, ReasonInvalidHost
	}
	if place, ok := ix.exact.findBytes(name); ok {
		return place, ReasonAllowed
	}
	if dot := slices.Index(name, '.'); dot >= 0 {
		if place, ok := ix.wild.findBytes(name[dot+1:]); ok {
			return place, ReasonAllowed
		}
	}
	return conflict, ReasonUnknownHost
}
