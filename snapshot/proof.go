package snapshot

import (
	"fmt"
	"slices"
	"strings"

	"github.com/authz-bridge/authz-bridge/snapshot/credential"
)

// proof is what the callers of one App prove themselves by: for each item of anyOf
// a *credential.Keys, *credential.Passwords or *credential.TokenKeys. It is what is one
// alone, as in most Apps, or proofs.
type proof struct{ by any }

type proofs []any

func newProof(all proofs) proof {
	if len(all) == 1 {
		return proof{all[0]}
	}
	return proof{all}
}

// of returns what an item of anyOf is proved by.
func (p proof) of(item int) any {
	if all, ok := p.by.(proofs); ok {
		return all[item]
	}
	return p.by
}

// equal compares what was read: after a restore of the cluster other bytes may have
// the version of those before.
func (p proof) equal(other proof) bool {
	all, many := p.by.(proofs)
	if many {
		others, ok := other.by.(proofs)
		return ok && slices.EqualFunc(all, others, equalProof)
	}
	return equalProof(p.by, other.by)
}

func equalProof(a, b any) bool {
	switch a := a.(type) {
	case *credential.Keys:
		b, ok := b.(*credential.Keys)
		return ok && a.Equal(b)
	case *credential.Passwords:
		b, ok := b.(*credential.Passwords)
		return ok && a.Equal(b)
	case *credential.TokenKeys:
		b, ok := b.(*credential.TokenKeys)
		return ok && a.Equal(b)
	case nil:
		return b == nil
	}
	return false
}

// readProof reads what every method is proved by. One that cannot be read closes
// the App: a method that is left out might be the one that was meant.
func (a *App) readProof(secret *Secret, shared readings) (Reason, string) {
	if len(a.AnyOf) == 0 {
		return ReasonAllowed, ""
	}
	read := make(proofs, len(a.AnyOf))
	a.Warnings = slices.Clone(a.Warnings)
	for i := range a.AnyOf {
		m := &a.AnyOf[i]
		for _, key := range m.dataKeys() {
			if _, ok := secret.Value(key); !ok {
				return ReasonSecretKeyAbsent, fmt.Sprintf("secret %s: key %q: does not exist; add it, or name another in anyOf[%d]", secret.Key(), key, i)
			}
		}
		got := shared.read(m, secret, credential.Spec{Format: m.Format, DataKey: m.DataKey, Client: a.Name, Others: a.others(i)})
		if got.err != nil {
			return ReasonSecretInvalid, fmt.Sprintf("secret %s: %s: %v", secret.Key(), m.Kind, got.err)
		}
		read[i] = got.by
		for _, w := range got.warnings {
			a.Warnings = append(a.Warnings, fmt.Sprintf("secret %s: %s", secret.Key(), w))
		}
	}
	a.proof = newProof(read)
	return ReasonAllowed, ""
}

// others are the data keys that other ways, and inject, read.
func (a *App) others(way int) []string {
	var keys []string
	for i := range a.AnyOf {
		if i != way {
			keys = append(keys, a.AnyOf[i].dataKeys()...)
		}
	}
	if a.Inject != nil {
		keys = append(keys, a.Inject.DataKey)
	}
	return keys
}

// Challenges are what a caller that has not proved itself is told, one for each
// kind.
func (a *App) Challenges() []string {
	var all []string
	for i := range a.AnyOf {
		if c := a.AnyOf[i].challenge(); !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	return all
}

// authenticate tries the methods in order; the first that proves the caller wins.
func (d Decider) authenticate(a *App, r *Request) (identity string, by Place, reason Reason) {
	reason = ReasonCredentialsMissing
	for i := range a.AnyOf {
		value, place, state := a.AnyOf[i].presented(r.Header)
		switch state {
		case absent:
			continue
		case contradictory:
			return "", Place{}, ReasonCredentialsInvalid
		}
		client, result := d.verify(a, i, value, r.Caller)
		if result == credential.Valid {
			return client, place, ReasonAllowed
		}
		reason = max(reason, refusals[result])
	}
	return "", Place{}, reason
}

// refusals gives the reason of a result. Of several, the last in the order of the
// reasons says most.
var refusals = [...]Reason{
	credential.Unknown:    ReasonCredentialsInvalid,
	credential.Expired:    ReasonCredentialsExpired,
	credential.Denied:     ReasonClaimsDenied,
	credential.Overloaded: ReasonOverloaded,
}

func (d Decider) verify(a *App, i int, value string, caller Caller) (client string, result credential.Result) {
	switch by := a.proof.of(i).(type) {
	case *credential.Keys:
		return by.Find(value, d.Now)
	case *credential.TokenKeys:
		return by.Verify(value, &a.AnyOf[i].Rules, d.Now())
	case *credential.Passwords:
		user, password, ok := credential.ParseBasic(value)
		if !ok {
			return "", credential.Unknown
		}
		return by.Check(d.Hasher, a.owner(), user, password, gone(caller))
	}
	return "", credential.Unknown
}

// owner is what a remembered password belongs to.
func (a *App) owner() credential.Owner {
	return credential.Owner{
		App:       a.Name,
		Namespace: a.SecretRef.Secret.Namespace,
		Name:      a.SecretRef.Secret.Name,
		UID:       a.SecretUID,
		Version:   a.SecretVersion,
	}
}

// presence is what a request has at the places of a method.
type presence uint8

const (
	absent presence = iota
	once
	contradictory
)

// presented returns the value at the places of a method, and the first that has
// it. Values that differ, and a header or cookie that is repeated, prove nothing:
// something behind may read another than was looked at here.
func (m *Method) presented(h map[string][]string) (value string, place Place, state presence) {
	for _, p := range m.From {
		v, found := p.value(h)
		switch {
		case found == absent:
		case found == contradictory, state == once && v != value:
			return "", Place{}, contradictory
		case state == absent:
			value, place, state = v, p, once
		}
	}
	return value, place, state
}

func (p Place) value(h map[string][]string) (string, presence) {
	if p.Cookie != "" {
		return cookieValue(h["Cookie"], p.Cookie)
	}
	values := h[p.Header]
	switch len(values) {
	case 0:
		return "", absent
	case 1:
		return p.fromHeader(values[0])
	}
	return "", contradictory
}

func (p Place) fromHeader(value string) (string, presence) {
	value = strings.TrimSpace(value)
	if p.Scheme != "" {
		if !hasScheme(value, p.Scheme) {
			return "", absent
		}
		value = strings.TrimSpace(value[len(p.Scheme):])
	}
	if value == "" {
		return "", absent
	}
	return value, once
}

// hasScheme compares without regard to case (RFC 9110 section 11.1). What comes
// after is white space of either kind, as some take it.
func hasScheme(value, scheme string) bool {
	return len(value) > len(scheme) && strings.EqualFold(value[:len(scheme)], scheme) &&
		(value[len(scheme)] == ' ' || value[len(scheme)] == '\t')
}

// cookieValue takes a cookie whose name something behind may take for the same for
// a second one.
func cookieValue(lines []string, name string) (value string, state presence) {
	if len(lines) == 0 {
		return "", absent
	}
	like := confusable(name)
	isIt := func(other string) bool { return other == like }
	for _, line := range lines {
		for pair := range strings.SplitSeq(line, ";") {
			if !carries(pair, isIt) {
				continue
			}
			n, v, _ := strings.Cut(strings.TrimSpace(pair), "=")
			if state == once || strings.TrimSpace(n) != name {
				return "", contradictory
			}
			value, state = strings.Trim(strings.TrimSpace(v), `"`), once
		}
	}
	if value == "" && state == once {
		return "", absent
	}
	return value, state
}
