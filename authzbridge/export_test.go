package authzbridge

import (
	"context"

	"github.com/caddyserver/caddy/v2"
	"go.uber.org/zap"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

// HeldRequests counts the requests that wait for the first Snapshot of the running
// configuration.
func HeldRequests() int64 {
	b, err := configuredBridge(caddy.ActiveContext())
	if err != nil {
		return 0
	}
	return b.held.Load()
}

// RegisterBuilder adds a Builder to the Mirror of the running configuration.
func RegisterBuilder(builder snapshot.Builder) error {
	b, err := configuredBridge(caddy.ActiveContext())
	if err != nil {
		return err
	}
	_, err = b.mirror.Register(builder)
	return err
}

// CurrentApps returns the App View of the running configuration, for tests that
// look inside one Snapshot.
func CurrentApps() (*snapshot.Apps, bool) {
	b, err := configuredBridge(caddy.ActiveContext())
	if err != nil {
		return nil, false
	}
	return snapshot.ViewAt[*snapshot.Apps](b.mirror.Current(), b.decider.Apps)
}

// NewTallyBuilder makes the Builder of the counters, for the benchmark that weighs them.
func NewTallyBuilder() snapshot.Builder { return newTallyBuilder() }

// TellCondition has the running configuration's events told that a condition began.
func TellCondition(c mirror.Condition) error {
	b, err := configuredBridge(caddy.ActiveContext())
	if err != nil {
		return err
	}
	b.announcer.condition(c, true)
	return nil
}

// Announce starts an announcer that tells nobody yet. The functions it returns tell it
// that a condition began or ended, and end it.
func Announce(logger *zap.Logger) (told func(c mirror.Condition, began bool), end func()) {
	a := newAnnouncer(logger)
	go a.run()
	go a.complain()
	return a.condition, a.end
}

// SummaryOf returns what the admin API tells of Apps and of the Objects beside them.
func SummaryOf(apps *snapshot.Apps, upstreams *snapshot.Upstreams, o snapshot.Objects) (hash string, secrets SecretsStatus) {
	sum := summarize(1, apps, upstreams, &versions{o})
	return sum.hash, sum.secrets
}

// AdviceOn returns what an operator is told of a reason.
func AdviceOn(reason snapshot.Reason) (step, remedy string) {
	return advices[reason].step, advices[reason].remedy
}

// AwaitNextGeneration waits until the Mirror of the running configuration has published
// once more than it has now.
func AwaitNextGeneration(ctx context.Context) error {
	b, err := configuredBridge(caddy.ActiveContext())
	if err != nil {
		return err
	}
	published := make(chan struct{}, 1)
	remove := b.mirror.OnPublish(func(*snapshot.Snapshot) {
		select {
		case published <- struct{}{}:
		default:
		}
	})
	defer remove()
	select {
	case <-published:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// CurrentGeneration is that of the Snapshot in service of the running configuration.
func CurrentGeneration() uint64 {
	b, err := configuredBridge(caddy.ActiveContext())
	if err != nil {
		return 0
	}
	return b.mirror.Current().Generation()
}

// Permit asks a permission of the running configuration for a name as it is, which
// certmagic might have refused.
func Permit(ctx context.Context, p *Permission, name string) (err error) {
	if p.bridge, err = configuredBridge(caddy.ActiveContext()); err != nil {
		return err
	}
	return p.CertificateAllowed(ctx, name)
}
