// Package mirror keeps a Snapshot up to date with a Source.
//
// A Mirror owns the Source, the rebuild loop and the published Snapshot. One
// goroutine owns the Objects and calls the Builders; readers take the Snapshot
// with one atomic load. There is no leader and no lease: every replica does this
// for itself.
//
// Sources live in packages below this one. The package must never import Caddy
// or client-go.
package mirror
