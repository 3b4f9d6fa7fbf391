package snapshot

import (
	"slices"
	"strings"
)

// Secret is what the bridge keeps of one Kubernetes Secret. It is immutable and
// safe for concurrent use.
type Secret struct {
	key     Key
	uid     string
	version string
	kind    string
	inject  bool
	data    []datum // by key
}

type datum struct{ key, value string }

// SecretMeta is a Secret's identity, without its bytes.
type SecretMeta struct {
	Key Key
	// UID tells a recreated Secret from an updated one.
	UID string
	// Version is the Secret's resourceVersion, opaque here.
	Version string
	// Type is the Secret's type, such as "Opaque".
	Type string
	// MayInject says that the Secret's owner lets Apps give its bytes to the apps
	// behind, see InjectLabel. Default: false.
	MayInject bool
}

// NewSecret copies data, so what the caller does to its bytes afterwards
// changes nothing.
func NewSecret(meta SecretMeta, data map[string][]byte) *Secret {
	s := allocate(len(data))
	s.key, s.uid, s.version, s.kind, s.inject = meta.Key, meta.UID, meta.Version, meta.Type, meta.MayInject
	for k, v := range data {
		s.data = append(s.data, datum{k, string(v)})
	}
	slices.SortFunc(s.data, func(a, b datum) int { return strings.Compare(a.key, b.key) })
	return s
}

// allocate puts a value that is the only one beside the rest: most are.
func allocate(values int) *Secret {
	if values != 1 {
		return &Secret{data: make([]datum, 0, values)}
	}
	one := new(struct {
		Secret
		sole [1]datum
	})
	one.data = one.sole[:0]
	return &one.Secret
}

// Key returns the Secret's namespace and name.
func (s *Secret) Key() Key { return s.key }

// UID returns the UID of the object; a recreated Secret has another one.
func (s *Secret) UID() string { return s.uid }

// Version returns the resourceVersion, an opaque string.
func (s *Secret) Version() string { return s.version }

// Type returns the Secret's type, such as "Opaque" or
// "kubernetes.io/basic-auth".
func (s *Secret) Type() string { return s.kind }

// MayInject reports whether the Secret's owner lets Apps give its bytes to the apps
// behind, see InjectLabel.
func (s *Secret) MayInject() bool { return s.inject }

// Value returns the bytes under a data key, as an immutable string. They are
// secret: they must reach no log, error or metric.
func (s *Secret) Value(dataKey string) (string, bool) {
	i, ok := slices.BinarySearchFunc(s.data, dataKey, func(d datum, key string) int { return strings.Compare(d.key, key) })
	if !ok {
		return "", false
	}
	return s.data[i].value, true
}

// Keys returns the names of the data keys in order.
func (s *Secret) Keys() []string {
	keys := make([]string, len(s.data))
	for i := range s.data {
		keys[i] = s.data[i].key
	}
	return keys
}

// Len returns the number of data keys.
func (s *Secret) Len() int { return len(s.data) }

// Equal reports whether both have the same identity, version and bytes.
func (s *Secret) Equal(other *Secret) bool {
	if s == nil || other == nil {
		return s == other
	}
	return s.key == other.key && s.uid == other.uid && s.version == other.version &&
		s.kind == other.kind && s.inject == other.inject && slices.Equal(s.data, other.data)
}

// narrow returns a Secret with only the data keys that ref names; itself if it
// has no others. The values are shared, not copied.
func (s *Secret) narrow(ref Reference) *Secret {
	if s == nil || ref.All || s.hasOnly(ref.Keys) {
		return s
	}
	n := allocate(len(ref.Keys))
	data := n.data
	*n = *s
	n.data = data
	for _, k := range ref.Keys {
		if v, ok := s.Value(k); ok {
			n.data = append(n.data, datum{k, v})
		}
	}
	return n
}

// hasOnly reports whether every data key is among some that have no repeats.
func (s *Secret) hasOnly(dataKeys []string) bool {
	found := 0
	for _, k := range dataKeys {
		if _, ok := s.Value(k); ok {
			found++
		}
	}
	return found == len(s.data)
}

// SecretStatus is what a Source knows about one referenced Secret.
type SecretStatus uint8

// The statuses of a referenced Secret.
const (
	// SecretPending is the zero value: the Source has no answer yet.
	SecretPending SecretStatus = iota
	// SecretPresent means that the Source holds the Secret.
	SecretPresent
	// SecretAbsent means that the Source looked and there is none (or the
	// selectors of the Source do not show it).
	SecretAbsent
	// SecretForbidden means that the Source may not read it, or that it is
	// outside the scope of the Source.
	SecretForbidden
)

// SecretState is the state of one referenced Secret.
type SecretState struct {
	Status SecretStatus
	// Secret is set when Status is SecretPresent, and nil otherwise.
	Secret *Secret
	// Detail says in words why, where that helps an operator.
	Detail string
}

// Present returns the state of a Secret that is there.
func Present(s *Secret) SecretState {
	return SecretState{Status: SecretPresent, Secret: s}
}

// Absent returns the state of a Secret that is not there.
func Absent() SecretState {
	return SecretState{Status: SecretAbsent}
}

// Forbidden returns the state of a Secret that may not be read, and why.
func Forbidden(detail string) SecretState {
	return SecretState{Status: SecretForbidden, Detail: detail}
}

// Equal reports whether two states tell the same.
func (s SecretState) Equal(other SecretState) bool {
	return s.Status == other.Status && s.Detail == other.Detail && s.Secret.Equal(other.Secret)
}
