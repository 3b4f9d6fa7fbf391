package snapshot

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Upstreams is the View of where the Apps are. It is immutable; nil knows of none.
type Upstreams struct {
	registry RegistryVersion // that it was made of first: later ones may say the same
	byIndex  []*AppUpstreams // by App.Index, nil for an App that lists none; empty if no App does
}

// AppUpstreams is where one App is. It is immutable, and shared between generations
// that do not differ in it.
type AppUpstreams struct {
	// Addresses are host:port, an IPv6 literal in brackets, in the order of the
	// Registry. There are none where Err is set.
	Addresses []string
	// Err says why the list cannot be used, with the field and the fix; nil if it can.
	Err error

	entry *Entry
}

// Of returns where an App is, nil if it lists nothing. The Apps View may be older than
// this one while its Builder fails, so the entries are compared.
func (u *Upstreams) Of(app *App) *AppUpstreams {
	if u == nil || app == nil || app.Index >= len(u.byIndex) {
		return nil
	}
	if found := u.byIndex[app.Index]; found != nil && found.entry.equal(app.Entry) {
		return found
	}
	return nil
}

// mostUpstreams bounds what is made for each request.
const mostUpstreams = 64

// readUpstreams reads the field `upstreams` of an entry.
func readUpstreams(text rawText) ([]string, error) {
	list := text.list()
	switch {
	case len(list.items) == 0:
		return nil, fmt.Errorf("upstreams: %s is no list; write it as in [shop.shop.svc:8080], or leave the field out", cmp.Or(list.wrong, "[]"))
	case len(list.items) > mostUpstreams:
		return nil, fmt.Errorf("upstreams: has more than %d items; list fewer, or a Service in front of them", mostUpstreams)
	}
	addresses := make([]string, len(list.items))
	seen := make(map[string]struct{}, len(list.items))
	for i, item := range list.items {
		address, err := upstreamAddress(item)
		if err != nil {
			return nil, fmt.Errorf("upstreams[%d]: %s %w", i, quote(item), err)
		}
		if _, twice := seen[address]; twice {
			return nil, fmt.Errorf("upstreams[%d]: %s is listed before; remove it", i, quote(item))
		}
		seen[address] = struct{}{}
		addresses[i] = address
	}
	return addresses, nil
}

var errUpstreamPort = errors.New("has no port; write host:port, with a port from 1 to 65535")

// upstreamAddress takes a DNS name or an IP literal, and one port. A name keeps the
// dot at its end, which tells resolvers not to try their search list.
func upstreamAddress(text string) (string, error) {
	if strings.Contains(text, "/") {
		return "", errors.New("is more than an address; write host:port, since the scheme is the transport's")
	}
	colon := strings.LastIndexByte(text, ':')
	if colon < 0 || strings.HasSuffix(text, "]") {
		return "", errUpstreamPort
	}
	port, err := strconv.ParseUint(text[colon+1:], 10, 16)
	if err != nil || port == 0 {
		return "", errUpstreamPort
	}
	host := text[:colon]
	if strings.Contains(host, ":") != strings.HasPrefix(host, "[") {
		return "", errors.New("is no address; write host:port, and an IPv6 address in brackets")
	}
	name, err := NormalizeHostname(host)
	switch {
	case err != nil:
		return "", errors.New("is no address; write host:port, where host is a DNS name or an IP address")
	case strings.Contains(name, ":"):
		name = "[" + name + "]"
	case strings.HasSuffix(host, "."):
		name += "."
	}
	return name + ":" + strconv.FormatUint(port, 10), nil
}
