// Package snapshot is the pure heart of authz-bridge: it turns Objects (the
// Registry document and the referenced Secrets) into one immutable Snapshot,
// and answers a request from it.
//
// Everything in a Snapshot is built in one pass and never changed again, so a
// reader that holds one sees a hostname index and an App set that agree.
//
// The package does no I/O, starts no goroutine and reads no clock. It must
// never import Caddy or client-go.
package snapshot
