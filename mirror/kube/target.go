package kube

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/rest"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

// excludedTypes are never listed: there are many of them, they are large, and no
// App keeps its bytes in one.
func excludedTypes() []corev1.SecretType {
	return []corev1.SecretType{"helm.sh/release.v1", corev1.SecretTypeServiceAccountToken}
}

func isExcluded(kind corev1.SecretType) bool { return slices.Contains(excludedTypes(), kind) }

// target is what one watch asks the API server for.
type target struct {
	title     string // names the watch, for people
	namespace string // empty for all
	name      string // empty for all
	labels    string // empty for any
}

func registryTarget(key snapshot.Key) target {
	return target{title: "registry " + key.String(), namespace: key.Namespace, name: key.Name}
}

// request is a list or a watch. It is made once only, so that no attempt goes
// unseen.
func (t target) request(client rest.Interface, options metav1.ListOptions) *rest.Request {
	options.FieldSelector = t.fields().String()
	options.LabelSelector = t.labels
	return client.Get().
		NamespaceIfScoped(t.namespace, t.namespace != "").
		Resource("secrets").
		VersionedParams(&options, metav1.ParameterCodec).
		MaxRetries(0)
}

func (t target) fields() fields.Selector {
	if t.name != "" {
		return fields.OneTermEqualSelector(metav1.ObjectNameField, t.name)
	}
	var terms []fields.Selector
	for _, kind := range excludedTypes() {
		terms = append(terms, fields.OneTermNotEqualSelector("type", string(kind)))
	}
	return fields.AndSelectors(terms...)
}

// absent says of a Secret that a list does not have what else may be the reason.
func (t target) absent() snapshot.SecretState {
	if t.labels == "" {
		return snapshot.Absent()
	}
	return snapshot.SecretState{
		Status: snapshot.SecretAbsent,
		Detail: "does not exist, or its labels do not match label_selector " + t.labels + "; create it, or add the labels",
	}
}

// denied says which permission is missing, and the Role that gives it.
func (t target) denied(verb string) string {
	switch {
	case t.name != "":
		return fmt.Sprintf("may not %s secret %s/%s; bind a Role in namespace %s that allows list and watch on secrets with resourceNames %s",
			verb, t.namespace, t.name, t.namespace, t.name)
	case t.namespace != "":
		return fmt.Sprintf("may not %s secrets in namespace %s; bind a Role in that namespace that allows get, list and watch on secrets",
			verb, t.namespace)
	}
	return fmt.Sprintf("may not %s secrets in all namespaces; bind a ClusterRole that allows get, list and watch on secrets, or use scope namespaces", verb)
}
