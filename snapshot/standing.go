package snapshot

// Standing is what one Snapshot says of a host, before anything of a request but that
// is looked at. It keeps nothing of the Snapshot in memory but the App. The zero
// Standing opens nothing.
type Standing struct {
	// App is the App that the host belongs to; nil where there is none.
	App *App
	// Reason is the answer to every request for the host, as of the build.
	Reason Reason

	plain bool // nothing about the App depends on the request or on the time
}

// Find returns how a host stands in a Snapshot, which may be nil.
func (d Decider) Find(s *Snapshot, host string) Standing {
	apps, ok := ViewAt[*Apps](s, d.Apps)
	if !ok {
		return Standing{Reason: ReasonUnsynced}
	}
	if s.Stale() {
		return Standing{Reason: ReasonStale}
	}
	found, reason := apps.find(host)
	if found == nil {
		return Standing{Reason: reason}
	}
	return Standing{App: found.app, Reason: reason, plain: found.plain}
}

// ReasonNow returns the answer to every request for the host at this time: an App may have
// expired since the build. It is ReasonAllowed where the App serves, whomever.
func (d Decider) ReasonNow(st Standing) Reason {
	if st.App != nil && st.Reason != ReasonAppInvalid && !st.App.ExpiresAt.IsZero() && st.App.expired(d.Now()) {
		return ReasonAppExpired
	}
	return st.Reason
}

// isPlain reports whether nothing more need be looked at.
func (st Standing) isPlain(r *Request) bool {
	return st.App == nil || st.plain && !r.RequireCredentials
}
