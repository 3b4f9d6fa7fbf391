// Package kube is the Source that watches a Kubernetes API server.
//
// One watch asks for the Registry by its name. Once that is in sync and the
// Mirror has said what it references, the watches of the scope start: one over
// all namespaces, or one for each, or one for each referenced Secret, which comes
// and goes with that. A watch is a client-go Reflector over a store that keeps
// nothing but versions, so memory follows what is referenced and not what the
// cluster holds. What becomes referenced while its watch runs is read on its own.
//
// The way of a change: the watcher makes attempts and the stream judges them;
// the store hands what comes to the registry handler or to an area, which is the
// ledger's part for one watch; the ledger decides what is news and tells the
// Sink.
//
// The package must never import Caddy, nor anything above the package mirror.
package kube
