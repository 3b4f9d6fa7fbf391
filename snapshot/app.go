package snapshot

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// App is one App in a Snapshot: what the Registry says of it, joined with the
// state of its Secret. It is immutable, and shared between generations that do
// not differ in it.
type App struct {
	// What every request reads comes first: it is a cache line, and most Apps are in
	// no cache.

	// Policy is what the App asks of its callers, as the Entry has it. It is never nil.
	*Policy
	proof proof // empty unless the App asks for credentials and serves
	// Reason is the answer to every request for the App, as of the build. Who
	// answers a request must look at ExpiresAt and AllowCIDRs as well, see
	// Decider.
	Reason Reason
	// SecretReady is this replica's own view: the bytes are there and usable.
	SecretReady bool
	bounded     bool // the Entry says until when, or to which addresses, the App is open

	// Index is the App's position in the Registry.
	Index int
	// Entry is what the Registry says of the App. It is never nil, and must not be
	// changed.
	*Entry
	// Detail says in words why the App does not serve, and how to fix it; empty
	// if it does. It never holds a byte of the Secret.
	Detail string
	// Warnings are oddities that deny nothing: those of the Entry and of the Secret.
	Warnings []string
	// SecretUID and SecretVersion are those of the Secret in use; empty while
	// there is none.
	SecretUID, SecretVersion string

	injected *string // secret; nil for nothing
}

// newApp resolves an entry against the Objects.
func newApp(e *Entry, index int, o Objects, shared readings) *App {
	a := &App{
		Policy:   e.Policy,
		bounded:  !e.ExpiresAt.IsZero() || len(e.AllowCIDRs) > 0,
		Index:    index,
		Entry:    e,
		Warnings: e.Warnings,
	}
	if e.Err != nil {
		a.Reason, a.Detail = ReasonAppInvalid, e.Err.Error()
		return a
	}
	a.Reason, a.Detail = a.readSecret(o.Secret(e.SecretRef.Secret), shared)
	a.SecretReady = a.Reason == ReasonAllowed
	if a.expired(o.Now) {
		a.Reason, a.Detail = ReasonAppExpired, "expired at "+a.ExpiresAt.UTC().Format(time.RFC3339)
	}
	return a
}

// readSecret judges the App's bytes: they are there, not empty, and everything that
// the App wants of them can be read.
func (a *App) readSecret(state SecretState, shared readings) (Reason, string) {
	ref := a.SecretRef
	switch state.Status {
	case SecretPending:
		return ReasonPending, fmt.Sprintf("secret %s: not read yet", ref.Secret)
	case SecretAbsent:
		return ReasonSecretAbsent, fmt.Sprintf("secret %s: %s", ref.Secret, cmp.Or(state.Detail, "does not exist; create it"))
	case SecretForbidden:
		return ReasonSecretForbidden, fmt.Sprintf("secret %s: %s", ref.Secret, state.Detail)
	}
	secret := state.Secret
	a.SecretUID, a.SecretVersion = secret.UID(), secret.Version()
	if reason, detail := judge(secret, ref); reason != ReasonAllowed {
		return reason, detail
	}
	if reason, detail := a.injection(secret); reason != ReasonAllowed {
		return reason, detail
	}
	return a.readProof(secret, shared)
}

// judge asks that the bytes are there and not empty.
func judge(secret *Secret, ref SecretRef) (Reason, string) {
	if ref.DataKey == "" {
		return judgeAnyKey(secret)
	}
	value, ok := secret.Value(ref.DataKey)
	if !ok {
		return ReasonSecretKeyAbsent, fmt.Sprintf("secret %s: key %q: does not exist; add it, or name another in secretRef.key", ref.Secret, ref.DataKey)
	}
	if value == "" {
		return ReasonSecretInvalid, fmt.Sprintf("secret %s: key %q: is empty; give it a value", ref.Secret, ref.DataKey)
	}
	return ReasonAllowed, ""
}

func judgeAnyKey(secret *Secret) (Reason, string) {
	if secret.Len() == 0 {
		return ReasonSecretKeyAbsent, fmt.Sprintf("secret %s: has no data; add a key", secret.Key())
	}
	for _, k := range secret.Keys() {
		if v, _ := secret.Value(k); v != "" {
			return ReasonAllowed, ""
		}
	}
	return ReasonSecretInvalid, fmt.Sprintf("secret %s: every value is empty; give one a value", secret.Key())
}

// expired reports whether the App is denied at a given time.
func (a *App) expired(now time.Time) bool {
	return !a.ExpiresAt.IsZero() && !now.Before(a.ExpiresAt)
}

// equal reports whether nobody could tell two Apps apart.
func (a *App) equal(b *App) bool {
	return a.Index == b.Index && a.Entry.equal(b.Entry) && a.proof.equal(b.proof) && a.injects(b.injected) &&
		a.SecretReady == b.SecretReady && a.Reason == b.Reason && a.Detail == b.Detail &&
		slices.Equal(a.Warnings, b.Warnings) &&
		a.SecretUID == b.SecretUID && a.SecretVersion == b.SecretVersion
}
