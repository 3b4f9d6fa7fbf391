package kube

import "k8s.io/apimachinery/pkg/util/resourceversion"

// isNewer reports whether version a is newer than b. An empty b is older than
// all; versions that cannot be compared count as newer, as they come later.
func isNewer(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err != nil || order > 0
}

// isOlder reports whether version a is known to be older than b.
func isOlder(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}
