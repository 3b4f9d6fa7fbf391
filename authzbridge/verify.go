package authzbridge

import (
	"net/http"
	"sync"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

func init() {
	caddy.RegisterModule(new(Verify))
}

// Verify answers other proxies that ask whether a request of theirs may go on:
// Traefik's `forwardAuth`, nginx's `auth_request` and Caddy's own `forward_auth`. The
// answer is 200, with the caller's identity in the App's `identityHeader` if there is
// one, or the denial that the handler `authz_bridge` gives, with WWW-Authenticate or
// Retry-After. It has no body.
//
// What is asked about is told by the headers X-Forwarded-Host, X-Forwarded-Method,
// X-Forwarded-Uri and X-Forwarded-For, each given once and with one value, and by
// whatever else the client sent. They are believed only of the server's
// `trusted_proxies`; everybody else is answered 403. One that is missing, repeated,
// joined by commas or no such value is answered 400: the Host, the path and the
// address of the question itself are never taken instead.
//
// The other proxy sends the request on, so it is that which must remove credentials
// and set the identity header. A request that brings one is answered 400, for a proxy
// that does not know it would send it on. An App with `inject` is 503 here: what it
// gives away is for the app behind alone.
//
// It ends the request, and never calls error routes, for one that answers with a page
// and 200 would open every App. For the same reason nothing may come before it: Caddy
// answers 200 where no handler does. Give it a site of its own that has no hostname,
// and no matcher.
type Verify struct {
	// Answer 503 for an App that asks for no credentials. Default: false, such an
	// App is open by hostname alone.
	RequireCredentials bool `json:"require_credentials,omitempty"`

	logger  *zap.Logger
	bridge  *bridge
	answers answers
	told    *sync.Map // of the log: what is wrong with questions, each once
}

// CaddyModule returns the Caddy module information.
func (*Verify) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.handlers.authz_bridge_verify",
		New: func() caddy.Module { return new(Verify) },
	}
}

// Provision finds the app.
func (h *Verify) Provision(ctx caddy.Context) error {
	h.logger = ctx.Logger()
	h.answers = newAnswers(snapshot.ReasonUnknownHost.Status())
	h.told = new(sync.Map)
	var err error
	h.bridge, err = configuredBridge(ctx)
	return err
}

// ServeHTTP implements caddyhttp.MiddlewareHandler. It never calls next, and returns
// no error.
func (h *Verify) ServeHTTP(w http.ResponseWriter, r *http.Request, _ caddyhttp.Handler) error {
	v := verdictOf(r)
	q, wrong := readQuestion(r)
	var d snapshot.Decision
	if wrong == nil {
		d, wrong = h.decide(v, q)
	} else {
		v.footing = h.bridge.look(h.bridge.mirror.Current(), "") // for the counters
	}
	if wrong != nil {
		d = snapshot.Decision{Reason: wrong.reason}
	}
	v.decide(r, d)
	h.log(r, v, wrong)
	if v.decision.Outcome() != snapshot.Allow {
		h.deny(w, v.decision)
		return nil
	}
	identify(r, v.decision.Identity)
	h.allow(w, v.decision)
	return nil
}

// decide answers a question, unless there is something about the request that only
// the proxy which sends it on could put right.
func (h *Verify) decide(v *verdict, q *question) (snapshot.Decision, *objection) {
	h.bridge.stand(q.asked.Context(), v, q.host)
	if q.hasAliases(v.guards) {
		return snapshot.Decision{}, &objection{snapshot.ReasonInvalidHost, "a header of the request may be taken for one that carries a credential or an identity; let the proxy remove such aliases"}
	}
	d := h.bridge.decider.DecideAt(v.Standing, snapshot.Request{
		Host:               q.host,
		Method:             q.method,
		URL:                q.url,
		Header:             q.header,
		Caller:             q,
		RequireCredentials: h.RequireCredentials,
		NoInject:           true,
	})
	switch {
	case d.Outcome() != snapshot.Allow:
	case v.guards.CarriesIdentity(q.header, d.App):
		// The other proxy may not know that the header is one.
		return d, &objection{snapshot.ReasonInvalidHost, "the client sends a header that an App has as identityHeader; let it leave that out, or the proxy remove it before it asks"}
	case q.opensTunnel(v.guards, d):
		return d, &objection{snapshot.ReasonInvalidHost, "Upgrade: asks for a connection that carries requests which nobody looks at; let the proxy remove it"}
	}
	return d, nil
}

// log warns of what is wrong with questions, of each thing once. It is mostly the
// configuration of the other proxy, but a client can cause some of it.
func (h *Verify) log(r *http.Request, v *verdict, wrong *objection) {
	if wrong != nil {
		if _, told := h.told.LoadOrStore(wrong.text, true); !told {
			h.logger.Warn("question of another proxy not answered: "+wrong.text, zap.String("proxy", r.RemoteAddr))
		}
	}
	if v.decision.Outcome() == snapshot.Allow {
		return
	}
	if c := h.logger.Check(zapcore.DebugLevel, "request of another proxy not authorized"); c != nil {
		c.Write(zap.Strings("host", r.Header["X-Forwarded-Host"]), zap.String("proxy", r.RemoteAddr), zap.Object("decision", v))
	}
}

func (h *Verify) deny(w http.ResponseWriter, d snapshot.Decision) {
	w.Header().Set("Cache-Control", "no-store")
	_ = h.answers.write(w, d) // the headers; an error route is not meant to see it
	w.WriteHeader(d.Reason.Status())
}

func (h *Verify) allow(w http.ResponseWriter, d snapshot.Decision) {
	w.Header().Set("Cache-Control", "no-store")
	if d.App.IdentityHeader != "" && d.Identity != "" {
		w.Header()[d.App.IdentityHeader] = []string{d.Identity}
	}
	w.WriteHeader(http.StatusOK)
}

// Interface guards.
var (
	_ caddy.Provisioner           = (*Verify)(nil)
	_ caddyhttp.MiddlewareHandler = (*Verify)(nil)
)
