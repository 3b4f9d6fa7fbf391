// Package credential reads the formats in which operators keep credentials in
// Secrets, and tells whether what a caller presents is one of them.
//
// An explicit format always counts. Without one the format is decided by what is
// there, and never guessed: a Secret that could be read in two ways is an error
// that names the fix. What is read is kept as SHA-256 digests.
//
// The package does no I/O and reads no clock. It must never import Caddy or
// client-go.
package credential
