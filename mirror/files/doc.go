// Package files is the Source for hosts without a cluster: it reads Secrets from
// one directory and picks changes up live.
//
// At the top level of the directory, files named *.yaml, *.yml and *.json are
// Kubernetes manifests (a YAML file may hold several documents). Of these,
// Secrets count, Namespaces are passed over, and other kinds are ignored with a
// warning. Below it, namespace/name/key files are Secrets as well, in the layout
// that kubelet mounts them in or as plain files. Names that start with a dot are
// passed over at the top level, names that start with two dots everywhere.
//
// What is read is whole or it does not count:
//   - A file is taken once it has not changed between two looks, and nobody has
//     it open for writing (where the system tells). The same goes for a file
//     that is gone, so that a program that replaces it by delete and create
//     closes nothing.
//   - A tree with a ..data link is read through one target of the link, so its
//     keys always belong together. The keys of a plain tree are whole each.
//   - A manifest that does not parse, and a document in it that is wrong, keep
//     what they defined last.
//   - A Secret that is defined twice is refused, and no other is.
//   - The Registry is never refused: the last good one stays, and a failure
//     says why.
//
// Files are opened beneath the directory only, and the keys of a tree beneath the
// directory of their Secret only. What is read is bounded: a Secret as Kubernetes
// bounds it, the Registry by snapshot.MaxDocument. A Secret has no UID here; its
// version is a keyed hash, so it differs when and only when the content does,
// within one Source. No byte of a Secret is ever logged.
//
// The package must never import Caddy, client-go or k8s.io/api.
package files
