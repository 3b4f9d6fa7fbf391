// Package command adds `caddy authz-bridge` to Caddy: questions to a running Caddy
// (status, apps, explain), and to the files of a Registry (lint, rbac).
//
// The questions are asked at the admin API and share its structs. The files are read
// by the very code that the Mirror runs. The package must never import caddyfile or
// Kubernetes.
package command
