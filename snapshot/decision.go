package snapshot

import (
	"net/netip"
	"net/url"
	"time"

	"github.com/authz-bridge/authz-bridge/snapshot/credential"
)

// Request is what a Decision is made from.
type Request struct {
	// Host is the Host of the request as it came, port included.
	Host string
	// Method is the method; without one nothing is public.
	Method string
	// URL is the URL as the next handler sees it; without one nothing is public. It is
	// not changed.
	URL *url.URL
	// Header are the headers, by their canonical names. They are not changed.
	Header map[string][]string
	// Caller tells who sends it; without one, no App that asks is opened.
	Caller Caller
	// Before is what was decided of this very request before, if anything was: a caller
	// that has proved itself need not do so again, now that the credential is gone.
	Before Decision
	// RequireCredentials makes an App that asks for none invalid.
	RequireCredentials bool
	// NoInject makes an App invalid that gives bytes of its own to the app behind: it is
	// somebody else who sends the request on.
	NoInject bool
}

// Caller tells who sends a request. Its methods are called only for an App that
// asks.
type Caller interface {
	// Addr returns the client's address, or false if nobody vouches for it.
	Addr() (netip.Addr, bool)
	// Gone is closed when nobody waits for an answer any more.
	Gone() <-chan struct{}
}

// gone never is, without a Caller.
func gone(c Caller) <-chan struct{} {
	if c == nil {
		return nil
	}
	return c.Gone()
}

// Decision is the answer for one request. The zero Decision opens nothing.
type Decision struct {
	// Reason says why; it gives the outcome and the status.
	Reason Reason
	// App is the App that the host belongs to; nil where there is none.
	App *App
	// Identity is who the caller has proved to be; empty where nobody asks.
	Identity string

	by Place // where the credential was, if there is an Identity
}

// Outcome returns what is done with the request.
func (d Decision) Outcome() Outcome { return d.Reason.Outcome() }

// AppName returns the App's name, or "" without one.
func (d Decision) AppName() string {
	if d.App == nil {
		return ""
	}
	return d.App.Name
}

// Decider makes Decisions. It is a value without state, safe for concurrent use,
// and does not allocate for ASCII hosts where nobody asks for credentials. A
// Decision waits for nothing but password hashes.
type Decider struct {
	// Apps is where the Apps View is.
	Apps Slot
	// Now returns the wall-clock time. It is called only where something has an
	// expiry, which must not wait for a build to be enforced.
	Now func() time.Time
	// Hasher computes password hashes. Without one they are not computed, and the
	// answer is ReasonOverloaded.
	Hasher *credential.Hasher
}

// Decide answers a request from one Snapshot, which may be nil. The checks go in
// the order of the reasons.
func (d Decider) Decide(s *Snapshot, r Request) Decision {
	found := d.Find(s, r.Host)
	if found.isPlain(&r) {
		return Decision{Reason: found.Reason, App: found.App}
	}
	return d.judge(found, &r)
}

// DecideAt is Decide for a host that was found before; that of the request is not
// looked at.
func (d Decider) DecideAt(found Standing, r Request) Decision {
	if found.isPlain(&r) {
		return Decision{Reason: found.Reason, App: found.App}
	}
	return d.judge(found, &r)
}

// judge makes the checks that depend on the request or on the time.
func (d Decider) judge(found Standing, r *Request) Decision {
	app := found.App
	made := Decision{Reason: d.check(app, found.Reason, r), App: app}
	if made.Reason != ReasonAllowed || len(app.AnyOf) == 0 {
		return made
	}
	switch {
	case r.Before.Identity != "" && r.Before.App == app:
		return r.Before
	case app.PassPreflight && isPreflight(r):
		made.Reason = ReasonPreflight
	case app.IsPublic(r):
		made.Reason = ReasonPublic
	default:
		made.Identity, made.by, made.Reason = d.authenticate(app, r)
	}
	return made
}

// check makes the checks that a build cannot make. They come before whatever is
// wrong with the App's Secret.
func (d Decider) check(app *App, asOfBuild Reason, r *Request) Reason {
	switch {
	case asOfBuild == ReasonAppInvalid, r.RequireCredentials && len(app.AnyOf) == 0, r.NoInject && app.Inject != nil:
		return ReasonAppInvalid
	case !app.bounded:
		return asOfBuild
	case !app.ExpiresAt.IsZero() && app.expired(d.Now()):
		return ReasonAppExpired
	case asOfBuild != ReasonAppExpired && !app.admits(r.Caller):
		return ReasonAddressDenied
	}
	return asOfBuild
}
