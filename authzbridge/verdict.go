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

// verdict is what one request was decided by and how. A request has one, so the
// last decision shows.
type verdict struct {
	snapshot   *snapshot.Snapshot
	decision   snapshot.Decision
	generation uint64
	waited     bool // for the first Snapshot
}

// release lets go of the Snapshot before the request goes on: one that lasts, such
// as a WebSocket, must not keep a whole generation in memory.
func (v *verdict) release() { v.snapshot = nil }

// verdictOf returns the verdict of a request; a new one shows in the placeholders
// and in the access log.
func verdictOf(r *http.Request) *verdict {
	ctx := r.Context()
	if v, ok := caddyhttp.GetVar(ctx, verdictKey).(*verdict); ok {
		return v
	}
	v := new(verdict)
	caddyhttp.SetVar(ctx, verdictKey, v)
	if repl, ok := ctx.Value(caddy.ReplacerCtxKey).(*caddy.Replacer); ok {
		repl.Map(v.placeholder)
	}
	if logsAccess(r) {
		if extra, ok := ctx.Value(caddyhttp.ExtraLogFieldsCtxKey).(*caddyhttp.ExtraLogFields); ok {
			extra.Add(zap.Object("authz_bridge", v))
		}
	}
	return v
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
		return v.generation, true
	}
	return nil, false
}

// MarshalLogObject implements zapcore.ObjectMarshaler. It is called when the
// access log is written, after the request.
func (v *verdict) MarshalLogObject(enc zapcore.ObjectEncoder) error {
	enc.AddString("app", v.decision.AppName())
	enc.AddString("reason", v.decision.Reason.String())
	enc.AddUint64("generation", v.generation)
	return nil
}

// String keeps {http.vars.*} from printing what is inside.
func (v *verdict) String() string { return v.decision.Reason.String() }
