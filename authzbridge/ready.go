package authzbridge

import (
	"io"
	"net/http"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

func init() {
	caddy.RegisterModule(new(Ready))
}

// Ready answers whether requests can be authorized: 200 once there is a
// snapshot, 503 before. It is for the kubelet's startup and readiness probes,
// which cannot reach the admin API. The reasons are in the admin API at
// `/authz_bridge/ready`; here the status is all that is told.
//
// What another proxy asks of the handler `authz_bridge_verify` is answered 400: it would
// take 200 for a yes.
type Ready struct {
	bridge *bridge
}

// CaddyModule returns the Caddy module information.
func (*Ready) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.handlers.authz_bridge_ready",
		New: func() caddy.Module { return new(Ready) },
	}
}

// Provision finds the app.
func (h *Ready) Provision(ctx caddy.Context) error {
	var err error
	h.bridge, err = configuredBridge(ctx)
	return err
}

// ServeHTTP implements caddyhttp.MiddlewareHandler. It never calls next.
func (h *Ready) ServeHTTP(w http.ResponseWriter, r *http.Request, _ caddyhttp.Handler) error {
	ready, _ := h.bridge.ready()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	text := "ready\n"
	switch {
	case isQuestion(r.Header):
		w.WriteHeader(http.StatusBadRequest)
		text = "no probe\n"
	case !ready:
		w.WriteHeader(http.StatusServiceUnavailable)
		text = "not ready\n"
	}
	_, err := io.WriteString(w, text)
	return err
}

// Interface guards.
var (
	_ caddy.Provisioner           = (*Ready)(nil)
	_ caddyhttp.MiddlewareHandler = (*Ready)(nil)
)
