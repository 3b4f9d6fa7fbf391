package snapshot

// RegistryVersion names the Secret of a Registry as it was read once.
type RegistryVersion struct {
	// Key is the Secret's namespace and name.
	Key Key
	// Present says that it was there; UID and Version are empty where it was not.
	Present      bool
	UID, Version string
}

func (r *Registry) asRead() RegistryVersion {
	return RegistryVersion{Key: r.key, Present: r.present, UID: r.uid, Version: r.version}
}

// MadeOf returns the version of the Registry that the Apps are made of: that of newest
// if it says the same of them. While their Builder fails it may say something else.
func (a *Apps) MadeOf(newest *Registry) RegistryVersion {
	if a.isOf(newest) {
		return newest.asRead()
	}
	return a.registry
}

func (a *Apps) isOf(r *Registry) bool {
	if a.registry.Present != r.present || a.Len() != len(r.entries) {
		return false
	}
	for i, e := range r.entries {
		if !a.At(i).Entry.equal(e) {
			return false
		}
	}
	return true
}

// MadeOf returns the version of the Registry that the Upstreams are made of, as it does
// of Apps.
func (u *Upstreams) MadeOf(newest *Registry) RegistryVersion {
	if u.isOf(newest) {
		return newest.asRead()
	}
	return u.registry
}

func (u *Upstreams) isOf(r *Registry) bool {
	if len(u.byIndex) > len(r.entries) {
		return false
	}
	for i, e := range r.entries {
		switch {
		case i >= len(u.byIndex) || u.byIndex[i] == nil:
			if e.upstreams.isSet() {
				return false
			}
		case !u.byIndex[i].entry.equal(e):
			return false
		}
	}
	return true
}
