package snapshot

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	kjson "sigs.k8s.io/json"

	"github.com/authz-bridge/authz-bridge/snapshot/credential"
)

// InjectLabel is what a Secret must be labelled with, as "true", for its bytes to
// be given to an app behind: write access to the Registry must not become read
// access to Secrets.
const InjectLabel = "authz-bridge/inject"

// Injection is what the app behind is given: the App's own bytes.
type Injection struct {
	// At is Authorization, or a cookie: other headers are printed by Caddy's log.
	At Place
	// DataKey is the data key that holds the value.
	DataKey string
}

func (i *Injection) equal(other *Injection) bool {
	if i == nil || other == nil {
		return i == other
	}
	return *i == *other
}

type rawInject struct {
	rawPlace
	Key optionalText `json:"key"`
}

// readInject takes the place first, so that it is known whatever else is wrong.
func (p *Policy) readInject(raw rawText) error {
	if !raw.isSet() {
		return nil
	}
	var written *rawInject
	strict, err := kjson.UnmarshalStrict([]byte(raw), &written)
	switch {
	case err != nil:
		return fmt.Errorf("inject: %w", explain(err))
	case len(strict) > 0:
		return fmt.Errorf("inject: %w", explainAll(strict))
	case written == nil:
		return errors.New("inject: is empty; leave the field out")
	}
	place, err := written.check()
	if err != nil {
		return fmt.Errorf("inject.%w", err)
	}
	p.Inject = &Injection{At: place, DataKey: written.Key.value}
	if place.Header != "" && place.Header != authorization {
		return fmt.Errorf("inject.header: %s would be printed by Caddy's debug log; use Authorization or a cookie", place.Header)
	}
	if !ValidDataKey(p.Inject.DataKey) {
		return errors.New("inject.key: missing; name the key that holds the value")
	}
	for i := range p.AnyOf {
		if slices.Contains(p.AnyOf[i].dataKeys(), p.Inject.DataKey) {
			return fmt.Errorf("inject.key: %s is what callers prove themselves by; keep the value under a key of its own", p.Inject.DataKey)
		}
	}
	return p.asks("inject")
}

// injection reads what is given to the app behind.
func (a *App) injection(secret *Secret) (Reason, string) {
	if a.Inject == nil {
		return ReasonAllowed, ""
	}
	if !secret.MayInject() {
		return ReasonSecretInvalid, fmt.Sprintf("secret %s: is not labelled %s: \"true\", so inject may not give it away; let its owner set the label",
			secret.Key(), InjectLabel)
	}
	raw, ok := secret.Value(a.Inject.DataKey)
	if !ok {
		return ReasonSecretKeyAbsent, fmt.Sprintf("secret %s: key %q: does not exist; add it, or name another in inject.key", secret.Key(), a.Inject.DataKey)
	}
	value, ok := a.Inject.clean(raw)
	if credential.IsSomethingElse(value) {
		return ReasonSecretInvalid, fmt.Sprintf("secret %s: key %q: holds what others prove themselves by; name the key of one value in inject.key",
			secret.Key(), a.Inject.DataKey)
	}
	if !ok || a.Inject.At.Cookie != "" && strings.ContainsAny(value, " \",;\\") {
		return ReasonSecretInvalid, fmt.Sprintf("secret %s: key %q: is no value that a header or cookie can carry", secret.Key(), a.Inject.DataKey)
	}
	a.injected = &value
	return ReasonAllowed, ""
}

func (a *App) injects(value *string) bool {
	if a.injected == nil || value == nil {
		return a.injected == value
	}
	return *a.injected == *value
}

// clean takes a scheme that is stored with the value for what it is, also if the
// value was lost.
func (i *Injection) clean(raw string) (string, bool) {
	value, ok := credential.Clean(raw)
	scheme := i.At.Scheme
	switch {
	case scheme == "":
	case strings.EqualFold(value, scheme):
		return "", false
	case hasScheme(value, scheme):
		return strings.TrimSpace(value[len(scheme):]), ok
	}
	return value, ok
}

// inject gives the app behind the App's own bytes, and nothing of the caller's in
// their place. A path that is public gets none: whoever asks for it would act with
// them.
func (a *App) inject(h map[string][]string, reason Reason) {
	if a.Inject == nil {
		return
	}
	at := a.Inject.At
	if at.Cookie == "" {
		delete(h, at.Header)
		if reason == ReasonAllowed {
			h[at.Header] = []string{strings.TrimSpace(at.Scheme + " " + *a.injected)}
		}
		return
	}
	at.remove(h)
	if reason == ReasonAllowed {
		// First, for where two have one name many take the first.
		h["Cookie"] = []string{strings.Join(append([]string{at.Cookie + "=" + *a.injected}, h["Cookie"]...), "; ")}
	}
}
