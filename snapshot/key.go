package snapshot

import (
	"cmp"
	"strings"
)

// Key names one Secret of a cluster. It is comparable, so it serves as a map
// key as it is; its parts are never joined into one string for that purpose.
type Key struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// String returns "namespace/name", for people.
func (k Key) String() string {
	return k.Namespace + "/" + k.Name
}

// Compare orders keys by namespace, then by name.
func (k Key) Compare(other Key) int {
	return cmp.Or(
		strings.Compare(k.Namespace, other.Namespace),
		strings.Compare(k.Name, other.Name),
	)
}
