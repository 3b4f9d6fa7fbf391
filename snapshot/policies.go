package snapshot

import "slices"

// policies are those that were read before: most Apps of a document are written
// alike, and what they share stays in the processor's cache.
type policies map[policyText]readPolicy

// policyText is all that a Policy is made from. It must not forget anything.
type policyText struct {
	dataKey string
	raw     rawPolicy
}

type readPolicy struct {
	policy *Policy
	err    error
}

// knownPolicies find the one of an earlier document that is equal.
type knownPolicies struct {
	some []*Policy           // of those before, the first few
	same map[*Policy]*Policy // what was found
}

// mostKnown bounds what each Policy is compared with.
const mostKnown = 32

func newKnownPolicies(r *Registry) knownPolicies {
	k := knownPolicies{same: make(map[*Policy]*Policy)}
	for _, e := range r.entries {
		if len(k.some) == mostKnown {
			break
		}
		if !slices.Contains(k.some, e.Policy) {
			k.some = append(k.some, e.Policy)
		}
	}
	return k
}

// find returns p itself if there is none.
func (k knownPolicies) find(p *Policy) *Policy {
	if found, ok := k.same[p]; ok {
		return found
	}
	found := p
	if i := slices.IndexFunc(k.some, p.equal); i >= 0 {
		found = k.some[i]
	}
	k.same[p] = found
	return found
}

// openPolicy is that of an entry that says nothing.
var openPolicy = &Policy{Strip: true}

// read returns with an error what could be read all the same: callers of an entry
// that is wrong send their keys to the same places.
func (shared policies) read(raw *rawPolicy, dataKey string) (*Policy, error) {
	if *raw == (rawPolicy{}) {
		return openPolicy, nil
	}
	text := policyText{dataKey, *raw}
	known, ok := shared[text]
	if !ok {
		known.policy, known.err = raw.parse(dataKey)
		shared[text] = known
	}
	return known.policy, known.err
}
