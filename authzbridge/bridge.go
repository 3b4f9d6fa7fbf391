package authzbridge

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/caddyserver/caddy/v2"
	"go.uber.org/zap"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
	"github.com/authz-bridge/authz-bridge/snapshot/credential"
)

// bridges keeps what outlives a reload, by a hash of the app's configuration.
var bridges = caddy.NewUsagePool()

// hold is how long a request waits for the first Snapshot, mostHeld how many do
// so at once: an outage at the start must not fill the memory.
const (
	hold     = 2 * time.Second
	mostHeld = 1024
)

// bridge is what outlives a reload: the Mirror with its Snapshot, and the
// counters. It is shared by all configurations with an equal app.
type bridge struct {
	mirror    *mirror.Mirror
	decider   snapshot.Decider
	tallies   *tallyBuilder
	tallied   snapshot.Slot
	upstreams snapshot.Slot
	metrics   *metrics

	versioned snapshot.Slot
	summaries summaries
	announcer *announcer

	held   atomic.Int64               // requests and handshakes that wait for the first Snapshot
	logger atomic.Pointer[zap.Logger] // the newest of the loggers in use

	starting sync.Mutex // guards the fields below
	loggers  []*zap.Logger
	started  bool
	failure  error // why there is no source; told at the start
}

// plan is what a bridge is made of.
type plan struct {
	registry       snapshot.Key
	source         Source
	cache          *Cache // nil for none
	startupTimeout time.Duration
	maxAge         time.Duration
}

// poolKey is a hash of the whole configuration of the app, so that no setting is
// ever served from a Mirror that was made with another.
func (p plan) poolKey(source []byte) ([sha256.Size]byte, error) {
	fingerprint, err := p.source.Fingerprint()
	if err != nil {
		return [sha256.Size]byte{}, err
	}
	whole, err := json.Marshal([]any{p.registry, source, fingerprint, p.cache.fingerprint(), p.startupTimeout, p.maxAge})
	return sha256.Sum256(whole), err
}

// canonical returns the same bytes for JSON that means the same.
func canonical(raw json.RawMessage) ([]byte, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		return nil, err
	}
	return json.Marshal(value)
}

// acquireBridge takes a bridge from the pool. The release counts once.
func acquireBridge(key any, p plan, logger *zap.Logger) (*bridge, func(), error) {
	pooled, _, err := bridges.LoadOrNew(key, func() (caddy.Destructor, error) {
		return newBridge(p, logger)
	})
	if err != nil {
		return nil, nil, err
	}
	release := sync.OnceFunc(func() { _, _ = bridges.Delete(key) })
	b, ok := pooled.(*bridge)
	if !ok {
		release()
		return nil, nil, fmt.Errorf("pool holds a %T", pooled)
	}
	return b, release, nil
}

// newBridge makes the Mirror without starting it. That there is no source is told
// at the start: a configuration for a Pod can be validated outside of one.
func newBridge(p plan, logger *zap.Logger) (*bridge, error) {
	b := &bridge{tallies: newTallyBuilder()}
	b.metrics = newMetrics(b)
	b.logger.Store(logger)
	relayed := newRelay(&b.logger)
	b.announcer = newAnnouncer(relayed)
	options := mirror.Options{
		Registry:       p.registry,
		StartupTimeout: p.startupTimeout,
		MaxAge:         p.maxAge,
		Logger:         relayed,
		Observer:       b.metrics,
		OnCondition:    b.announcer.condition,
	}
	if err := p.connect(&options); err != nil {
		b.failure, options.Source, options.Cache = err, noSource{}, nil
	}
	var err error
	if b.mirror, err = mirror.New(options); err != nil {
		return nil, err
	}
	if err := b.register(); err != nil {
		return nil, err
	}
	b.announcer.apps = b.decider.Apps
	b.mirror.OnPublish(b.announcer.published)
	return b, nil
}

// connect makes the source and the cache, without a network or a disk.
func (p plan) connect(o *mirror.Options) (err error) {
	if o.Source, err = p.source.NewSource(p.registry, o.Logger); err != nil || p.cache == nil {
		return err
	}
	origin, err := p.source.Origin()
	if err != nil {
		return err
	}
	o.PersistInterval = time.Duration(p.cache.PersistInterval)
	o.Cache, err = p.cache.open(p.registry, origin)
	return err
}

func (b *bridge) register() error {
	var slots [4]snapshot.Slot
	for i, builder := range []snapshot.Builder{snapshot.NewAppsBuilder(), b.tallies, snapshot.NewUpstreamsBuilder(), new(versionsBuilder)} {
		slot, err := b.mirror.Register(builder)
		if err != nil {
			return err
		}
		slots[i] = slot
		b.metrics.buildErrors.WithLabelValues(builder.Name()) // an increase is seen only of what was there before
	}
	b.decider = snapshot.Decider{
		Apps:   slots[0],
		Now:    time.Now,
		Hasher: credential.NewHasher(max(1, runtime.GOMAXPROCS(0)/2)), // all of them would delay everybody else
	}
	b.tallied, b.upstreams, b.versioned = slots[1], slots[2], slots[3]
	return nil
}

// start starts the Mirror once. Later calls only add the newer logger.
func (b *bridge) start(logger *zap.Logger) error {
	b.starting.Lock()
	defer b.starting.Unlock()
	b.loggers = append(b.loggers, logger)
	b.logger.Store(logger)
	if b.failure != nil || b.started {
		return b.failure
	}
	b.started = true
	go b.announcer.run()
	go b.announcer.complain()
	return b.mirror.Start()
}

// drop stops the use of a logger, whose writers are about to be closed: its
// configuration has been replaced, or has failed while the one before goes on.
func (b *bridge) drop(logger *zap.Logger) {
	b.starting.Lock()
	defer b.starting.Unlock()
	b.loggers = slices.DeleteFunc(b.loggers, func(l *zap.Logger) bool { return l == logger })
	if len(b.loggers) > 0 {
		b.logger.Store(b.loggers[len(b.loggers)-1])
	}
}

// Destruct implements caddy.Destructor. Caddy does not wait for the requests of a
// configuration that goes, so while some may be held for the first Snapshot the
// Mirror goes on without it, for as long as they are.
func (b *bridge) Destruct() error {
	b.announcer.end()
	if !b.isWaiting() {
		b.mirror.Stop()
		return nil
	}
	go func() {
		b.mirror.Await(context.Background(), hold)
		b.mirror.Stop()
	}()
	return nil
}

func (b *bridge) isWaiting() bool {
	b.starting.Lock()
	defer b.starting.Unlock()
	return b.started && b.mirror.Current() == nil
}

// await returns the Snapshot in service. While there has never been one it waits a
// little: what arrives during a rolling restart or a reload is served late rather than
// refused.
func (b *bridge) await(ctx context.Context) *snapshot.Snapshot {
	defer b.held.Add(-1)
	if b.held.Add(1) > mostHeld {
		return b.mirror.Current()
	}
	return b.mirror.Await(ctx, hold)
}

// ready reports whether requests can be answered, and in words why not or what is
// degraded though ready. It takes the View that they are answered from.
func (b *bridge) ready() (bool, []string) {
	ready, reasons := b.mirror.Ready()
	_, ok := snapshot.ViewAt[*snapshot.Apps](b.mirror.Current(), b.decider.Apps)
	return ready && ok, reasons
}

// noSource is the source of a Mirror that cannot be started.
type noSource struct{}

func (noSource) Run(context.Context, mirror.Sink)              {}
func (noSource) Reference(map[snapshot.Key]snapshot.Reference) {}
func (noSource) String() string                                { return "none" }
