package authzbridge

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/caddyserver/caddy/v2"
)

func init() {
	caddy.RegisterModule(new(Admin))
}

// Admin answers questions about the app at the admin API:
//
//   - `GET /authz_bridge/status`: the state, the Registry in use, the Apps that
//     do not serve and why, and what is degraded since when.
//   - `GET /authz_bridge/ready`: 200 if requests can be authorized, 503 if not,
//     with the reasons in words.
//
// No answer holds a byte of any Secret.
type Admin struct{}

// CaddyModule returns the Caddy module information.
func (*Admin) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "admin.api.authz_bridge",
		New: func() caddy.Module { return new(Admin) },
	}
}

// Routes implements caddy.AdminRouter.
func (a *Admin) Routes() []caddy.AdminRoute {
	return []caddy.AdminRoute{
		{Pattern: "/authz_bridge/status", Handler: answering(serveStatus)},
		{Pattern: "/authz_bridge/ready", Handler: answering(serveReady)},
	}
}

// Readiness is what `GET /authz_bridge/ready` of the admin API answers.
type Readiness struct {
	Ready bool `json:"ready"`
	// Reasons say in words why not ready, or what is degraded though ready.
	Reasons []string `json:"reasons"`
}

func serveStatus(b *bridge) (int, any) {
	return http.StatusOK, b.status()
}

func serveReady(b *bridge) (int, any) {
	ready, reasons := b.ready()
	answer := Readiness{Ready: ready, Reasons: orEmpty(reasons)}
	if !ready {
		return http.StatusServiceUnavailable, answer
	}
	return http.StatusOK, answer
}

// answering makes an admin handler of a function that answers in JSON. The app is
// looked up per request: admin modules are provisioned before it.
func answering(answer func(*bridge) (int, any)) caddy.AdminHandler {
	return caddy.AdminHandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			return caddy.APIError{
				HTTPStatus: http.StatusMethodNotAllowed,
				Err:        fmt.Errorf("method %s is not allowed; use GET", r.Method),
			}
		}
		b, err := configuredBridge(caddy.ActiveContext())
		if err != nil {
			return caddy.APIError{HTTPStatus: http.StatusNotFound, Err: err}
		}
		status, body := answer(b)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(status)
		return json.NewEncoder(w).Encode(body)
	})
}

// Interface guards.
var _ caddy.AdminRouter = (*Admin)(nil)
