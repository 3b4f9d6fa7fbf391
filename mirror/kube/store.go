package kube

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

// handler takes what one watch brings. Its first five methods are called by one
// goroutine at a time.
type handler interface {
	// upsert takes a Secret that was added or changed.
	upsert(secret *corev1.Secret)
	// remove takes the end of a Secret (or that the selectors stopped showing
	// it). The version is empty if it is not known.
	remove(key snapshot.Key, version string)
	// replace takes all Secrets as of a version. Those that were not wanted when
	// they came are stubs.
	replace(secrets []*corev1.Secret, version string)
	// bookmark says that everything up to a version has come.
	bookmark(version string)
	// wants reports whether the bytes of a Secret are needed.
	wants(key snapshot.Key) bool

	// failed and recovered take the end of an attempt, from any goroutine.
	failed(mirror.Failure)
	recovered()
}

// store is a Reflector's store that keeps nothing. It tells how far the watch has
// come after the handler has taken what came.
type store struct {
	handler
	progress *progress
	asked    func() time.Time // when everything was asked for that a Replace brings
}

var (
	_ cache.TransformingStore      = store{}
	_ cache.ReflectorBookmarkStore = store{}
)

// Add implements cache.ReflectorStore.
func (s store) Add(object any) error { return s.Update(object) }

// Update implements cache.ReflectorStore.
func (s store) Update(object any) error {
	secret, err := secretIn(object)
	if err == nil {
		s.upsert(secret)
		s.progress.reached(secret.ResourceVersion)
	}
	return err
}

// Delete implements cache.ReflectorStore.
func (s store) Delete(object any) error {
	if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
		namespace, name, err := cache.SplitMetaNamespaceKey(last.Key)
		if err == nil {
			// What it carries is older than the end of the Secret, if it is there.
			s.remove(snapshot.Key{Namespace: namespace, Name: name}, "")
		}
		return err
	}
	secret, err := secretIn(object)
	if err == nil {
		s.remove(keyOf(secret), secret.ResourceVersion)
		s.progress.reached(secret.ResourceVersion)
	}
	return err
}

// Replace implements cache.ReflectorStore.
func (s store) Replace(objects []any, version string) error {
	secrets := make([]*corev1.Secret, len(objects))
	for i, object := range objects {
		secret, err := secretIn(object)
		if err != nil {
			return err
		}
		secrets[i] = secret
	}
	s.replace(secrets, version)
	s.progress.synced(s.asked(), version)
	return nil
}

// Resync implements cache.ReflectorStore.
func (store) Resync() error { return nil }

// Bookmark implements cache.ReflectorBookmarkStore.
func (s store) Bookmark(version string) error {
	s.bookmark(version)
	s.progress.reached(version)
	return nil
}

// Transformer implements cache.TransformingStore: what comes before a Replace is
// gathered by the Reflector, slim.
func (s store) Transformer() cache.TransformFunc {
	return func(object any) (any, error) {
		secret, err := secretIn(object)
		if err != nil {
			return nil, err
		}
		return slim(secret, s.wants(keyOf(secret))), nil
	}
}

func secretIn(object any) (*corev1.Secret, error) {
	secret, ok := object.(*corev1.Secret)
	if !ok {
		return nil, fmt.Errorf("watch of secrets: got a %T", object)
	}
	return secret, nil
}
