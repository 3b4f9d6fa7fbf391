package mirror

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

// Status is what a Mirror tells about itself at one moment. It holds no byte of
// any Secret.
type Status struct {
	// Snapshot is the one in service that the rest is about; nil before the
	// first.
	Snapshot *snapshot.Snapshot
	State    snapshot.State
	// Synced is true once every watch has brought everything, in this process.
	Synced bool
	// Ready and Reasons are those of Mirror.Ready.
	Ready   bool
	Reasons []string
	// Generation counts published Snapshots; 0 before the first.
	Generation uint64
	// BuiltAt is when the Snapshot in service was built; zero before the first.
	BuiltAt time.Time
	// Registry is what is known of the Registry document in use.
	Registry RegistryStatus
	// Source describes where the objects come from.
	Source string
	// PendingSecrets counts the referenced Secrets without an answer.
	PendingSecrets int
	// AsOf is as of when all that is served is known to be right, and Oldest names
	// the part that it is the time of; zero while nothing is served.
	AsOf   time.Time
	Oldest string
	// Contact is when the Source last heard from where the objects are, Validated as
	// of when what it told is known to be right; zero for never.
	Contact, Validated time.Time
	// Cache is nil without one.
	Cache      *CacheStatus
	Conditions []Condition
	Rebuilds   uint64
	Resyncs    uint64
}

// Age is how old what is served is at a time.
func (s Status) Age(now time.Time) time.Duration { return age{asOf: s.AsOf}.at(now) }

// RegistryStatus is the Registry document in use: the last good one.
type RegistryStatus struct {
	Key     snapshot.Key
	Known   bool // there has been a good one, or its absence is known
	Present bool
	UID     string
	Version string
}

// progress is what the loop tells about itself.
type progress struct {
	mu       sync.Mutex // guards the fields below
	registry *snapshot.Registry
	pending  int
	cached   *snapshot.Registry // that of the Cache, while that is served
	synced   bool               // nothing has been pending once
	settleBy time.Time          // from when on what is pending does not count against readiness
}

func (p *progress) set(registry *snapshot.Registry, pending int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.registry, p.pending = registry, pending
	p.synced = p.synced || registry != nil && pending == 0
}

func (p *progress) serve(cached *snapshot.Registry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cached = cached
}

func (p *progress) published(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.settleBy = now.Add(readyWait)
}

func (p *progress) get() known {
	p.mu.Lock()
	defer p.mu.Unlock()
	return known{p.registry, p.cached, p.pending, p.synced, p.synced || !time.Now().Before(p.settleBy)}
}

// known is the progress at one moment.
type known struct {
	registry        *snapshot.Registry
	cached          *snapshot.Registry
	pending         int
	synced, settled bool
}

// Synced reports whether every watch has brought everything once, in this
// process.
func (m *Mirror) Synced() bool { return m.progress.get().synced }

// Ready reports whether requests can be answered: there is a Snapshot that is not
// stale, and it is from the Cache, or the Source has answered for every Secret once, or
// 15 s have passed without. The reasons say in words why not, or what is degraded
// though ready.
func (m *Mirror) Ready() (bool, []string) {
	return m.ready(m.Current(), m.progress.get(), m.conditions.list())
}

func (m *Mirror) ready(s *snapshot.Snapshot, k known, active []Condition) (bool, []string) {
	var reasons []string
	switch {
	case k.pending > 0:
		reasons = append(reasons, fmt.Sprintf("%d referenced secrets: not read yet", k.pending))
	case s != nil || slices.ContainsFunc(active, isMalformed):
	case k.registry == nil:
		reasons = append(reasons, fmt.Sprintf("registry %s: not read yet", m.registry))
	default:
		reasons = append(reasons, "first snapshot: not built yet")
	}
	for _, c := range active {
		reasons = append(reasons, c.words())
	}
	return s != nil && !s.Stale() && (k.settled || s.State() == snapshot.FromCache), reasons
}

// isMalformed reports a Registry that was read, though not understood.
func isMalformed(c Condition) bool { return c.Type == RegistryMalformed }

func (c Condition) words() string {
	if c.Type == BuildFailed || c.Subject == "" {
		return c.Message
	}
	return c.Subject + ": " + c.Message
}

// Status returns what the Mirror tells about itself now.
func (m *Mirror) Status() Status {
	current, active := m.Current(), m.conditions.list()
	k := m.progress.get()
	st := Status{
		Snapshot:       current,
		State:          current.State(),
		Synced:         k.synced,
		Generation:     current.Generation(),
		Registry:       RegistryStatus{Key: m.registry},
		Source:         m.source.String(),
		PendingSecrets: k.pending,
		Conditions:     active,
		Rebuilds:       m.Rebuilds(),
		Resyncs:        m.Resyncs(),
	}
	if m.keeper != nil {
		cache := m.keeper.record.get()
		st.Cache = &cache
	}
	st.Contact, st.Validated = m.ages.contact(), m.ages.validated()
	st.Ready, st.Reasons = m.ready(current, k, active)
	if current != nil {
		st.BuiltAt = current.BuiltAt()
		oldest := m.ages.oldest()
		st.AsOf, st.Oldest = oldest.asOf, oldest.of
	}
	registry := k.registry
	if st.State == snapshot.FromCache {
		registry = k.cached
	}
	if registry != nil {
		st.Registry.Known = true
		st.Registry.Present = registry.Present()
		st.Registry.UID = registry.UID()
		st.Registry.Version = registry.Version()
	}
	return st
}
