package mirror

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

const (
	// defaultPersist is PersistInterval.
	defaultPersist = 30 * time.Second

	// refreshInterval is how often what did not change is stored again, so that after
	// a restart its age is not overstated by more.
	refreshInterval = 5 * time.Minute

	// lockRetry and lockPatience are for the process, or the Mirror of the
	// configuration before, that is about to end.
	lockRetry    = time.Second
	lockPatience = 10 * time.Second
)

// keeper has the Cache to itself: neither a request nor a build waits for a disk.
type keeper struct {
	*Mirror
	cache    Cache
	timeout  time.Duration
	interval time.Duration

	changed chan struct{} // has one signal when there is something to do
	good    atomic.Pointer[good]
	unfit   atomic.Bool // what is stored is to be removed
	record  record

	stored     *good     // what was stored last; run's alone
	storedAsOf time.Time // run's alone
	lockedFor  time.Duration
}

// good is what was published last with everything in sync.
type good struct {
	objects  snapshot.Objects
	document *snapshot.Secret // the Registry; nil if absent
	cluster  string
}

func newKeeper(m *Mirror, o Options) *keeper {
	k := &keeper{Mirror: m, cache: o.Cache, timeout: o.StartupTimeout, interval: o.PersistInterval, changed: make(chan struct{}, 1)}
	if k.interval <= 0 {
		k.interval = defaultPersist
	}
	return k
}

// offer is called after every live publish. It costs nothing: the Objects are
// immutable.
func (l *loop) offer() {
	if l.keeper == nil {
		return
	}
	if l.objects.pending > 0 {
		// What was good before is not what is known to be right now.
		l.keeper.good.Store(nil)
		return
	}
	l.keeper.good.Store(&good{l.objects.built, l.objects.document, l.cluster})
	l.keeper.wake()
}

// drop has what is stored removed.
func (k *keeper) drop() {
	k.unfit.Store(true)
	k.wake()
}

func (k *keeper) wake() {
	select {
	case k.changed <- struct{}{}:
	default:
	}
}

func (k *keeper) run(ctx context.Context) {
	defer k.close()
	if !k.restore(ctx) {
		return
	}
	k.persist(ctx)
	k.persistNow()
}

func (k *keeper) close() {
	if err := k.cache.Close(); err != nil {
		k.logger.Warn("cache not closed", zap.Error(err))
	}
}

// restore loads what is stored if the Source takes too long. It reports false if the
// Mirror has ended before.
func (k *keeper) restore(ctx context.Context) bool {
	timer := time.NewTimer(k.timeout)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-k.isLive:
		return true
	case <-timer.C:
	}
	contents, err := k.cache.Load()
	switch {
	case errors.Is(err, ErrNoCache):
		k.logger.Info("no cache yet; waiting for the source")
	case err != nil:
		k.refuseCache(err.Error())
	case k.isTooOld(contents):
		k.refuseCache(fmt.Sprintf("it was last right at %s, longer ago than max_age %s", contents.Validated.UTC().Format(time.RFC3339), k.maxAge))
	default:
		k.inbox.put(func(n *news) { n.contents = &contents })
	}
	return true
}

func (k *keeper) isTooOld(c Contents) bool {
	return k.maxAge > 0 && time.Since(c.Validated) >= k.maxAge
}

// persist stores what is good when it changed, and no more often than it may.
func (k *keeper) persist(ctx context.Context) {
	refresh := time.NewTicker(refreshInterval)
	defer refresh.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.changed:
		case <-refresh.C:
		}
		if pause := k.persistNow(); pause > 0 && !sleep(ctx, pause) {
			return
		}
	}
}

// persistNow returns how long to wait before it may be called again.
func (k *keeper) persistNow() time.Duration {
	if k.unfit.Swap(false) && !k.remove() {
		k.unfit.Store(true)
		k.wake()
		return lockRetry
	}
	g, asOf := k.good.Load(), k.ages.oldest().asOf.Round(0)
	if g == nil || g == k.stored && !asOf.After(k.storedAsOf) {
		return 0
	}
	err := k.cache.Store(g.contents(asOf))
	if errors.Is(err, ErrCacheLocked) && k.lockedFor < lockPatience {
		k.lockedFor += lockRetry
		k.wake()
		return lockRetry
	}
	k.note(err)
	if err == nil {
		k.stored, k.storedAsOf, k.lockedFor = g, asOf, 0
	} else {
		k.wake()
	}
	return k.interval
}

func (g *good) contents(asOf time.Time) Contents {
	return Contents{Cluster: g.cluster, Validated: asOf, Registry: g.document, Secrets: maps.Collect(g.objects.Secrets())}
}

// remove reports whether what is stored is gone.
func (k *keeper) remove() bool {
	err := k.cache.Drop()
	if err != nil && k.conditions.raise(CacheWriteFailed, "", "the cache is not removed: "+err.Error()) {
		k.logger.Error("cache not removed", zap.Error(err))
	}
	return err == nil
}

func (k *keeper) note(err error) {
	k.record.note(err, time.Now())
	if err == nil {
		k.conditions.clear(CacheRefused, "")
		if k.conditions.clear(CacheWriteFailed, "") {
			k.logger.Info("cache written again")
		}
		return
	}
	if k.conditions.raise(CacheWriteFailed, "", "the cache is not written: "+err.Error()) {
		k.logger.Error("cache not written", zap.Error(err))
	}
}

// CacheStatus is what is known about the Cache.
type CacheStatus struct {
	// Writes and Failures count attempts to store, in this process.
	Writes, Failures uint64
	// LastWrite is when the last one succeeded; zero for never.
	LastWrite time.Time
}

type record struct {
	mu     sync.Mutex // guards status
	status CacheStatus
}

func (r *record) note(err error, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.status.Failures++
		return
	}
	r.status.Writes++
	r.status.LastWrite = now
}

func (r *record) get() CacheStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status
}
