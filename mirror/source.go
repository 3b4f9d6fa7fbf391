package mirror

import (
	"context"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

// Source is where the Registry and the referenced Secrets come from.
type Source interface {
	// Run watches until ctx is done and tells sink. It is called once, on a
	// goroutine of its own, and returns when no goroutine of its own will call
	// sink any more. It retries by itself whatever may pass.
	Run(ctx context.Context, sink Sink)

	// Reference replaces the set of Secrets to watch. The Source answers for
	// each that is new in it, with Sink.Secrets, as soon as it knows. It tells a
	// Secret with all its data keys, so that another choice among them, which
	// each Reference says, needs no answer. It must not block, and must not keep
	// Secrets that are left out. The map is not changed afterwards by either
	// side.
	Reference(refs map[snapshot.Key]snapshot.Reference)

	// String describes the Source for status and logs, such as
	// "kubernetes, scope cluster".
	String() string
}

// Sink takes what a Source sees. Its methods cost no more than what they are
// given, never wait for a build, and may be called by any goroutine. They never
// call the Source, which may hold a lock of its own meanwhile. Of several calls
// about one object the last one counts.
type Sink interface {
	// Registry tells the Registry's Secret, or nil when it is absent. The first
	// call says that the Registry's watch is in sync.
	Registry(secret *snapshot.Secret)

	// Secrets tells the states of referenced Secrets. Others are ignored, also
	// if they are referenced later. The map is not kept.
	Secrets(states map[snapshot.Key]snapshot.SecretState)

	// Fresh tells as of when what was told before it is known to be right. It may be
	// called often.
	Fresh(f Freshness)

	// Cluster identifies the cluster that the objects are of, once there is contact
	// with it: by what it is told from others, a slash, and a UID. Only two that are
	// alike before the slash can be compared. A Source without clusters never calls
	// it.
	Cluster(id string)

	// Failed tells that one attempt of a watch failed. A watch is named for
	// people, such as "secrets in namespace shop".
	Failed(watch string, failure Failure)

	// Recovered tells that a watch that failed is served again, or that there is
	// no such watch any more.
	Recovered(watch string)

	// Resynced tells that a watch had to start over from a full list.
	Resynced(watch string)
}

// FailureKind is the kind of a Source's failure. The set is closed, so a kind
// can label a metric.
type FailureKind string

// The kinds of failure.
const (
	// FailureContact: nobody answered, or not in a way that could be used.
	FailureContact FailureKind = "contact"
	// FailureUnauthorized: the credential of the Source is not accepted.
	FailureUnauthorized FailureKind = "unauthorized"
	// FailureForbidden: the credential lacks a permission.
	FailureForbidden FailureKind = "forbidden"
	// FailureInvalid: what is there cannot be understood.
	FailureInvalid FailureKind = "invalid"
	// FailureExcess: more is asked for than the Source watches.
	FailureExcess FailureKind = "excess"
)

// FailureKinds returns all kinds.
func FailureKinds() []FailureKind {
	return []FailureKind{FailureContact, FailureUnauthorized, FailureForbidden, FailureInvalid, FailureExcess}
}

// Failure is one failed attempt.
type Failure struct {
	Kind FailureKind
	// Detail says in words what happened. It holds no secret.
	Detail string
}

// Observer is told what happens in a Mirror, for metrics. Its methods are called
// by the Mirror's goroutines and must return at once.
type Observer interface {
	// Rebuilt tells that the Builders ran, and for how long in seconds.
	Rebuilt(seconds float64)
	// BuildFailed tells that a Builder failed or panicked.
	BuildFailed(builder string)
	// Resynced tells that a watch had to start over.
	Resynced()
	// SourceFailed tells that an attempt of the Source failed.
	SourceFailed(kind FailureKind)
}
