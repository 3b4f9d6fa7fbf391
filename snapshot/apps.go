package snapshot

import (
	"slices"
	"strings"
	"time"
)

// Apps is the View that requests are decided by: the hostname index and the App
// set, made together in one pass. It is immutable.
type Apps struct {
	registry RegistryVersion // that it was made of first: later ones may say the same
	index    index
	guards   *Guards
	slots    slots
	due      time.Time
}

// Len returns the number of Apps.
func (a *Apps) Len() int { return a.slots.n }

// At returns the App at a position in the Registry.
func (a *Apps) At(position int) *App { return a.slots.at(position).app }

// Hostnames returns the number of different hostnames, wildcards included.
func (a *Apps) Hostnames() int { return a.index.exact.names + a.index.wild.names }

// Conflicting returns the number of hostnames that more than one App claims.
func (a *Apps) Conflicting() int { return len(a.index.claims) }

// Conflicts returns the hostnames that more than one App claims, in order, each
// with the names of the Apps.
func (a *Apps) Conflicts() []Conflict {
	all := make([]Conflict, 0, len(a.index.claims))
	for pattern, places := range a.index.claims {
		c := Conflict{Hostname: pattern}
		for _, p := range places {
			c.Apps = append(c.Apps, a.slots.at(p).app.Name)
		}
		all = append(all, c)
	}
	slices.SortFunc(all, func(x, y Conflict) int {
		return strings.Compare(x.Hostname, y.Hostname)
	})
	return all
}

// Conflict is a hostname that more than one App claims, so that none has it.
type Conflict struct {
	Hostname string   `json:"hostname"`
	Apps     []string `json:"apps"`
}

// RegistryPresent reports whether the Registry's Secret was there.
func (a *Apps) RegistryPresent() bool { return a.registry.Present }

// NextChange returns when the next App expires; zero means never.
func (a *Apps) NextChange() time.Time { return a.due }

// Lookup returns the App of a host as a request names it. Without one, the
// reason says why. It does not allocate for ASCII hosts. The host is looked up
// as it came first, and normalized only on a miss.
func (a *Apps) Lookup(host string) (*App, Reason) {
	found, reason := a.find(host)
	if found == nil {
		return nil, reason
	}
	return found.app, found.reason
}

func (a *Apps) find(host string) (*slot, Reason) {
	place, ok := a.index.exact.find(host)
	if !ok {
		var reason Reason
		if place, reason = a.index.findNormalized(host); reason != ReasonAllowed {
			return nil, reason
		}
	}
	if place == conflict {
		return nil, ReasonHostConflict
	}
	found := a.slots.at(int(place))
	return found, found.reason
}
