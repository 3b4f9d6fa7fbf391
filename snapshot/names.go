package snapshot

// Lengths from RFC 1035 section 2.3.4 and Kubernetes' "Object Names and IDs".
const (
	maxLabel  = 63
	maxDomain = 253
)

func lowerAlnum(c byte) bool {
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9'
}

// ValidLabel reports whether s is a DNS-1123 label, which names App and
// namespace alike (Kubernetes, "Object Names and IDs").
func ValidLabel(s string) bool {
	if s == "" || len(s) > maxLabel || !lowerAlnum(s[0]) || !lowerAlnum(s[len(s)-1]) {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !lowerAlnum(c) && c != '-' {
			return false
		}
	}
	return true
}

// ValidSubdomain reports whether s is a DNS-1123 subdomain, which names a Secret
// (Kubernetes, "Object Names and IDs"). Its labels have no length of their own.
func ValidSubdomain(s string) bool {
	if s == "" || len(s) > maxDomain {
		return false
	}
	edge := true // the next byte starts a label
	for i := range len(s) {
		c := s[i]
		switch {
		case lowerAlnum(c):
			edge = false
		case edge:
			return false
		case c == '.':
			if s[i-1] == '-' {
				return false
			}
			edge = true
		case c != '-':
			return false
		}
	}
	return lowerAlnum(s[len(s)-1])
}

// ValidDataKey reports whether s can be a key in a Secret's data (Kubernetes API
// reference, Secret: alphanumeric characters, '-', '_' or '.').
func ValidDataKey(s string) bool {
	if s == "" || len(s) > maxDomain || s == "." || s == ".." {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if !lowerAlnum(c) && !('A' <= c && c <= 'Z') && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	// Names that start so are refused by the API server as well, and are what
	// kubelet uses for its own entries in a mounted volume.
	return len(s) < 2 || s[:2] != ".."
}
