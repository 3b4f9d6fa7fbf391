package authzbridge

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

// metrics are made once with the bridge and registered anew with every
// configuration, each of which has a registry of its own. It is the observer of
// the Mirror, and reads everything else when it is scraped.
type metrics struct {
	bridge *bridge

	rebuildSeconds prometheus.Histogram
	buildErrors    *prometheus.CounterVec
	resyncs        prometheus.Counter
	sourceErrors   *prometheus.CounterVec
}

func newMetrics(b *bridge) *metrics {
	m := &metrics{
		bridge: b,
		rebuildSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "authz_bridge_rebuild_duration_seconds",
			Help:    "How long the builders took to rebuild the snapshot.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 4, 8),
		}),
		buildErrors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "authz_bridge_build_errors_total",
			Help: "Builds that failed or panicked, by builder.",
		}, []string{"builder"}),
		resyncs: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "authz_bridge_source_resyncs_total",
			Help: "Watches of the source that had to start over from a full list.",
		}),
		sourceErrors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "authz_bridge_source_errors_total",
			Help: "Failed attempts of the source, by kind.",
		}, []string{"kind"}),
	}
	// An increase is seen only of what was there before.
	for _, kind := range mirror.FailureKinds() {
		m.sourceErrors.WithLabelValues(string(kind))
	}
	return m
}

// register adds the metrics to the registry of one configuration.
func (m *metrics) register(registry *prometheus.Registry) error {
	for _, c := range []prometheus.Collector{m.rebuildSeconds, m.buildErrors, m.resyncs, m.sourceErrors, (*gauges)(m.bridge)} {
		var already prometheus.AlreadyRegisteredError
		if err := registry.Register(c); err != nil && !errors.As(err, &already) {
			return fmt.Errorf("registering metrics: %w", err)
		}
	}
	return nil
}

// Rebuilt implements mirror.Observer.
func (m *metrics) Rebuilt(seconds float64) { m.rebuildSeconds.Observe(seconds) }

// BuildFailed implements mirror.Observer.
func (m *metrics) BuildFailed(builder string) { m.buildErrors.WithLabelValues(builder).Inc() }

// Resynced implements mirror.Observer.
func (m *metrics) Resynced() { m.resyncs.Inc() }

// SourceFailed implements mirror.Observer.
func (m *metrics) SourceFailed(kind mirror.FailureKind) {
	m.sourceErrors.WithLabelValues(string(kind)).Inc()
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("authz_bridge_"+name, help, labels, nil)
}

var (
	decisionsDesc  = desc("decisions_total", "Decisions by App (empty where the request belongs to none) and reason.", "app", "reason")
	rebuildsDesc   = desc("rebuilds_total", "Times that the snapshot was rebuilt, whether or not it differed.")
	generationDesc = desc("snapshot_generation", "Generation of the snapshot in service; 0 before the first.")
	appsDesc       = desc("apps", "Apps of the Registry, by what a request for them is answered as of the build.", "reason")
	hostnamesDesc  = desc("hostnames", "Different hostnames of the Registry, wildcards included.")
	conflictsDesc  = desc("hostnames_conflicting", "Hostnames that more than one App claims, so that none serves there.")
	stateDesc      = desc("state", "1 for the state that the Mirror is in.", "state")
	readyDesc      = desc("ready", "1 if requests can be answered.")
	ageDesc        = desc("snapshot_age_seconds", "How long ago all that is served was known to be right; absent while nothing is served.")
	contactDesc    = desc("last_contact_timestamp_seconds", "When the source was last heard from; 0 for never.")
	validatedDesc  = desc("last_validation_timestamp_seconds", "As of when what the source told is known to be right; 0 for never.")
	cacheDesc      = desc("cache_writes_total", "Attempts to store the cache, by result: success or failure.", "result")
	cacheTimeDesc  = desc("cache_last_write_timestamp_seconds", "When the cache was last stored; 0 for never in this process.")
	hashesDesc     = desc("password_hashes_total", "Password hashes computed. A right one is remembered (but for {SHA}, which costs nothing), so a steep rise is a flood.")
	eventsDesc     = desc("events_dropped_total", "Events that were not told because a subscriber did not keep up.")
	degradedDesc   = desc("degraded", "1 for each reason for which the Mirror is degraded now.", "reason")
)

// gauges collects what is read when it is scraped. It is a Collector of our own
// because a child of a CounterVec for each App and reason would cost more memory
// than the App.
type gauges bridge

// Describe implements prometheus.Collector.
func (*gauges) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{decisionsDesc, rebuildsDesc, generationDesc, appsDesc, hostnamesDesc, conflictsDesc, stateDesc, readyDesc, degradedDesc, hashesDesc, ageDesc, contactDesc, validatedDesc, cacheDesc, cacheTimeDesc, eventsDesc} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (g *gauges) Collect(out chan<- prometheus.Metric) {
	c := collection{out}
	s := g.mirror.Current()
	ready, _ := (*bridge)(g).ready()
	c.counter(rebuildsDesc, float64(g.mirror.Rebuilds()))
	c.counter(hashesDesc, float64(g.decider.Hasher.Hashed()))
	c.counter(eventsDesc, float64(g.announcer.dropped.Load()))
	c.gauge(generationDesc, float64(s.Generation()))
	c.gauge(readyDesc, oneIf(ready))
	for _, state := range snapshot.States() {
		c.gauge(stateDesc, oneIf(state == s.State()), state.String())
	}
	st := g.mirror.Status()
	g.collectAge(c, st)
	g.collectDegraded(c, st)
	g.collectApps(c, s)
	g.collectDecisions(c, s)
}

func (*gauges) collectAge(c collection, st mirror.Status) {
	if !st.AsOf.IsZero() {
		c.gauge(ageDesc, st.Age(time.Now()).Seconds())
	}
	c.gauge(contactDesc, timestamp(st.Contact))
	c.gauge(validatedDesc, timestamp(st.Validated))
	if st.Cache == nil {
		return
	}
	c.counter(cacheDesc, float64(st.Cache.Writes), "success")
	c.counter(cacheDesc, float64(st.Cache.Failures), "failure")
	c.gauge(cacheTimeDesc, timestamp(st.Cache.LastWrite))
}

// timestamp is in seconds since the epoch, as Prometheus has times.
func timestamp(at time.Time) float64 {
	if at.IsZero() {
		return 0
	}
	return float64(at.UnixMilli()) / 1000
}

func (*gauges) collectDegraded(c collection, st mirror.Status) {
	active := make(map[mirror.ConditionType]bool)
	for _, condition := range st.Conditions {
		active[condition.Type] = true
	}
	for _, kind := range mirror.ConditionTypes() {
		c.gauge(degradedDesc, oneIf(active[kind]), string(kind))
	}
}

func (g *gauges) collectApps(c collection, s *snapshot.Snapshot) {
	var byReason [snapshot.ReasonCount]int
	hostnames, conflicting := 0, 0
	if apps, ok := snapshot.ViewAt[*snapshot.Apps](s, g.decider.Apps); ok {
		hostnames, conflicting = apps.Hostnames(), apps.Conflicting()
		for i := range apps.Len() {
			byReason[apps.At(i).Reason]++
		}
	}
	c.gauge(hostnamesDesc, float64(hostnames))
	c.gauge(conflictsDesc, float64(conflicting))
	for reason := snapshot.ReasonAppInvalid; reason <= snapshot.ReasonAllowed; reason++ {
		if !reason.OfRequest() {
			c.gauge(appsDesc, float64(byReason[reason]), reason.String())
		}
	}
}

// collectDecisions leaves out what has never happened: most Apps meet only one
// or two reasons.
func (g *gauges) collectDecisions(c collection, s *snapshot.Snapshot) {
	c.tally(g.tallies.none)
	bound, ok := snapshot.ViewAt[*tallies](s, g.tallied)
	if !ok {
		return
	}
	seen := make(map[*tally]struct{}, len(bound.byIndex))
	for _, t := range bound.byIndex {
		if _, repeated := seen[t]; repeated {
			continue // two entries of one name
		}
		seen[t] = struct{}{}
		c.tally(t)
	}
}

func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// collection is where a scrape's metrics go.
type collection struct{ out chan<- prometheus.Metric }

func (c collection) gauge(d *prometheus.Desc, value float64, labels ...string) {
	c.out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
}

func (c collection) counter(d *prometheus.Desc, value float64, labels ...string) {
	c.out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, value, labels...)
}

func (c collection) tally(t *tally) {
	for i := range snapshot.ReasonCount {
		reason := snapshot.Reason(i)
		if n := t.of(reason); n > 0 {
			c.counter(decisionsDesc, float64(n), t.app, reason.String())
		}
	}
}
