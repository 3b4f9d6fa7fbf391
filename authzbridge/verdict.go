package authzbridge

import (
	"net/http"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

// verdictKey is where a request carries its verdict.
const verdictKey = "authz_bridge.verdict"

// verdict is what one request was decided by and how. A request has one, for all of
// its matchers, handlers and upstreams, so the last decision shows.
type verdict struct {
	footing

	decision  snapshot.Decision
	decidedIn uint64                 // the generation of the decision
	granted   *snapshot.AppUpstreams // where the request may go now; nil for nowhere
	waited    bool                   // for the first Snapshot
	shown     bool
}

// verdictOf returns the verdict of a request.
func verdictOf(r *http.Request) *verdict {
	if v, ok := caddyhttp.GetVar(r.Context(), verdictKey).(*verdict); ok {
		return v
	}
	v := new(verdict)
	caddyhttp.SetVar(r.Context(), verdictKey, v)
	return v
}

// decide takes a decision by the footing, and counts it. What was decided shows in the
// placeholders and in the access log.
func (v *verdict) decide(r *http.Request, d snapshot.Decision) {
	v.decision, v.decidedIn = d, v.footing.generation
	v.tally.add(d.Reason)
	if !v.shown {
		v.shown = true
		v.show(r)
	}
}

func (v *verdict) show(r *http.Request) {
	ctx := r.Context()
	if repl, ok := ctx.Value(caddy.ReplacerCtxKey).(*caddy.Replacer); ok {
		repl.Map(v.placeholder)
	}
	if logsAccess(r) {
		if extra, ok := ctx.Value(caddyhttp.ExtraLogFieldsCtxKey).(*caddyhttp.ExtraLogFields); ok {
			extra.Add(zap.Object("authz_bridge", v))
		}
	}
}

func logsAccess(r *http.Request) bool {
	server, ok := r.Context().Value(caddyhttp.ServerCtxKey).(*caddyhttp.Server)
	return ok && server.Logs != nil
}

// placeholder resolves {http.authz_bridge.*} when something asks for it.
func (v *verdict) placeholder(key string) (any, bool) {
	name, ok := strings.CutPrefix(key, "http.authz_bridge.")
	if !ok {
		return nil, false
	}
	switch name {
	case "app":
		return v.decision.AppName(), true
	case "reason":
		return v.decision.Reason.String(), true
	case "identity":
		return v.decision.Identity, true
	case "generation":
		return v.decidedIn, true
	}
	return nil, false
}

// MarshalLogObject implements zapcore.ObjectMarshaler. It is called when the
// access log is written, after the request.
func (v *verdict) MarshalLogObject(enc zapcore.ObjectEncoder) error {
	enc.AddString("app", v.decision.AppName())
	enc.AddString("reason", v.decision.Reason.String())
	enc.AddUint64("generation", v.decidedIn)
	return nil
}

// String keeps {http.vars.*} from printing what is inside.
func (v *verdict) String() string { return v.decision.Reason.String() }
