// Package authzbridge holds the Caddy modules of authz-bridge, one per file: the
// app that owns the Mirror, its sources, the handler that authorizes requests, the
// matcher, the permission for certificates, the upstreams, the readiness handler, the
// admin API and the metrics.
//
// It must never import Kubernetes types; mirror/kube keeps them to itself.
package authzbridge
