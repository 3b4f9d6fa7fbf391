package mirror

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

// stopWait bounds how long Stop waits for the Source and a running build.
const stopWait = 2 * time.Second

// Options are what a Mirror is made of.
type Options struct {
	// Registry is the Secret that lists the Apps.
	Registry snapshot.Key
	// Source is where the objects come from. The Mirror owns it.
	Source Source
	// Cache keeps the last good objects over a restart. The Mirror owns it. Default:
	// none.
	Cache Cache
	// StartupTimeout is how long the Cache waits for the Source. Default: 0, it is
	// served at once.
	StartupTimeout time.Duration
	// PersistInterval is the shortest time between two writes of the Cache. Default:
	// 30 s.
	PersistInterval time.Duration
	// MaxAge is how old what is served may become. Default: 0, for ever.
	MaxAge time.Duration
	// Logger takes what happens. Default: none.
	Logger *zap.Logger
	// Observer is told what happens, for metrics. Default: none.
	Observer Observer
	// OnCondition is called when a condition begins and when it ends, in order, by
	// goroutines of the Mirror, which wait for it: it must return at once and must not
	// call the Mirror. Default: none.
	OnCondition func(c Condition, began bool)
}

// Mirror is the long-lived owner of a Source, the rebuild loop and the published
// Snapshot. Its methods are safe for concurrent use.
type Mirror struct {
	registry snapshot.Key
	source   Source
	observer Observer
	logger   *zap.Logger

	maxAge time.Duration

	inbox   *inbox
	current atomic.Pointer[snapshot.Snapshot]
	first   chan struct{} // closed at the first publish
	stopped chan struct{} // closed by Stop

	publishing sync.Mutex // guards generation and untold, and keeps publishes in order
	generation uint64
	untold     []*snapshot.Snapshot // that the listeners do not know of
	telling    sync.Mutex           // held while the listeners are called
	begin      sync.Once            // closes first

	isLive   chan struct{} // closed when what the Source says is served
	liveOnce sync.Once     // closes it
	ages     ages
	keeper   *keeper // nil without a Cache

	registrations registrations
	listeners     listeners
	conditions    conditions
	progress      progress
	rebuilds      atomic.Uint64
	resyncs       atomic.Uint64

	lifecycle sync.Mutex // guards the fields below
	started   bool
	cancel    context.CancelFunc
	running   sync.WaitGroup
}

// New makes a Mirror without doing any I/O.
func New(o Options) (*Mirror, error) {
	if o.Source == nil {
		return nil, errors.New("mirror: no source")
	}
	if !snapshot.ValidLabel(o.Registry.Namespace) || !snapshot.ValidSubdomain(o.Registry.Name) {
		return nil, errors.New("mirror: registry is not the namespace and name of a Secret")
	}
	m := &Mirror{
		registry:   o.Registry,
		source:     o.Source,
		observer:   o.Observer,
		logger:     o.Logger,
		inbox:      newInbox(),
		maxAge:     o.MaxAge,
		ages:       newAges(),
		conditions: newConditions(o.OnCondition),
		first:      make(chan struct{}),
		isLive:     make(chan struct{}),
		stopped:    make(chan struct{}),
	}
	if m.observer == nil {
		m.observer = silent{}
	}
	if m.logger == nil {
		m.logger = zap.NewNop()
	}
	if o.Cache != nil {
		m.keeper = newKeeper(m, o)
	}
	return m, nil
}

// Start runs the Source and the rebuild loop. It does not wait for either. A
// Mirror can be started once, and not after Stop.
func (m *Mirror) Start() error {
	m.lifecycle.Lock()
	defer m.lifecycle.Unlock()
	if m.started {
		return errors.New("mirror: started or stopped before; make a new one")
	}
	m.started = true
	ctx, cancel := context.WithCancel(context.Background())
	m.cancel = cancel
	m.running.Go(func() { m.source.Run(ctx, (*sink)(m)) })
	m.running.Go(func() { newLoop(m).run(ctx) })
	m.running.Go(func() { m.watchAge(ctx) })
	if m.keeper != nil {
		m.running.Go(func() { m.keeper.run(ctx) })
	}
	m.logger.Info("mirror started",
		zap.Stringer("registry", m.registry), zap.Stringer("source", m.source))
	return nil
}

// Stop ends the Source and the rebuild loop, stores what is good once more, and
// returns within 2 s even if one of them hangs. The last Snapshot stays readable, and nothing is published
// after it. Stopping again does nothing.
func (m *Mirror) Stop() {
	if !m.end() {
		return
	}
	done := make(chan struct{})
	go func() { m.running.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(stopWait):
		m.logger.Warn("mirror still stopping", zap.Stringer("source", m.source))
	}
}

// end reports whether there is something to wait for.
func (m *Mirror) end() bool {
	m.lifecycle.Lock()
	defer m.lifecycle.Unlock()
	if m.hasStopped() {
		return false
	}
	close(m.stopped)
	running := m.started
	m.started = true
	if running {
		m.cancel()
	}
	return running
}

func (m *Mirror) hasStopped() bool {
	select {
	case <-m.stopped:
		return true
	default:
		return false
	}
}

// Current returns the Snapshot in service, nil before the first. It is one
// atomic load.
func (m *Mirror) Current() *snapshot.Snapshot { return m.current.Load() }

// Initialized is closed at the first publish.
func (m *Mirror) Initialized() <-chan struct{} { return m.first }

// Await returns the Snapshot in service. While there has never been one it waits
// for it, until ctx is done, most has passed or the Mirror is stopped, and then
// returns nil.
func (m *Mirror) Await(ctx context.Context, most time.Duration) *snapshot.Snapshot {
	if s := m.Current(); s != nil {
		return s
	}
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-m.first:
	case <-m.stopped:
	case <-timer.C:
	case <-ctx.Done():
	}
	return m.Current()
}

// Rebuilds counts how often the Builders ran.
func (m *Mirror) Rebuilds() uint64 { return m.rebuilds.Load() }

// Resyncs counts how often a watch of the Source had to start over.
func (m *Mirror) Resyncs() uint64 { return m.resyncs.Load() }

type silent struct{}

func (silent) Rebuilt(float64)          {}
func (silent) BuildFailed(string)       {}
func (silent) Resynced()                {}
func (silent) SourceFailed(FailureKind) {}
