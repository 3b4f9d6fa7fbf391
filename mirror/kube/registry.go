package kube

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

// registry is the handler of the Registry's watch, which asks for one Secret. It
// looks for itself which one it is: whoever may write another would be obeyed if
// something on the way drops the field selector.
type registry struct {
	key    snapshot.Key
	title  string
	sink   mirror.Sink
	synced bool
}

var _ handler = (*registry)(nil)

func (r *registry) upsert(secret *corev1.Secret) {
	if keyOf(secret) == r.key {
		r.sink.Registry(convert(secret))
	}
}

func (r *registry) remove(key snapshot.Key, _ string) {
	if key == r.key {
		r.sink.Registry(nil)
	}
}

func (r *registry) replace(secrets []*corev1.Secret, _ string) {
	if r.synced {
		r.sink.Resynced(r.title)
	}
	r.synced = true
	for _, secret := range secrets {
		if keyOf(secret) == r.key {
			r.sink.Registry(convert(secret))
			return
		}
	}
	r.sink.Registry(nil)
}

func (*registry) bookmark(string) {}

func (r *registry) wants(key snapshot.Key) bool { return key == r.key }

func (r *registry) failed(f mirror.Failure) { r.sink.Failed(r.title, f) }

func (r *registry) recovered() { r.sink.Recovered(r.title) }
