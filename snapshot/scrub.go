package snapshot

import (
	"cmp"
	"slices"
	"strings"
)

// Prepare makes the headers of a request that is let through what the App behind is
// to see. Whatever is at a place where the App's credentials may be goes; only the
// one that the Decision was won by stays, if the App says so: what is behind must
// not read another one than was looked at here. Headers that tell identities are
// the App's own alone, and set here alone.
func (a *Apps) Prepare(h map[string][]string, d Decision) {
	app := d.App
	for i := range app.AnyOf {
		for _, p := range app.AnyOf[i].From {
			if app.Strip || d.Identity == "" || p != d.by {
				p.remove(h)
			}
		}
	}
	a.guards.removeIdentities(h, app.Policy)
	if app.IdentityHeader != "" && d.Identity != "" {
		h[app.IdentityHeader] = []string{d.Identity}
	}
	app.inject(h, d.Reason)
}

// ScrubAll is for a request that is refused: it removes whatever is at a place where
// any App's credentials may be, and every identity, for an error route may send it
// anywhere.
func (a *Apps) ScrubAll(h map[string][]string) {
	for p := range a.guards.places {
		p.remove(h)
	}
	a.guards.removeIdentities(h, nil)
}

// ScrubIdentities is for a request that belongs to no App and is let through.
func (a *Apps) ScrubIdentities(h map[string][]string) {
	a.guards.removeIdentities(h, nil)
}

func (p Place) remove(h map[string][]string) {
	if p.Cookie != "" {
		removeCookie(h, confusable(p.Cookie))
		return
	}
	values := h[p.Header]
	if len(values) == 0 {
		return
	}
	kept := values[:0:0]
	for _, v := range values {
		if p.Scheme != "" && !mentions(v, p.Scheme) {
			kept = append(kept, v)
		}
	}
	put(h, p.Header, kept)
}

// mentions reports whether something behind may find a credential of a scheme in a
// header: at its begin, or after a comma.
func mentions(value, scheme string) bool {
	for part := range strings.SplitSeq(value, ",") {
		part = strings.Trim(part, " \t")
		if len(part) < len(scheme) || !strings.EqualFold(part[:len(scheme)], scheme) {
			continue
		}
		if rest := part[len(scheme):]; rest == "" || !isToken(rest[:1], "-_.") {
			return true
		}
	}
	return false
}

// carries reports whether something behind may find a cookie of a name, given in its
// confusable form, in a pair: some split at commas too.
func carries(pair, like string) bool {
	for part := range strings.SplitSeq(pair, ",") {
		name, _, _ := strings.Cut(part, "=")
		if confusable(strings.Trim(name, " \t\"")) == like {
			return true
		}
	}
	return false
}

func removeCookie(h map[string][]string, like string) {
	lines := h["Cookie"]
	if !slices.ContainsFunc(lines, func(line string) bool { return lineCarries(line, like) }) {
		return
	}
	kept := lines[:0:0]
	for _, line := range lines {
		var pairs []string
		for pair := range strings.SplitSeq(line, ";") {
			if !carries(pair, like) {
				pairs = append(pairs, strings.TrimSpace(pair))
			}
		}
		if len(pairs) > 0 {
			kept = append(kept, strings.Join(pairs, "; "))
		}
	}
	put(h, "Cookie", kept)
}

func lineCarries(line, like string) bool {
	for pair := range strings.SplitSeq(line, ";") {
		if carries(pair, like) {
			return true
		}
	}
	return false
}

func put(h map[string][]string, name string, values []string) {
	if len(values) == 0 {
		delete(h, name)
		return
	}
	h[name] = values
}

// guards are the places where credentials of any App may be, and the headers that
// tell who a caller is.
type guards struct {
	places     map[Place]struct{}
	identities map[string]struct{} // canonical names
	// names are all of these headers, in the form in which an app behind may confuse
	// them with others.
	names map[string]struct{}
}

// newGuards takes an entry that is wrong as well, as far as it could be read: its
// callers send credentials all the same.
func newGuards(entries []Entry) guards {
	g := guards{make(map[Place]struct{}), make(map[string]struct{}), make(map[string]struct{})}
	seen := make(map[*Policy]struct{})
	for i := range entries {
		if _, ok := seen[entries[i].Policy]; ok {
			continue
		}
		seen[entries[i].Policy] = struct{}{}
		g.add(entries[i].Policy)
	}
	return g
}

func (g guards) add(p *Policy) {
	for place := range p.places() {
		g.addPlace(place)
	}
	if p.Inject != nil {
		g.addPlace(p.Inject.At)
	}
	if p.IdentityHeader != "" {
		g.identities[p.IdentityHeader] = struct{}{}
		g.names[confusable(p.IdentityHeader)] = struct{}{}
	}
}

func (g guards) addPlace(p Place) {
	g.places[p] = struct{}{}
	g.names[confusable(cmp.Or(p.Header, "Cookie"))] = struct{}{}
}

// removeIdentities leaves a header that carries credentials of the App that the
// request belongs to, for another App may call its own so.
func (g guards) removeIdentities(h map[string][]string, of *Policy) {
	if len(g.identities) == 0 {
		return
	}
	for name := range h {
		if _, ok := g.identities[name]; ok && (of == nil || !of.looksAt(name)) {
			delete(h, name)
		}
	}
}

// confusable is the form in which CGI, WSGI and the like see a header: letters in
// one case, and every other byte but digits the same (RFC 3875 section 4.1.18).
func confusable(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'A' <= r && r <= 'Z':
			return r + 'a' - 'A'
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
			return r
		}
		return '-'
	}, name)
}

// RemoveAliases removes from the headers of a request those that an app behind may
// take for a header that carries keys, as X_API_Key for X-API-Key, and takes the
// names of such headers out of Connection, which makes a proxy drop them.
func (a *Apps) RemoveAliases(h map[string][]string) {
	if len(a.guards.names) == 0 {
		return
	}
	for name := range h {
		if isOdd(name) && a.guards.has(name) {
			delete(h, name)
		}
	}
	a.guards.keepFromConnection(h)
}

// isOdd reports whether a header has a name that another one can be confused with.
func isOdd(name string) bool {
	for i := range len(name) {
		c := name[i]
		if !lowerAlnum(c) && !('A' <= c && c <= 'Z') && c != '-' {
			return true
		}
	}
	return false
}

func (g guards) has(name string) bool {
	_, ok := g.names[confusable(name)]
	return ok
}

func (g guards) keepFromConnection(h map[string][]string) {
	lines := h["Connection"]
	if !slices.ContainsFunc(lines, g.isNamedIn) {
		return
	}
	kept := lines[:0:0]
	for _, line := range lines {
		var names []string
		for name := range strings.SplitSeq(line, ",") {
			if name = strings.TrimSpace(name); name != "" && !g.has(name) {
				names = append(names, name)
			}
		}
		if len(names) > 0 {
			kept = append(kept, strings.Join(names, ", "))
		}
	}
	put(h, "Connection", kept)
}

func (g guards) isNamedIn(line string) bool {
	for name := range strings.SplitSeq(line, ",") {
		if g.has(strings.TrimSpace(name)) {
			return true
		}
	}
	return false
}
