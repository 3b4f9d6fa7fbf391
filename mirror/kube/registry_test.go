package kube

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A server, or something on the way to it, that drops the field selector must not
// make another Secret the Registry.
func TestOtherSecretsAreNeverTakenForTheRegistry(t *testing.T) {
	named := func(name string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: "uid", ResourceVersion: "7"}}
	}
	r := newRecorder()
	h := &registry{key: shopKey("registry"), title: "watch", sink: r}

	h.replace([]*corev1.Secret{named("aaa"), named("registry"), named("zzz")}, "7")
	assert.Equal(t, shopKey("registry"), r.registry.Key())
	h.upsert(named("other"))
	h.remove(shopKey("other"), "8")
	assert.Equal(t, shopKey("registry"), r.registry.Key())
	assert.False(t, h.wants(shopKey("other")))

	h.replace([]*corev1.Secret{named("aaa")}, "9")
	assert.Nil(t, r.registry)
}
