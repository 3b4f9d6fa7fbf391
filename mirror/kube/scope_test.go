package kube

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

func newFor(scope Scope) (*Source, error) {
	return New(Options{
		Registry: snapshot.Key{Namespace: "team", Name: "registry"},
		Config:   &rest.Config{Host: "https://127.0.0.1:1"},
		Scope:    scope,
	})
}

func TestScopesThatAreRefused(t *testing.T) {
	tests := map[string]struct {
		scope Scope
		err   string
	}{
		"unknown kind":           {Scope{Kind: "galaxy"}, `scope "galaxy": unknown; use cluster, namespaces or referenced`},
		"cluster with a list":    {Scope{Namespaces: []string{"a", "b"}}, "scope cluster: takes no namespaces; remove them, or write scope namespaces a b"},
		"referenced with a list": {Scope{Kind: ScopeReferenced, Namespaces: []string{"a", "b"}}, "scope referenced: takes no namespaces; remove them, or write scope namespaces a b"},
		"no namespace":           {Scope{Kind: ScopeNamespaces}, "scope namespaces: no namespace; list at least one, as in scope namespaces shop"},
		"namespace twice":        {Scope{Kind: ScopeNamespaces, Namespaces: []string{"a", "b", "a"}}, `scope namespaces: "a" is listed twice; remove one`},
		"no name of a namespace": {Scope{Kind: ScopeNamespaces, Namespaces: []string{"A_b"}}, `scope namespaces: "A_b" is no name of a namespace; use lower-case letters, digits and hyphens`},
		"empty name":             {Scope{Kind: ScopeNamespaces, Namespaces: []string{""}}, `scope namespaces: "" is no name of a namespace; use lower-case letters, digits and hyphens`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := newFor(test.scope)
			assert.EqualError(t, err, test.err)
		})
	}
}

func TestSelectorThatCannotBeReadNamesTheOptionAndTheFix(t *testing.T) {
	_, err := newFor(Scope{LabelSelector: "team in web"})
	require.ErrorContains(t, err, `label_selector "team in web": `)
	assert.ErrorContains(t, err, "; write it as in team=web,tier!=db")
}

func TestSourceDescribesItself(t *testing.T) {
	tests := map[string]Scope{
		"kubernetes, scope cluster":                                           {},
		"kubernetes, scope namespaces a b":                                    {Kind: ScopeNamespaces, Namespaces: []string{"a", "b"}},
		"kubernetes, scope referenced":                                        {Kind: ScopeReferenced},
		"kubernetes, scope cluster, label_selector team=web,tier notin (a,b)": {LabelSelector: "team=web,tier notin (a,b)"},
	}
	for text, scope := range tests {
		t.Run(text, func(t *testing.T) {
			source, err := newFor(scope)
			require.NoError(t, err)
			assert.Equal(t, text, source.String())
		})
	}
}

func TestScopeIsCopied(t *testing.T) {
	namespaces := []string{"a"}
	source, err := newFor(Scope{Kind: ScopeNamespaces, Namespaces: namespaces})
	require.NoError(t, err)
	namespaces[0] = "b"
	assert.Equal(t, "kubernetes, scope namespaces a", source.String())
}

func TestOptionsThatAreRefused(t *testing.T) {
	registry := snapshot.Key{Namespace: "team", Name: "registry"}
	_, err := New(Options{Registry: registry})
	require.EqualError(t, err, "kubernetes source: no client configuration; load one")
	for _, key := range []snapshot.Key{{}, {Name: "registry"}, {Namespace: "team"}, {Namespace: "a.b", Name: "registry"}} {
		_, err := New(Options{Registry: key, Config: &rest.Config{}})
		require.EqualError(t, err, `registry "`+key.String()+`": is not the namespace and name of a Secret; write it as in team/registry`)
	}
}
