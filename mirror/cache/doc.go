// Package cache keeps the last good Objects in one sealed file, so that a process
// that starts without its Source can serve what another one knew.
//
// The file lies in a directory of its own, beside a lock file that at most one
// writer holds. It is replaced whole: at any moment, power cuts included, there
// is the old file or the new one. It is made of
//
//	preamble  magic, format version and how long the next part is
//	header    JSON: of what and as of when it is; no Secret
//	checksum  SHA-256 of all above, to tell damage from another key
//	body      the Contents: gzip, then AES-256-GCM with all above as additional data
//
// The key of the body is derived from the configured one and a salt of the file.
//
// A file counts whole or not at all. One that is cut short, altered, sealed with
// another key, of another origin, from the future, or that other users could have
// read or put there, is refused, and the error says why and what to do. A file of
// ours that somebody puts back later is not noticed here: its age is all that
// bounds it.
//
// On Windows neither owners nor permission bits are looked at.
//
// The package must never import Caddy or client-go.
package cache
