package authzbridge

import (
	"context"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

// footing is what one Snapshot says of the host of a request, as far as anything may
// ask. It is not the Snapshot: a request that lasts, such as a WebSocket, must not keep
// a whole generation in memory.
type footing struct {
	snapshot.Standing

	host       string // as the request named it
	generation uint64 // 0 while there is no Snapshot
	guards     *snapshot.Guards
	tally      *tally
	upstreams  *snapshot.AppUpstreams
	populated  bool // the Registry has Apps
}

// stand gives a verdict its footing, unless it has one for the host already: whatever
// asks about one request is told by one Snapshot. A Host that was changed meanwhile is
// another question, and the Snapshot in service answers it.
func (b *bridge) stand(ctx context.Context, v *verdict, host string) {
	if v.footing.generation != 0 && v.host == host {
		return
	}
	s := b.mirror.Current()
	if s == nil && !v.waited {
		v.waited = true
		s = b.await(ctx)
	}
	v.footing = b.look(s, host)
}

// look finds a host in a Snapshot, which may be nil.
func (b *bridge) look(s *snapshot.Snapshot, host string) footing {
	f := footing{Standing: b.decider.Find(s, host), host: host, generation: s.Generation()}
	f.tally = b.tallyOf(s, f.App)
	if apps, ok := snapshot.ViewAt[*snapshot.Apps](s, b.decider.Apps); ok {
		f.guards, f.populated = apps.Guards(), apps.RegistryPresent() && apps.Len() > 0
	}
	if all, ok := snapshot.ViewAt[*snapshot.Upstreams](s, b.upstreams); ok {
		f.upstreams = all.Of(f.App)
	}
	return f
}
