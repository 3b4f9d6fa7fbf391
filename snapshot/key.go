package snapshot

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
