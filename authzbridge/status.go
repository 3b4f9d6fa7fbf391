package authzbridge

import (
	"time"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

// Status is what `GET /authz_bridge/status` of the admin API answers. It holds no
// byte of any Secret.
type Status struct {
	// State is unsynced, from_cache or live.
	State string `json:"state"`
	Ready bool   `json:"ready"`
	// Reasons say in words why not ready, or what is degraded though ready.
	Reasons []string `json:"reasons"`
	// Generation counts published snapshots; 0 before the first.
	Generation uint64 `json:"generation"`
	// Hash is of the names, UIDs and versions of the Registry and of every Secret in
	// use: replicas with the same hash serve the same. Absent while nothing is served.
	Hash string `json:"hash,omitempty"`
	// BuiltAt is when the snapshot in service was built; absent before the
	// first.
	BuiltAt *time.Time `json:"built_at,omitempty"`
	// AgeSeconds is how long ago all that is served was known to be right, and Oldest
	// names the part that was so the longest ago; absent while nothing is served.
	AgeSeconds *float64 `json:"age_seconds,omitempty"`
	Oldest     string   `json:"oldest,omitempty"`
	// Stale is true once that is longer than max_age: every request is refused.
	Stale bool `json:"stale"`
	// LastContact is when the source was last heard from, LastValidation as of when
	// what it told is known to be right; absent for never.
	LastContact    *time.Time `json:"last_contact,omitempty"`
	LastValidation *time.Time `json:"last_validation,omitempty"`
	// Cache is absent without one.
	Cache    *CacheStatus       `json:"cache,omitempty"`
	Registry RegistryStatus     `json:"registry"`
	Source   string             `json:"source"`
	Apps     AppsStatus         `json:"apps"`
	Secrets  SecretsStatus      `json:"secrets"`
	Degraded []mirror.Condition `json:"degraded"`
	Rebuilds uint64             `json:"rebuilds"`
	Resyncs  uint64             `json:"resyncs"`
}

// CacheStatus is what is kept over a restart.
type CacheStatus struct {
	// Serving is true while it is what requests are answered from.
	Serving bool `json:"serving"`
	// LastWrite is absent until there was one in this process.
	LastWrite *time.Time `json:"last_write,omitempty"`
	Writes    uint64     `json:"writes"`
	Failures  uint64     `json:"failures"`
}

// RegistryStatus is the Registry document in use: the last good one.
type RegistryStatus struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Present is absent while nothing is known.
	Present *bool  `json:"present,omitempty"`
	UID     string `json:"uid,omitempty"`
	Version string `json:"version,omitempty"`
}

// AppsStatus sums the Apps up.
type AppsStatus struct {
	Total     int `json:"total"`
	Serving   int `json:"serving"`
	Hostnames int `json:"hostnames"`
	// NotServing are the Apps that do not serve, at most 100 of them.
	NotServing []AppProblem `json:"not_serving"`
	// Warned counts oddities that deny nothing, of which Warnings lists at most 100.
	Warned   int          `json:"warned"`
	Warnings []AppWarning `json:"warnings"`
	// Conflicting counts the hostnames that more than one App claims, of which
	// Conflicts lists at most 100.
	Conflicting int                 `json:"conflicting"`
	Conflicts   []snapshot.Conflict `json:"conflicts"`
}

// AppProblem says why an App does not serve.
type AppProblem struct {
	App    string `json:"app"`
	Reason string `json:"reason"`
	Detail string `json:"detail"`
}

// AppWarning is an oddity of an App.
type AppWarning struct {
	App     string `json:"app"`
	Warning string `json:"warning"`
}

// SecretsStatus sums the referenced Secrets up.
type SecretsStatus struct {
	// Total are those that Apps refer to. Present, Absent and Forbidden are of what is
	// served.
	Total     int `json:"total"`
	Present   int `json:"present"`
	Absent    int `json:"absent"`
	Forbidden int `json:"forbidden"`
	// Pending are those that the source has not answered for.
	Pending int `json:"pending"`
}

// mostProblems bounds each list in a status.
const mostProblems = 100

func (b *bridge) status() Status {
	st := b.mirror.Status()
	apps, ok := snapshot.ViewAt[*snapshot.Apps](st.Snapshot, b.decider.Apps)
	upstreams, _ := snapshot.ViewAt[*snapshot.Upstreams](st.Snapshot, b.upstreams)
	sum := b.summary(st.Snapshot)
	sum.secrets.Pending = st.PendingSecrets
	out := Status{
		State:      st.State.String(),
		Ready:      st.Ready && ok,
		Reasons:    orEmpty(st.Reasons),
		Generation: st.Generation,
		Hash:       sum.hash,
		Stale:      st.Snapshot.Stale(),
		Registry:   registryStatus(st.Registry),
		Source:     st.Source,
		Apps:       appsStatus(apps, upstreams),
		Secrets:    sum.secrets,
		Degraded:   orEmpty(st.Conditions),
		Rebuilds:   st.Rebuilds,
		Resyncs:    st.Resyncs,
	}
	out.BuiltAt, out.LastContact, out.LastValidation = known(st.BuiltAt), known(st.Contact), known(st.Validated)
	if !st.AsOf.IsZero() {
		age := st.Age(time.Now()).Round(time.Millisecond).Seconds()
		out.AgeSeconds, out.Oldest = &age, st.Oldest
	}
	if st.Cache != nil {
		out.Cache = &CacheStatus{
			Serving:   st.State == snapshot.FromCache,
			LastWrite: known(st.Cache.LastWrite),
			Writes:    st.Cache.Writes,
			Failures:  st.Cache.Failures,
		}
	}
	return out
}

// known leaves a time out that is not known.
func known(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	return &at
}

func registryStatus(st mirror.RegistryStatus) RegistryStatus {
	out := RegistryStatus{
		Namespace: st.Key.Namespace,
		Name:      st.Key.Name,
		UID:       st.UID,
		Version:   st.Version,
	}
	if st.Known {
		out.Present = &st.Present
	}
	return out
}

func appsStatus(apps *snapshot.Apps, upstreams *snapshot.Upstreams) AppsStatus {
	out := AppsStatus{NotServing: []AppProblem{}, Warnings: []AppWarning{}, Conflicts: []snapshot.Conflict{}}
	if apps == nil {
		return out
	}
	conflicts := apps.Conflicts()
	out.Total, out.Hostnames, out.Conflicting = apps.Len(), apps.Hostnames(), apps.Conflicting()
	out.Conflicts = conflicts[:min(len(conflicts), mostProblems)]
	for i := range apps.Len() {
		app := apps.At(i)
		out.warn(app, app.Warnings...)
		if where := upstreams.Of(app); where != nil && where.Err != nil {
			out.warn(app, where.Err.Error())
		}
		if app.Reason == snapshot.ReasonAllowed {
			out.Serving++
			continue
		}
		if len(out.NotServing) < mostProblems {
			out.NotServing = append(out.NotServing, AppProblem{app.Name, app.Reason.String(), app.Detail})
		}
	}
	return out
}

func (s *AppsStatus) warn(app *snapshot.App, warnings ...string) {
	s.Warned += len(warnings)
	for _, w := range warnings {
		if len(s.Warnings) < mostProblems {
			s.Warnings = append(s.Warnings, AppWarning{app.Name, w})
		}
	}
}

// orEmpty makes JSON say [] rather than null.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
