package snapshot

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"time"
)

// App is one App in a Snapshot: what the Registry says of it, joined with the
// state of its Secret. It is immutable, and shared between generations that do
// not differ in it.
type App struct {
	// What every request reads comes first: it is a cache line, and most Apps are in
	// no cache.

	// Policy is what the App asks of its callers. It is never nil.
	*Policy
	// Reason is the answer to every request for the App, as of the build. Who
	// answers a request must look at ExpiresAt and AllowCIDRs as well, see
	// Decider.
	Reason Reason
	// SecretReady is this replica's own view: the bytes are there and usable.
	SecretReady bool
	// ExpiresAt is when the App is denied from; zero means never.
	ExpiresAt time.Time
	// AllowCIDRs are the addresses that the App is open to; none means all.
	AllowCIDRs []netip.Prefix

	proof proof  // empty unless the App asks for credentials and serves
	sole  [1]any // what proof is of, if it is one alone

	// Name is the App's name in the Registry, or "apps[N]" where the entry has
	// no valid one.
	Name string
	// Index is the App's position in the Registry.
	Index int
	// Hostnames are normalized; a wildcard starts with "*.".
	Hostnames []string
	// SecretRef names the App's bytes; zero for an App that is invalid.
	SecretRef SecretRef
	// Detail says in words why the App does not serve, and how to fix it; empty
	// if it does. It never holds a byte of the Secret.
	Detail string
	// Warnings are oddities that deny nothing.
	Warnings []string
	// SecretUID and SecretVersion are those of the Secret in use; empty while
	// there is none.
	SecretUID, SecretVersion string

	injected string // secret
}

// newApp resolves an entry against the Objects.
func newApp(e *Entry, index int, o Objects, shared readings) *App {
	a := &App{
		Name:       e.Name,
		Index:      index,
		Hostnames:  e.Hostnames,
		SecretRef:  e.SecretRef,
		ExpiresAt:  e.ExpiresAt,
		AllowCIDRs: e.AllowCIDRs,
		Policy:     e.Policy,
		Warnings:   e.Warnings,
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
	return a.Name == b.Name && a.Index == b.Index && slices.Equal(a.Hostnames, b.Hostnames) &&
		a.SecretRef == b.SecretRef && a.ExpiresAt.Equal(b.ExpiresAt) &&
		slices.Equal(a.AllowCIDRs, b.AllowCIDRs) &&
		a.Policy.equal(b.Policy) && a.proof.equal(b.proof) && a.injected == b.injected &&
		a.SecretReady == b.SecretReady && a.Reason == b.Reason && a.Detail == b.Detail &&
		slices.Equal(a.Warnings, b.Warnings) &&
		a.SecretUID == b.SecretUID && a.SecretVersion == b.SecretVersion
}
