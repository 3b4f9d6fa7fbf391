package snapshot

import "strings"

// HostnameOf returns the hostname of the Registry that a host as a request names it
// is looked up by, a wildcard as it is written; "" where there is none. It takes more
// time than Lookup, and is for people.
func (a *Apps) HostnameOf(host string) string {
	name, err := NormalizeHostname(host)
	if err != nil {
		return ""
	}
	if _, ok := a.index.exact.find(name); ok {
		return name
	}
	if _, parent, found := strings.Cut(name, "."); found {
		if _, ok := a.index.wild.find(parent); ok {
			return "*." + parent
		}
	}
	return ""
}

// Claimants returns the names of the Apps that claim a hostname of the Registry; nil
// unless there are several, so that none has it.
func (a *Apps) Claimants(hostname string) []string {
	var names []string
	for _, place := range a.index.claims[hostname] {
		names = append(names, a.slots.at(place).app.Name)
	}
	return names
}

// Contested returns the hostnames of an App that other Apps claim as well, so that they
// answer 503 whatever the Reason of the App; nil for none.
func (a *Apps) Contested(app *App) []string {
	if len(a.index.claims) == 0 {
		return nil
	}
	var all []string
	for _, hostname := range app.Hostnames {
		if _, ok := a.index.claims[hostname]; ok {
			all = append(all, hostname)
		}
	}
	return all
}
