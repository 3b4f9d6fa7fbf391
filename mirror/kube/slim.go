package kube

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

// slim returns what is needed of a Secret on the way to a Replace: of one that
// is wanted its identity and bytes, of another only that it is there (a stub).
func slim(secret *corev1.Secret, wanted bool) *corev1.Secret {
	kept := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace:       secret.Namespace,
		Name:            secret.Name,
		ResourceVersion: secret.ResourceVersion,
	}}
	if wanted {
		kept.UID, kept.Type, kept.Data = secret.UID, secret.Type, secret.Data
		if mayInject(secret) {
			kept.Labels = map[string]string{snapshot.InjectLabel: "true"}
		}
	}
	return kept
}

// isStub tells what slim made of a Secret that was not wanted: whatever the API
// server sends has a UID.
func isStub(secret *corev1.Secret) bool { return secret.UID == "" }

func keyOf(object metav1.Object) snapshot.Key {
	return snapshot.Key{Namespace: object.GetNamespace(), Name: object.GetName()}
}

// convert copies the bytes.
func convert(secret *corev1.Secret) *snapshot.Secret {
	meta := snapshot.SecretMeta{
		Key:     keyOf(secret),
		UID:     string(secret.UID),
		Version: secret.ResourceVersion,
		Type:    string(secret.Type),

		MayInject: mayInject(secret),
	}
	return snapshot.NewSecret(meta, secret.Data)
}

func mayInject(secret *corev1.Secret) bool { return secret.Labels[snapshot.InjectLabel] == "true" }
