package authzbridge

import (
	"context"
	"fmt"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyevents"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

// The events that the app emits through Caddy's events app, in the order in which
// they happened, but that publishes are told once a second at most, those between
// as one. They carry no byte of any Secret. What happens while no configuration
// runs is not told.
const (
	// EventPublished tells that what requests are decided by has changed. Its data:
	// `generation` and `previous` (the one that was told before, 0 for none), `state`,
	// `stale`, `apps` and `hostnames` (how many there are), and how many Apps are
	// `added`, `removed`, `changed`, `opened` and `closed` since the previous one, with
	// the names of 20 at most in `added_apps` and so on.
	EventPublished = "authz_bridge_published"
	// EventDegraded tells that a condition began. Its data: `condition`, `subject`,
	// `message` and `since` (RFC 3339), as in the status.
	EventDegraded = "authz_bridge_degraded"
	// EventRecovered tells that a condition ended, with the same data.
	EventRecovered = "authz_bridge_recovered"
	// EventStale tells, after EventDegraded, that every request is refused because what
	// is known is older than max_age. EventRecovered with the condition Stale ends it.
	EventStale = "authz_bridge_stale"
)

// mostNames bounds each list of Apps in an event.
const mostNames = 20

// publication is what is told of a Snapshot.
type publication struct {
	generation uint64
	state      snapshot.State
	stale      bool
	apps       *snapshot.Apps // nil for none
}

func newPublication(s *snapshot.Snapshot, slot snapshot.Slot) publication {
	apps, _ := snapshot.ViewAt[*snapshot.Apps](s, slot)
	return publication{generation: s.Generation(), state: s.State(), stale: s.Stale(), apps: apps}
}

// since is the data of the event.
func (p publication) since(before publication) map[string]any {
	data := map[string]any{
		"generation": p.generation,
		"previous":   before.generation,
		"state":      p.state.String(),
		"stale":      p.stale,
		"apps":       0,
		"hostnames":  0,
	}
	if p.apps != nil {
		data["apps"], data["hostnames"] = p.apps.Len(), p.apps.Hostnames()
	}
	d := p.apps.Since(before.apps, mostNames)
	for kind, of := range map[string]snapshot.AppNames{
		"added": d.Added, "removed": d.Removed, "changed": d.Changed, "opened": d.Opened, "closed": d.Closed,
	} {
		data[kind], data[kind+"_apps"] = of.Count, orEmpty(of.Names)
	}
	return data
}

func conditionData(c mirror.Condition) map[string]any {
	return map[string]any{
		"condition": string(c.Type),
		"subject":   c.Subject,
		"message":   c.Message,
		"since":     c.Since.UTC().Format(time.RFC3339),
	}
}

// stage is the events app of one configuration. It is used once all apps of the
// configuration have started: its subscriptions are not complete before, and must
// not be read while they are being made.
type stage struct {
	ctx    caddy.Context
	events *caddyevents.App
	bridge *bridge
}

// newStage finds the events app, which Caddy makes if it is not configured.
func newStage(ctx caddy.Context, b *bridge) (*stage, error) {
	app, err := ctx.App("events")
	if err != nil {
		return nil, fmt.Errorf("events: %w", err)
	}
	events, ok := app.(*caddyevents.App)
	if !ok {
		return nil, fmt.Errorf("events: app is a %T", app)
	}
	s := &stage{ctx: ctx, events: events, bridge: b}
	return s, events.On("started", s)
}

// Handle implements caddyevents.Handler: the configuration has started.
func (s *stage) Handle(context.Context, caddy.Event) error {
	s.bridge.announcer.use(s)
	return nil
}

func (s *stage) emit(name string, data func() map[string]any) {
	if s.events.ShouldEmit(name) {
		s.events.Emit(s.ctx, name, data())
	}
}

// Interface guards.
var _ caddyevents.Handler = (*stage)(nil)
