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
	// BuiltAt is when the snapshot in service was built; absent before the
	// first.
	BuiltAt  *time.Time         `json:"built_at,omitempty"`
	Registry RegistryStatus     `json:"registry"`
	Source   string             `json:"source"`
	Apps     AppsStatus         `json:"apps"`
	Secrets  SecretsStatus      `json:"secrets"`
	Degraded []mirror.Condition `json:"degraded"`
	Rebuilds uint64             `json:"rebuilds"`
	Resyncs  uint64             `json:"resyncs"`
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
	// Warnings are oddities that deny nothing, at most 100 of them.
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
	// Pending are those that the source has not answered for.
	Pending int `json:"pending"`
}

// mostProblems bounds each list in a status.
const mostProblems = 100

func (b *bridge) status() Status {
	st := b.mirror.Status()
	apps, ok := snapshot.ViewAt[*snapshot.Apps](st.Snapshot, b.decider.Apps)
	out := Status{
		State:      st.State.String(),
		Ready:      st.Ready && ok,
		Reasons:    orEmpty(st.Reasons),
		Generation: st.Generation,
		Registry:   registryStatus(st.Registry),
		Source:     st.Source,
		Apps:       appsStatus(apps),
		Secrets:    SecretsStatus{Pending: st.PendingSecrets},
		Degraded:   orEmpty(st.Conditions),
		Rebuilds:   st.Rebuilds,
		Resyncs:    st.Resyncs,
	}
	if !st.BuiltAt.IsZero() {
		out.BuiltAt = &st.BuiltAt
	}
	return out
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

func appsStatus(apps *snapshot.Apps) AppsStatus {
	out := AppsStatus{NotServing: []AppProblem{}, Warnings: []AppWarning{}, Conflicts: []snapshot.Conflict{}}
	if apps == nil {
		return out
	}
	conflicts := apps.Conflicts()
	out.Total, out.Hostnames, out.Conflicting = apps.Len(), apps.Hostnames(), len(conflicts)
	out.Conflicts = conflicts[:min(len(conflicts), mostProblems)]
	for i := range apps.Len() {
		app := apps.At(i)
		out.warn(app)
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

func (s *AppsStatus) warn(app *snapshot.App) {
	for _, w := range app.Warnings {
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
