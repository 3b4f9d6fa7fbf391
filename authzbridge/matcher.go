package authzbridge

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

func init() {
	caddy.RegisterModule(new(Matcher))
}

// Matcher matches requests by what the snapshot says of their hostname. It authorizes
// nothing: the handler `authz_bridge` decides by itself, from the same snapshot. Of
// several conditions all must hold; there is one at least.
//
// Inside of `not` as well, what nobody can tell is an error that `handle_errors` can
// take, and never a match: 503 while there is no snapshot (a request waits for the
// first, for 2 s at most), while it is stale, while the Registry is absent or has no
// Apps, which looks just like one whose writer was cut short, and where the question is
// whose the hostname is and two Apps claim it. A Host that is none is 400.
type Matcher struct {
	// The hostname is listed in the Registry, be its App in order or not. Default:
	// false, which asks nothing.
	Known bool `json:"known,omitempty"`

	// The App of the hostname serves: it is the only one with the hostname, its entry is
	// right, it has not expired, and this replica has its Secret, usable. Whether the
	// caller may in (`anyOf`, `allowCIDRs`, `require_credentials`) is not asked.
	// Default: false, which asks nothing.
	Ready bool `json:"ready,omitempty"`

	// The hostname belongs to one of these Apps, be it in order or not. Default: none,
	// which asks nothing.
	Apps []string `json:"apps,omitempty"`

	bridge *bridge
}

// CaddyModule returns the Caddy module information.
func (*Matcher) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.matchers.authz_bridge",
		New: func() caddy.Module { return new(Matcher) },
	}
}

// Provision finds the app.
func (m *Matcher) Provision(ctx caddy.Context) error {
	var err error
	m.bridge, err = configuredBridge(ctx)
	return err
}

// Validate asks for a condition, and for names that an App may have.
func (m *Matcher) Validate() error {
	if !m.Known && !m.Ready && len(m.Apps) == 0 {
		return errors.New("authz_bridge: no condition; write known, ready, or app <name...>")
	}
	for _, name := range m.Apps {
		if err := checkAppName(name); err != nil {
			return err
		}
	}
	return nil
}

func checkAppName(name string) error {
	if !snapshot.ValidLabel(name) {
		return fmt.Errorf("app: %q is no name of an App; write it as the Registry does", name)
	}
	return nil
}

// MatchWithError implements caddyhttp.RequestMatcherWithError.
func (m *Matcher) MatchWithError(r *http.Request) (bool, error) {
	v := verdictOf(r)
	m.bridge.stand(r.Context(), v, r.Host)
	if !m.canTell(v) {
		return false, v.end(r)
	}
	switch {
	case m.Known && v.Reason == snapshot.ReasonUnknownHost,
		m.Ready && m.bridge.decider.ReasonNow(v.Standing) != snapshot.ReasonAllowed,
		len(m.Apps) > 0 && !(v.App != nil && slices.Contains(m.Apps, v.App.Name)):
		return false, nil
	}
	return true, nil
}

// canTell reports whether there is an answer.
func (m *Matcher) canTell(v *verdict) bool {
	switch v.Reason {
	case snapshot.ReasonUnsynced, snapshot.ReasonStale, snapshot.ReasonInvalidHost:
		return false
	case snapshot.ReasonHostConflict:
		return len(m.Apps) == 0
	}
	return v.populated
}

// unanswered are what a matcher ends a request with.
var unanswered = newAnswers(http.StatusServiceUnavailable)

// end is for a request that ends at a matcher. Error routes get its headers as the
// handler would leave them.
func (v *verdict) end(r *http.Request) error {
	v.decide(r, snapshot.Decision{Reason: v.Reason})
	r.Trailer = nil
	v.guards.RemoveAliases(r.Header)
	v.guards.ScrubAll(r.Header)
	return unanswered[v.Reason].err
}

// Interface guards.
var (
	_ caddy.Provisioner                 = (*Matcher)(nil)
	_ caddy.Validator                   = (*Matcher)(nil)
	_ caddyhttp.RequestMatcherWithError = (*Matcher)(nil)
)
