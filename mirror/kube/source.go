package kube

import (
	"errors"
	"fmt"
	"sync"

	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

// Options are what a Source is made of.
type Options struct {
	// Registry is the Secret that lists the Apps.
	Registry snapshot.Key
	// Config is how to reach the API server, see LoadConfig. It is copied.
	Config *rest.Config
	// Scope is where referenced Secrets may be. Default: the whole cluster.
	Scope Scope
	// Logger takes what happens. Default: none.
	Logger *zap.Logger
}

// Source watches a Kubernetes API server. Its methods are safe for concurrent
// use.
type Source struct {
	registry snapshot.Key
	scope    Scope
	selector labels.Selector
	config   *rest.Config
	logger   *zap.Logger
	pace     pace

	ledger     *ledger
	once       sync.Once
	referenced chan struct{} // closed by the first Reference
}

var _ mirror.Source = (*Source)(nil)

// New makes a Source without doing any I/O. An error names the option and the
// fix.
func New(o Options) (*Source, error) {
	if !snapshot.ValidLabel(o.Registry.Namespace) || !snapshot.ValidSubdomain(o.Registry.Name) {
		return nil, fmt.Errorf("registry %q: is not the namespace and name of a Secret; write it as in team/registry", o.Registry)
	}
	if o.Config == nil {
		return nil, errors.New("kubernetes source: no client configuration; load one")
	}
	scope, selector, err := o.Scope.normalize()
	if err != nil {
		return nil, err
	}
	s := &Source{
		registry:   o.Registry,
		scope:      scope,
		selector:   selector,
		config:     clientConfig(o.Config),
		logger:     o.Logger,
		pace:       defaultPace(),
		ledger:     newLedger(scope),
		referenced: make(chan struct{}),
	}
	if s.logger == nil {
		s.logger = zap.NewNop()
	}
	s.ledger.quota.logger = s.logger
	return s, nil
}

// String implements mirror.Source.
func (s *Source) String() string { return "kubernetes, " + s.scope.String() }

// Reference implements mirror.Source.
func (s *Source) Reference(refs map[snapshot.Key]snapshot.Reference) {
	s.ledger.reference(refs)
	s.once.Do(func() { close(s.referenced) })
}
