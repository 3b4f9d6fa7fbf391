package snapshot

import (
	"cmp"
	"slices"
	"strings"
)

// Guards are the places where credentials of any App may be, and the headers that
// tell who a caller is. They are immutable; nil guards nothing.
type Guards struct {
	headers    map[string][]Place  // by canonical name
	cookies    map[string]struct{} // by name, in its confusable form
	identities map[string]struct{} // canonical names
	// names are all of these headers, in the form in which an app behind may confuse
	// them with others.
	names map[string]struct{}
}

// newGuards takes an entry that is wrong as well, as far as it could be read: its
// callers send credentials all the same.
func newGuards(entries []*Entry) *Guards {
	g := &Guards{
		headers:    make(map[string][]Place),
		cookies:    make(map[string]struct{}),
		identities: make(map[string]struct{}),
		names:      make(map[string]struct{}),
	}
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

func (g *Guards) add(p *Policy) {
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

func (g *Guards) addPlace(p Place) {
	g.names[confusable(cmp.Or(p.Header, "Cookie"))] = struct{}{}
	if p.Cookie != "" {
		g.cookies[confusable(p.Cookie)] = struct{}{}
		return
	}
	if !slices.Contains(g.headers[p.Header], p) {
		g.headers[p.Header] = append(g.headers[p.Header], p)
	}
}

// Guards returns those of all Apps; nil for nil.
func (a *Apps) Guards() *Guards {
	if a == nil {
		return nil
	}
	return a.guards
}

// ScrubAll is for a request that may go anywhere, as one that is refused: it removes
// from its headers whatever is at a place where any App's credentials may be, and
// every identity. The work follows from the headers, and not from the Apps.
func (g *Guards) ScrubAll(h map[string][]string) {
	if g == nil {
		return
	}
	for name := range h {
		if places, ok := g.headers[name]; ok {
			removeFrom(h, name, places...)
		}
	}
	if len(g.cookies) > 0 {
		removeCookies(h, func(name string) bool { _, ok := g.cookies[name]; return ok })
	}
	g.removeIdentities(h, nil)
}

// ScrubIdentities is for a request that belongs to no App and is let through.
func (g *Guards) ScrubIdentities(h map[string][]string) {
	if g != nil {
		g.removeIdentities(h, nil)
	}
}

// removeIdentities leaves a header that carries credentials of the App that the
// request belongs to, for another App may call its own so.
func (g *Guards) removeIdentities(h map[string][]string, of *Policy) {
	if len(g.identities) == 0 {
		return
	}
	for name := range h {
		if _, ok := g.identities[name]; ok && (of == nil || !of.looksAt(name)) {
			delete(h, name)
		}
	}
}

// CarriesIdentity reports whether a request has a header that tells an app behind who
// the caller is, as Prepare would remove from a request for an App.
func (g *Guards) CarriesIdentity(h map[string][]string, app *App) bool {
	if g == nil {
		return false
	}
	for name := range g.identities {
		if _, ok := h[name]; ok && !app.looksAt(name) {
			return true
		}
	}
	return false
}

// RemoveAliases removes from the headers of a request those that an app behind may
// take for one that matters, as X_API_Key for X-API-Key, and takes the names of such
// headers out of Connection, which makes a proxy drop them.
func (g *Guards) RemoveAliases(h map[string][]string) {
	if g == nil || len(g.names) == 0 {
		return
	}
	for name := range h {
		if isOdd(name) && g.has(name) {
			delete(h, name)
		}
	}
	g.keepFromConnection(h)
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

func (g *Guards) has(name string) bool {
	_, ok := g.names[confusable(name)]
	return ok
}

func (g *Guards) keepFromConnection(h map[string][]string) {
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

func (g *Guards) isNamedIn(line string) bool {
	for name := range strings.SplitSeq(line, ",") {
		if g.has(strings.TrimSpace(name)) {
			return true
		}
	}
	return false
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
