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

// Admin answers questions about the app at the admin API, all with GET:
//
//   - `/authz_bridge/status`: the state, the Registry in use, the Apps that do not
//     serve and why, what is degraded since when, and a hash of the versions of all
//     that is served, by which replicas can be compared.
//   - `/authz_bridge/ready`: 200 if requests can be authorized, 503 if not, with the
//     reasons in words.
//   - `/authz_bridge/apps`: the Apps in the order of the Registry, each with the version
//     of its Secret. `reason`, `name`, `namespace` and `secret` (`<namespace>/<name>`)
//     leave others out (`reason=!allowed` those that serve), `limit` is how many are
//     told (default 100, at most 10,000), and `after` goes on from the `next` of the page
//     before.
//   - `/authz_bridge/apps/<name>`: one App, and what it asks of its callers.
//   - `/authz_bridge/explain?host=<host>`: what a request without credentials would be
//     answered, by which check, and what to do. `method` (default GET), `path` (default
//     /), `client_ip`, `preflight=true` and `require_credentials=true` say more of it;
//     `no_inject=true` makes it a question to `authz_bridge_verify`.
//
// Errors are answered as Caddy's admin API does. No answer holds a byte of any Secret.
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
		{Pattern: "/authz_bridge/apps", Handler: answering(serveApps)},
		{Pattern: "/authz_bridge/apps/{name}", Handler: answering(serveApp)},
		{Pattern: "/authz_bridge/explain", Handler: answering(serveExplain)},
	}
}

// Readiness is what `GET /authz_bridge/ready` of the admin API answers.
type Readiness struct {
	Ready bool `json:"ready"`
	// Reasons say in words why not ready, or what is degraded though ready.
	Reasons []string `json:"reasons"`
}

func serveStatus(b *bridge, _ *http.Request) (int, any, error) {
	return http.StatusOK, b.status(), nil
}

func serveReady(b *bridge, _ *http.Request) (int, any, error) {
	ready, reasons := b.ready()
	answer := Readiness{Ready: ready, Reasons: orEmpty(reasons)}
	if !ready {
		return http.StatusServiceUnavailable, answer, nil
	}
	return http.StatusOK, answer, nil
}

// answering makes an admin handler of a function that answers in JSON. The app is
// looked up per request: admin modules are provisioned before it.
func answering(answer func(*bridge, *http.Request) (int, any, error)) caddy.AdminHandler {
	return caddy.AdminHandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			return problem(http.StatusMethodNotAllowed, fmt.Sprintf("method %.32q is not allowed; use GET", r.Method))
		}
		b, err := configuredBridge(caddy.ActiveContext())
		if err != nil {
			return caddy.APIError{HTTPStatus: http.StatusNotFound, Err: err}
		}
		status, body, err := answer(b, r)
		if err != nil {
			return err
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(status)
		return json.NewEncoder(w).Encode(body)
	})
}

// Interface guards.
var _ caddy.AdminRouter = (*Admin)(nil)
