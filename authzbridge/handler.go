package authzbridge

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

func init() {
	caddy.RegisterModule(new(Handler))
}

// Handler authorizes requests by hostname, from the snapshot that the app
// `authz_bridge` keeps. A request for an App that serves goes on to the next
// handler; every other is answered with an error, which `handle_errors` can
// take: 400 for a Host that is none, 401 for a caller that has not proved itself, 403
// for a hostname of no App, for an expired one, for an address that the App does not
// admit and for a token whose claims it does not take, and 503 while an App cannot
// serve, because its Secret is absent for example, or too many passwords are being
// hashed. What a client is told never says more than the status.
//
// While there has never been a snapshot a request waits for it, for 2 s at most,
// and at most 1,024 of them do.
//
// Where the App asks for credentials the caller must present what its Secret says.
// The credential is removed from the request before it goes on, unless the App says
// otherwise, and whom it belongs to is in `{http.auth.user.id}` and in the App's
// `identityHeader`, which nobody else can set.
//
// It sets the placeholders `{http.authz_bridge.app}`,
// `{http.authz_bridge.reason}`, `{http.authz_bridge.identity}` and
// `{http.authz_bridge.generation}`, and adds app, reason and generation to the
// access log, which has the identity in its user_id.
type Handler struct {
	// What to do with hosts of no App: `deny` (403), `pass` (to the next
	// handler, if there is a Registry with Apps), or a 4xx or 5xx status to deny with.
	// Default: `deny`.
	Unknown string `json:"unknown,omitempty"`

	// Answer 503 for an App that asks for no credentials. Default: false, such an
	// App is open by hostname alone.
	RequireCredentials bool `json:"require_credentials,omitempty"`

	logger      *zap.Logger
	bridge      *bridge
	passUnknown bool
	answers     answers
	unvouched   *sync.Once // for the log
}

// CaddyModule returns the Caddy module information.
func (*Handler) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.handlers.authz_bridge",
		New: func() caddy.Module { return new(Handler) },
	}
}

// Provision finds the app.
func (h *Handler) Provision(ctx caddy.Context) error {
	h.logger = ctx.Logger()
	status, pass, err := ParseUnknown(h.Unknown)
	if err != nil {
		return err
	}
	h.passUnknown = pass
	h.answers = newAnswers(status)
	h.unvouched = new(sync.Once)
	h.bridge, err = configuredBridge(ctx)
	return err
}

// ParseUnknown reads the option `unknown`: the status to deny with, or whether to
// pass.
func ParseUnknown(text string) (status int, pass bool, err error) {
	switch text {
	case "", "deny":
		return snapshot.ReasonUnknownHost.Status(), false, nil
	case "pass":
		return snapshot.ReasonUnknownHost.Status(), true, nil
	}
	status, err = strconv.Atoi(text)
	if err != nil || status < 400 || status > 599 {
		return 0, false, fmt.Errorf("unknown: %q is no choice; write deny, pass, or a status from 400 to 599", text)
	}
	return status, false, nil
}

// configuredBridge returns the bridge of the app in a configuration.
func configuredBridge(ctx caddy.Context) (*bridge, error) {
	app, err := ctx.AppIfConfigured("authz_bridge")
	if errors.Is(err, caddy.ErrNotConfigured) {
		return nil, fmt.Errorf("%w: add the global option `authz_bridge { registry <namespace>/<name> }`", err)
	}
	if err != nil {
		return nil, err
	}
	configured, ok := app.(*App)
	if !ok {
		return nil, fmt.Errorf("app authz_bridge is a %T", app)
	}
	return configured.bridge, nil
}

// ServeHTTP implements caddyhttp.MiddlewareHandler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	v := verdictOf(r)
	h.bridge.stand(r.Context(), v, r.Host)
	guards := v.guards // a Host that is changed later gives the verdict others
	// Trailers come after this, whatever they were said to be, and some take them for
	// headers; they may be discarded (RFC 9110 section 6.5.1).
	trailers := len(r.Trailer) > 0
	r.Trailer = nil
	guards.RemoveAliases(r.Header)
	v.decide(r, h.decide(v, r))
	var err error
	switch {
	case v.decision.Outcome() == snapshot.Allow:
		guards.Prepare(r.Header, v.decision)
		identify(r, v.decision.Identity)
		v.granted = v.upstreams
		err = next.ServeHTTP(w, r)
	case h.passes(v):
		guards.ScrubIdentities(r.Header)
		v.granted = nil
		err = next.ServeHTTP(w, r)
	default:
		err = h.refuse(w, r, v)
	}
	v.granted = nil
	if err == nil {
		return nil
	}
	// An error route is asked anew, by the Snapshot of then: much may have happened.
	v.footing = footing{}
	// An error route may send the request anywhere, so it loses the credentials of
	// every App, those that were injected as well.
	guards.ScrubAll(r.Header)
	return withoutTrailers(w, err, trailers)
}

// withoutTrailers answers itself for a request with trailers: an error route would
// get them, for it has the request as it came.
func withoutTrailers(w http.ResponseWriter, err error, trailers bool) error {
	if !trailers {
		return err
	}
	failed, _ := err.(caddyhttp.HandlerError) //nolint:errorlint // as Caddy's own routes look at it
	w.WriteHeader(cmp.Or(failed.StatusCode, http.StatusInternalServerError))
	return nil
}

// refuse returns the error to answer with.
func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, v *verdict) error {
	if c := h.logger.Check(zapcore.DebugLevel, "request not authorized"); c != nil {
		c.Write(zap.String("host", r.Host), zap.Object("decision", v))
	}
	if v.decision.Reason == snapshot.ReasonAddressDenied && takesTheClientsWord(r) {
		h.unvouched.Do(func() {
			h.logger.Warn("the client's address is its own word, so no allowCIDRs admits it; " +
				"set trusted_proxies_strict in the server's global options")
		})
	}
	return h.answers.write(w, v.decision)
}

// identify sets the placeholder that the access log takes for the user. It is set
// over what an earlier handler may have said.
func identify(r *http.Request, identity string) {
	if identity == "" {
		return
	}
	if repl, ok := r.Context().Value(caddy.ReplacerCtxKey).(*caddy.Replacer); ok {
		repl.Set("http.auth.user.id", identity)
	}
}

func (h *Handler) decide(v *verdict, r *http.Request) snapshot.Decision {
	return h.bridge.decider.DecideAt(v.Standing, snapshot.Request{
		Host:               r.Host,
		Method:             r.Method,
		URL:                r.URL,
		Header:             r.Header,
		Caller:             (*caller)(r),
		Before:             v.decision,
		RequireCredentials: h.RequireCredentials,
	})
}

// passes reports whether the host of no App is let through. A Registry that is
// absent, or has no Apps, opens nothing: it looks just like one whose writer was
// cut short.
func (h *Handler) passes(v *verdict) bool {
	return h.passUnknown && v.decision.Reason == snapshot.ReasonUnknownHost && v.populated
}

// Interface guards.
var (
	_ caddy.Provisioner           = (*Handler)(nil)
	_ caddyhttp.MiddlewareHandler = (*Handler)(nil)
)
