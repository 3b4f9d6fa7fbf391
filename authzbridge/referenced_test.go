package authzbridge_test

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
)

// The least rights are those to list and watch, by their names, the Registry and the
// Secrets of Apps, here in three namespaces.
func TestEveryCredentialIsRotatedLiveWithTheLeastRights(t *testing.T) {
	w := newTown(t)
	user := "least-" + w.namespace
	w.scope, w.kubeconfig = "scope referenced", w.Kubeconfig(t, w.User(user))
	all := allRotations(t)
	namespaces := []string{"", w.Namespace(t, "suburb"), w.Namespace(t, "village")}
	names := map[string][]string{"": {"registry"}}
	for i := range all {
		r := &all[i]
		r.namespace = namespaces[i%len(namespaces)]
		names[r.namespace] = append(names[r.namespace], r.app)
	}
	for namespace, secrets := range names {
		if namespace == "" {
			namespace = w.namespace
		}
		w.Grant(t, user, namespace, rbacv1.PolicyRule{
			APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: secrets, Verbs: []string{"list", "watch"},
		})
	}
	rotateAll(t, w, all)
}
