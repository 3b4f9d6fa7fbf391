// Package credential reads the formats in which operators keep credentials in
// Secrets, and tells whether what a caller presents is one of them.
//
// An explicit format always counts. Without one the format is decided by what is
// there, and never guessed: a Secret that could be read in two ways is an error
// that names the fix. API keys and plain passwords are kept as SHA-256 digests,
// hashes of passwords as they are written, and public keys as such; a value that
// signs tokens has to be kept itself.
//
// The package does no I/O and reads no clock. It must never import Caddy or
// client-go.
package credential
