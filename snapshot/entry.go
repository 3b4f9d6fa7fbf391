package snapshot

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// entry checks what was read. It never fails: what is wrong is in the Err of the
// Entry, which keeps the hostnames that could be read.
func (raw *rawEntry) entry(registry Key, index int, shared policies) *Entry {
	e := &Entry{Name: raw.Name, upstreams: raw.Upstreams}
	if !ValidLabel(raw.Name) {
		e.Name = "apps[" + strconv.Itoa(index) + "]"
		e.refuse(fmt.Errorf("name: %s is no DNS-1123 label; use lower-case letters, digits and hyphens", quote(raw.Name)))
	}
	e.addHostnames(raw.Hostnames)
	if raw.ExpiresAt.isSet() {
		e.addExpiry(raw.ExpiresAt.text())
	}
	if raw.AllowCIDRs.isSet() {
		e.addCIDRs(raw.AllowCIDRs.list())
	}
	ref, err := raw.SecretRef.check(registry)
	if err != nil {
		e.refuse(err)
	}
	if e.Policy, err = shared.read(&raw.rawPolicy, ref.DataKey); err != nil {
		e.refuse(err)
	}
	if e.Err == nil {
		e.SecretRef = ref
	}
	return e
}

func (e *Entry) addHostnames(hostnames []string) {
	if len(hostnames) == 0 {
		e.refuse(errors.New("hostnames: missing; list at least one"))
	}
	e.Hostnames = make([]string, 0, len(hostnames))
	var seen map[string]struct{}
	if len(hostnames) > few {
		seen = make(map[string]struct{}, len(hostnames))
	}
	var again string
	repeats := 0
	for _, h := range hostnames {
		name, err := normalizePattern(h)
		if err != nil {
			e.refuse(fmt.Errorf("hostnames: %s is no hostname; write a DNS name, an IP address, or *. and a DNS name", quote(h)))
			continue
		}
		if e.has(name, seen) {
			again, repeats = name, repeats+1
			continue
		}
		e.Hostnames = append(e.Hostnames, name)
	}
	if repeats > 0 {
		e.Warnings = append(e.Warnings, fmt.Sprintf("hostnames: %d repeats, the last %q; remove them", repeats, again))
	}
}

// few hostnames are looked through one by one, which most Apps have.
const few = 8

// has reports whether a hostname was there before.
func (e *Entry) has(name string, seen map[string]struct{}) bool {
	if seen == nil {
		return slices.Contains(e.Hostnames, name)
	}
	_, twice := seen[name]
	seen[name] = struct{}{}
	return twice
}

func (e *Entry) addExpiry(expiry optionalText) {
	if !expiry.set {
		return
	}
	at, err := time.Parse(time.RFC3339, expiry.value)
	if err != nil || at.IsZero() {
		e.refuse(fmt.Errorf("expiresAt: %s is no time; write it as in 2027-03-01T00:00:00Z, or leave the field out", expiry.quote()))
		return
	}
	e.ExpiresAt = at
}

// check applies the default of the namespace, which is the Registry's.
func (r *rawSecretRef) check(registry Key) (SecretRef, error) {
	if r == nil {
		return SecretRef{}, errors.New("secretRef: missing; name the Secret that holds the App's bytes")
	}
	ref := SecretRef{Secret: Key{Namespace: registry.Namespace, Name: r.Name}, DataKey: r.Key.value}
	if r.Namespace.set {
		ref.Secret.Namespace = r.Namespace.value
	}
	switch {
	case !ValidLabel(ref.Secret.Namespace):
		return SecretRef{}, fmt.Errorf("secretRef.namespace: %s is no namespace; leave the field out for the Registry's", r.Namespace.quote())
	case !ValidSubdomain(r.Name):
		return SecretRef{}, fmt.Errorf("secretRef.name: %s is no name of a Secret", quote(r.Name))
	case r.Key.set && !ValidDataKey(r.Key.value):
		return SecretRef{}, fmt.Errorf("secretRef.key: %s is no key of a Secret; leave the field out for any", r.Key.quote())
	case ref.Secret == registry:
		return SecretRef{}, errors.New("secretRef: names the Registry itself; name the Secret that holds the App's bytes")
	}
	return ref, nil
}

// quote shows what is written, be it a string or not.
func (o optionalText) quote() string {
	if o.wrong != "" {
		return o.wrong
	}
	return quote(o.value)
}
