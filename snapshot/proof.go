package snapshot

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/authz-bridge/authz-bridge/snapshot/credential"
)

// proof is what the callers of one App prove themselves by: the keys of each
// method, in the order of anyOf.
type proof struct {
	keys       []*credential.Keys
	challenges []string
}

// equal compares what was read: after a restore of the cluster other bytes may have
// the version of those before.
func (p *proof) equal(other *proof) bool {
	if p == nil || other == nil {
		return p == other
	}
	return slices.EqualFunc(p.keys, other.keys, (*credential.Keys).Equal)
}

// readProof reads the keys of every method. One that cannot be read closes the
// App: a method that is left out might be the one that was meant.
func (a *App) readProof(secret *Secret) (Reason, string) {
	if len(a.AnyOf) == 0 {
		return ReasonAllowed, ""
	}
	p := &proof{keys: make([]*credential.Keys, len(a.AnyOf))}
	a.Warnings = slices.Clone(a.Warnings)
	for i, m := range a.AnyOf {
		if _, ok := secret.Value(m.DataKey); m.DataKey != "" && !ok {
			return ReasonSecretKeyAbsent, fmt.Sprintf("secret %s: key %q: does not exist; add it, or name another in anyOf[%d]", secret.Key(), m.DataKey, i)
		}
		keys, warnings, err := credential.ReadKeys(secret, credential.Spec{Format: m.Format, DataKey: m.DataKey, Client: a.Name})
		if err != nil {
			return ReasonSecretInvalid, fmt.Sprintf("secret %s: %v", secret.Key(), err)
		}
		p.keys[i] = keys
		for _, w := range warnings {
			a.Warnings = append(a.Warnings, fmt.Sprintf("secret %s: %s", secret.Key(), w))
		}
		if c := m.challenge(); !slices.Contains(p.challenges, c) {
			p.challenges = append(p.challenges, c)
		}
	}
	a.proof = p
	return ReasonAllowed, ""
}

// challenge is for the WWW-Authenticate header (RFC 9110 section 11.6.1). The
// realm says nothing that the status does not.
func (m Method) challenge() string {
	scheme := "ApiKey"
	for _, p := range m.From {
		if p.Scheme != "" {
			scheme = p.Scheme
			break
		}
	}
	return scheme + ` realm="restricted"`
}

// Challenges are what a caller that has not proved itself is told. They must not
// be changed.
func (a *App) Challenges() []string {
	if a.proof == nil {
		return nil
	}
	return a.proof.challenges
}

// authenticate tries the methods in order; the first that proves the caller wins.
func (a *App) authenticate(h map[string][]string, now func() time.Time) (identity string, by Place, reason Reason) {
	reason = ReasonCredentialsMissing
	for i, m := range a.AnyOf {
		value, place, state := m.presented(h)
		switch state {
		case absent:
			continue
		case contradictory:
			return "", Place{}, ReasonCredentialsInvalid
		}
		client, result := a.proof.keys[i].Find(value, now())
		switch {
		case result == credential.Valid:
			return client, place, ReasonAllowed
		case result == credential.Expired:
			reason = ReasonCredentialsExpired
		case reason == ReasonCredentialsMissing:
			reason = ReasonCredentialsInvalid
		}
	}
	return "", Place{}, reason
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
func (m Method) presented(h map[string][]string) (value string, place Place, state presence) {
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
	like := confusable(name)
	for _, line := range lines {
		for pair := range strings.SplitSeq(line, ";") {
			if !carries(pair, like) {
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
