package authzbridge_test

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyevents"
	"github.com/stretchr/testify/require"
)

func init() { caddy.RegisterModule(new(subscriber)) }

// subscriber is an event handler, configured as `on <event> test_subscriber <name>`. It hands
// events to the subscription of the name.
type subscriber struct {
	To string `json:"to"`
}

func (*subscriber) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "events.handlers.test_subscriber", New: func() caddy.Module { return new(subscriber) }}
}

func (s *subscriber) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next()
	if !d.Args(&s.To) {
		return d.ArgErr()
	}
	return nil
}

func (s *subscriber) Handle(ctx context.Context, e caddy.Event) error {
	if found, ok := subscriptions.Load(s.To); ok {
		found.(*subscription).take(ctx, e)
	}
	return nil
}

var _ caddyevents.Handler = (*subscriber)(nil)

var subscriptions sync.Map // of *subscription, by name

// subscription is what a test sees of the events.
type subscription struct {
	tb   testing.TB
	name string

	mu     sync.Mutex // guards the fields below
	events []happened
	handle func(ctx context.Context, event string) // called for each event, if there is one
}

// happened is one event as a subscriber outside of the process gets it.
type happened struct {
	name string
	from string
	data map[string]any
	text string
}

func subscribe(tb testing.TB, name string) *subscription {
	tb.Helper()
	s := &subscription{tb: tb, name: name}
	subscriptions.Store(name, s)
	tb.Cleanup(func() { subscriptions.Delete(name) })
	return s
}

// option is the global option that subscribes to all events of the app.
func (s *subscription) option() string {
	text := "events {\n"
	for _, event := range []string{"published", "degraded", "recovered", "stale"} {
		text += "on authz_bridge_" + event + " test_subscriber " + s.name + "\n"
	}
	return text + "}"
}

func (s *subscription) take(ctx context.Context, e caddy.Event) {
	cloud := e.CloudEvent()
	h := happened{name: e.Name(), from: cloud.Source, text: string(cloud.Data)}
	if err := json.Unmarshal(cloud.Data, &h.data); err != nil {
		h.text = err.Error()
	}
	s.mu.Lock()
	s.events = append(s.events, h)
	handle := s.handle
	s.mu.Unlock()
	if handle != nil {
		handle(ctx, h.name)
	}
}

func (s *subscription) on(handle func(ctx context.Context, event string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handle = handle
}

func (s *subscription) all() []happened {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.events)
}

// await waits for an event that fits, and returns the first one.
func (s *subscription) await(what string, fits func(happened) bool) happened {
	s.tb.Helper()
	var found happened
	eventually(s.tb, func() bool {
		all := s.all()
		i := slices.IndexFunc(all, fits)
		if i >= 0 {
			found = all[i]
		}
		return i >= 0
	}, "%s is never told", what)
	return found
}

// awaitCondition waits for an event about a condition.
func (s *subscription) awaitCondition(event, kind string) happened {
	s.tb.Helper()
	return s.await(event+" "+kind, func(h happened) bool {
		return h.name == "authz_bridge_"+event && h.data["condition"] == kind
	})
}

// awaitPublished waits for a publish in which the count of Apps in a key is as wanted.
func (s *subscription) awaitPublished(key string, count int) happened {
	s.tb.Helper()
	return s.await("published "+key, func(h happened) bool {
		return h.name == "authz_bridge_published" && h.data[key] == float64(count)
	})
}

// names are those of the events so far, in order.
func (s *subscription) names() []string {
	var names []string
	for _, h := range s.all() {
		names = append(names, h.name)
	}
	return names
}

func (s *subscription) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	require.NotNil(s.tb, s.events)
	s.events = nil
}
