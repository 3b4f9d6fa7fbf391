package kube

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

// ScopeKind says which Secrets are watched.
type ScopeKind string

// The kinds of scope.
const (
	// ScopeCluster watches all namespaces. It takes a ClusterRole.
	ScopeCluster ScopeKind = "cluster"
	// ScopeNamespaces watches the namespaces that are listed. It takes a Role in
	// each.
	ScopeNamespaces ScopeKind = "namespaces"
	// ScopeReferenced watches each referenced Secret by its name, and reads no other.
	// It takes a Role with resourceNames in each of their namespaces.
	ScopeReferenced ScopeKind = "referenced"
)

// Scope says where referenced Secrets may be. One that is outside is forbidden.
// The Registry is watched by its name and need not be inside; Secrets in its
// namespace count as inside only if the scope has that namespace.
type Scope struct {
	// Kind is the kind of scope. Default: ScopeCluster.
	Kind ScopeKind
	// Namespaces are what ScopeNamespaces watches, each once.
	Namespaces []string
	// LabelSelector is what a Secret must match to be seen, as in
	// "team=web,tier!=db". Default: every Secret is seen. The Registry need not
	// match it.
	LabelSelector string
}

// Validate reports what is wrong with the Scope, with the option and the fix.
func (s Scope) Validate() error {
	_, _, err := s.normalize()
	return err
}

// normalize returns the Scope with its defaults, and an error that names the
// option and the fix.
func (s Scope) normalize() (Scope, labels.Selector, error) {
	if s.Kind == "" {
		s.Kind = ScopeCluster
	}
	s.Namespaces = slices.Clone(s.Namespaces)
	if err := s.checkNamespaces(); err != nil {
		return s, nil, err
	}
	selector, err := labels.Parse(s.LabelSelector)
	if err != nil {
		return s, nil, fmt.Errorf("label_selector %q: %w; write it as in team=web,tier!=db", s.LabelSelector, err)
	}
	return s, selector, nil
}

func (s Scope) checkNamespaces() error {
	switch s.Kind {
	case ScopeCluster, ScopeReferenced:
		if len(s.Namespaces) > 0 {
			return fmt.Errorf("scope %s: takes no namespaces; remove them, or write scope namespaces %s",
				s.Kind, strings.Join(s.Namespaces, " "))
		}
		return nil
	case ScopeNamespaces:
		return s.checkList()
	}
	return fmt.Errorf("scope %q: unknown; use cluster, namespaces or referenced", s.Kind)
}

func (s Scope) checkList() error {
	if len(s.Namespaces) == 0 {
		return fmt.Errorf("scope namespaces: no namespace; list at least one, as in scope namespaces shop")
	}
	for i, namespace := range s.Namespaces {
		if !snapshot.ValidLabel(namespace) {
			return fmt.Errorf("scope namespaces: %q is no name of a namespace; use lower-case letters, digits and hyphens", namespace)
		}
		if slices.Contains(s.Namespaces[:i], namespace) {
			return fmt.Errorf("scope namespaces: %q is listed twice; remove one", namespace)
		}
	}
	return nil
}

// byName reports whether each Secret has a watch of its own.
func (s Scope) byName() bool { return s.Kind == ScopeReferenced }

// place tells the watch of the Scope that covers a Secret, if there is one: by the
// namespace and the name that it asks for.
func (s Scope) place(key snapshot.Key) snapshot.Key {
	switch s.Kind {
	case ScopeNamespaces:
		return snapshot.Key{Namespace: key.Namespace}
	case ScopeReferenced:
		return key
	}
	return snapshot.Key{}
}

// targets returns what the watches of the Scope ask for, but those of single Secrets.
func (s Scope) targets() []target {
	if s.byName() {
		return nil
	}
	if s.Kind == ScopeCluster {
		return []target{{title: "secrets in all namespaces", labels: s.LabelSelector}}
	}
	targets := make([]target, len(s.Namespaces))
	for i, namespace := range s.Namespaces {
		targets[i] = target{
			title:     "secrets in namespace " + namespace,
			namespace: namespace,
			labels:    s.LabelSelector,
		}
	}
	return targets
}

// secretTarget is what the watch of one Secret asks for.
func (s Scope) secretTarget(key snapshot.Key) target {
	return target{title: "secret " + key.String(), namespace: key.Namespace, name: key.Name, labels: s.LabelSelector}
}

// String is the Scope as it is written in a configuration.
func (s Scope) String() string {
	text := "scope " + string(s.Kind)
	if s.Kind == ScopeNamespaces {
		text += " " + strings.Join(s.Namespaces, " ")
	}
	if s.LabelSelector != "" {
		text += ", label_selector " + s.LabelSelector
	}
	return text
}
