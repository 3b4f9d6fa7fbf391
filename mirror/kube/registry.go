package kube

import (
	"sync"

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

	mu      sync.Mutex // guards the rest
	told    string     // version of the Registry, or registryGone; empty before the first
	failing bool       // the watch is out, and tries again by itself
}

var _ handler = (*registry)(nil)

func (r *registry) upsert(secret *corev1.Secret) {
	if keyOf(secret) == r.key {
		r.tell(secret)
	}
}

func (r *registry) remove(key snapshot.Key, _ string) {
	if key == r.key {
		r.tell(nil)
	}
}

func (r *registry) tell(secret *corev1.Secret) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if secret == nil {
		r.told = registryGone
		r.sink.Registry(nil)
		return
	}
	r.told = secret.ResourceVersion
	r.sink.Registry(convert(secret))
}

// misses reports whether the watch takes itself for well and has not brought a
// version that somebody has seen, and what it has brought.
func (r *registry) misses(version string) (told string, missed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.failing || r.told == "" || r.told == version:
		return r.told, false
	case r.told == registryGone || version == registryGone:
		return r.told, true
	}
	return r.told, isNewer(version, r.told)
}

func (r *registry) replace(secrets []*corev1.Secret, _ string) {
	if r.synced {
		r.sink.Resynced(r.title)
	}
	r.synced = true
	for _, secret := range secrets {
		if keyOf(secret) == r.key {
			r.tell(secret)
			return
		}
	}
	r.tell(nil)
}

func (*registry) bookmark(string) {}

func (r *registry) wants(key snapshot.Key) bool { return key == r.key }

func (r *registry) failed(f mirror.Failure) {
	r.setFailing(true)
	r.sink.Failed(r.title, f)
}

func (r *registry) recovered() {
	r.setFailing(false)
	r.sink.Recovered(r.title)
}

func (r *registry) setFailing(failing bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failing = failing
}
