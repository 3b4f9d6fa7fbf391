package snapshot

import (
	"slices"
	"strings"
)

// Reference says which data keys of a Secret the Registry refers to.
type Reference struct {
	// All means every data key: some App names none.
	All bool
	// Keys are the data keys that are named, in order and without repeats. It
	// is empty where All is set. It is shared, and must not be changed.
	Keys []string
}

func collectReferences(entries []*Entry) map[Key]Reference {
	refs := make(map[Key]Reference, len(entries))
	shared := make(keyLists)
	for _, e := range entries {
		if e.Err == nil {
			secret := e.SecretRef.Secret
			refs[secret] = shared.withPolicy(shared.with(refs[secret], e.SecretRef.DataKey), e.Policy)
		}
	}
	for key, ref := range refs {
		if len(ref.Keys) > 1 {
			slices.Sort(ref.Keys)
			ref.Keys = shared.list(slices.Compact(ref.Keys))
			refs[key] = ref
		}
	}
	return refs
}

// keyLists are the lists of data keys that there are, of which there are few.
type keyLists map[string][]string

func (shared keyLists) list(dataKeys []string) []string {
	const between = "/" // no data key has one
	text := strings.Join(dataKeys, between)
	known, ok := shared[text]
	if !ok {
		known = slices.Clip(slices.Clone(dataKeys)) // without what it was cut out of, and without room
		shared[text] = known
	}
	return known
}

// withPolicy adds what the ways of a Policy read.
func (shared keyLists) withPolicy(r Reference, p *Policy) Reference {
	for i := range p.AnyOf {
		keys := p.AnyOf[i].dataKeys()
		if len(keys) == 0 {
			return Reference{All: true}
		}
		for _, key := range keys {
			r = shared.with(r, key)
		}
	}
	if p.Inject != nil {
		r = shared.with(r, p.Inject.DataKey)
	}
	return r
}

// with adds a data key, be it there already or not.
func (shared keyLists) with(r Reference, dataKey string) Reference {
	switch {
	case r.All || dataKey == "":
		return Reference{All: true}
	case len(r.Keys) == 0:
		r.Keys = shared.list([]string{dataKey})
	case len(r.Keys) > few || !slices.Contains(r.Keys, dataKey):
		r.Keys = append(r.Keys, dataKey) // a list that is shared has no room
	}
	return r
}
