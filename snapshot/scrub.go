package snapshot

import (
	"net/url"
	"slices"
	"strings"
)

// Prepare makes the headers of a request that is let through what the App behind is
// to see. Whatever is at a place where the App's credentials may be goes; only the
// one that the Decision was won by stays, if the App says so: what is behind must
// not read another one than was looked at here. Headers that tell identities are
// the App's own alone, and set here alone.
func (g *Guards) Prepare(h map[string][]string, d Decision) {
	app := d.App
	for i := range app.AnyOf {
		for _, p := range app.AnyOf[i].From {
			if app.Strip || d.Identity == "" || p != d.by {
				p.remove(h)
			}
		}
	}
	g.removeIdentities(h, app.Policy)
	if app.IdentityHeader != "" && d.Identity != "" {
		h[app.IdentityHeader] = []string{d.Identity}
	}
	app.inject(h, d.Reason)
	app.removeTunnels(h, d.Reason)
}

// removeTunnels ends what would turn the connection into one that carries requests
// which nobody looks at (HTTP/2 by RFC 7540 section 3.2, TLS by RFC 2817). A path
// that is public opens WebSockets alone.
func (a *App) removeTunnels(h map[string][]string, reason Reason) {
	if len(a.AnyOf) == 0 || len(h["Upgrade"]) == 0 {
		return
	}
	to := strings.ToLower(strings.TrimSpace(h["Upgrade"][0]))
	if len(h["Upgrade"]) == 1 && (to == "websocket" || reason == ReasonAllowed && !carriesRequests(to)) {
		return
	}
	delete(h, "Upgrade")
	delete(h, "Http2-Settings")
}

func carriesRequests(protocols string) bool {
	for protocol := range strings.SplitSeq(protocols, ",") {
		name, _, _ := strings.Cut(strings.TrimSpace(protocol), "/")
		if slices.Contains([]string{"h2c", "h2", "h3", "http", "tls"}, name) {
			return true
		}
	}
	return false
}

func (p Place) remove(h map[string][]string) {
	if p.Cookie != "" {
		like := confusable(p.Cookie)
		removeCookies(h, func(name string) bool { return name == like })
		return
	}
	removeFrom(h, p.Header, p)
}

// removeFrom takes out of a header the values that somebody may take for a
// credential at one of the places.
func removeFrom(h map[string][]string, name string, places ...Place) {
	values, ok := h[name]
	if !ok {
		return
	}
	put(h, name, slices.DeleteFunc(slices.Clone(values), func(value string) bool {
		return slices.ContainsFunc(places, func(p Place) bool { return p.Scheme == "" || mentions(value, p.Scheme) })
	}))
}

// mentions reports whether something behind may find a credential of a scheme in a
// header: at its begin, or after a comma.
func mentions(value, scheme string) bool {
	for part := range strings.SplitSeq(value, ",") {
		part = strings.TrimSpace(part)
		if len(part) < len(scheme) || !strings.EqualFold(part[:len(scheme)], scheme) {
			continue
		}
		if rest := part[len(scheme):]; rest == "" || !isToken(rest[:1], "-_.") {
			return true
		}
	}
	return false
}

// carries reports whether something behind may find a cookie in a pair whose name,
// in its confusable form, is one of some: there are those that split at commas too,
// decode names, or take brackets for the begin of a key.
func carries(pair string, isOne func(name string) bool) bool {
	for part := range strings.SplitSeq(pair, ",") {
		name, _, _ := strings.Cut(part, "=")
		name = strings.Trim(name, " \t\r\n\v\f\"")
		if isOne(confusable(name)) {
			return true
		}
		if strings.ContainsAny(name, "%[") && isOne(confusable(decodedName(name))) {
			return true
		}
	}
	return false
}

func decodedName(name string) string {
	if decoded, err := url.QueryUnescape(name); err == nil {
		name = decoded
	}
	name, _, _ = strings.Cut(name, "[")
	return strings.TrimSpace(name)
}

func removeCookies(h map[string][]string, isOne func(name string) bool) {
	lines := h["Cookie"]
	if !slices.ContainsFunc(lines, func(line string) bool { return lineCarries(line, isOne) }) {
		return
	}
	kept := lines[:0:0]
	for _, line := range lines {
		var pairs []string
		for pair := range strings.SplitSeq(line, ";") {
			if !carries(pair, isOne) {
				pairs = append(pairs, strings.TrimSpace(pair))
			}
		}
		if len(pairs) > 0 {
			kept = append(kept, strings.Join(pairs, "; "))
		}
	}
	put(h, "Cookie", kept)
}

func lineCarries(line string, isOne func(name string) bool) bool {
	for pair := range strings.SplitSeq(line, ";") {
		if carries(pair, isOne) {
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
