package authzbridge

import (
	"net/http"
	"net/netip"
	"net/url"
	"strconv"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

// Explanation is what `GET /authz_bridge/explain` of the admin API answers: what a
// request without credentials would be answered, why, and what to do about it. It is
// the handler's own decision, of a request that nobody sent; with no_inject that of
// authz_bridge_verify, where the other proxy asks as it must.
type Explanation struct {
	Host   string `json:"host"`
	Method string `json:"method"`
	Path   string `json:"path"`
	// ClientIP is the client's address; absent where none was given, so that no App
	// with allowCIDRs is open.
	ClientIP string `json:"client_ip,omitempty"`
	// Preflight, RequireCredentials and NoInject are as they were asked for.
	Preflight          bool `json:"preflight"`
	RequireCredentials bool `json:"require_credentials"`
	NoInject           bool `json:"no_inject"`

	// Generation and Hash are those of Status, of the snapshot that decided.
	Generation uint64 `json:"generation"`
	Hash       string `json:"hash,omitempty"`

	// Outcome is allow, deny or unavailable.
	Outcome string `json:"outcome"`
	// Status is the HTTP status; 0 where the next handler answers.
	Status int    `json:"status"`
	Reason string `json:"reason"`
	// Step is the check that decided, in words.
	Step string `json:"step"`
	// Hostname is the one of the Registry that the host is found by; absent for none.
	Hostname string `json:"hostname,omitempty"`
	// App is the one that the hostname belongs to; absent for none.
	App *AppDetail `json:"app,omitempty"`
	// Public is true where the App asks for credentials, but not at this path.
	Public bool `json:"public"`
	// Detail says more of the reason than its name; absent where there is no more.
	Detail string `json:"detail,omitempty"`
	// Remedy says what to do.
	Remedy string `json:"remedy"`
}

// explainParameters are those of the query, in the order in which they are told.
var explainParameters = []string{"host", "method", "path", "client_ip", "preflight", "require_credentials", "no_inject"}

// supposed is a request that nobody sent.
type supposed struct {
	host, method, path string
	url                *url.URL
	clientIP           netip.Addr
	preflight          bool
	requireCredentials bool
	noInject           bool // as authz_bridge_verify decides
}

func readSupposed(r *http.Request) (supposed, error) {
	values, err := parameters(r, explainParameters...)
	if err != nil {
		return supposed{}, err
	}
	q := supposed{method: http.MethodGet, path: "/"}
	var ok bool
	if q.host, ok = values["host"]; !ok {
		return q, badRequest("host: missing; write /authz_bridge/explain?host=<hostname>")
	}
	if q.preflight, err = boolean(values, "preflight"); err != nil {
		return q, err
	}
	if q.requireCredentials, err = boolean(values, "require_credentials"); err != nil {
		return q, err
	}
	if q.noInject, err = boolean(values, "no_inject"); err != nil {
		return q, err
	}
	if q.preflight {
		q.method = http.MethodOptions
	}
	if method, ok := values["method"]; ok {
		q.method = method
	}
	if path, ok := values["path"]; ok {
		q.path = path
	}
	if q.url, err = url.ParseRequestURI(q.path); err != nil || q.path[0] != '/' {
		return q, badRequest("path: %.256q is no path of a request; write it as a client sends it, from the first slash, percent-encoded", q.path)
	}
	if ip, ok := values["client_ip"]; ok {
		if q.clientIP, err = netip.ParseAddr(ip); err != nil {
			return q, badRequest("client_ip: %.64q is no address; write it as in 192.0.2.1", ip)
		}
	}
	return q, nil
}

func boolean(values map[string]string, name string) (bool, error) {
	text, ok := values[name]
	if !ok {
		return false, nil
	}
	b, err := strconv.ParseBool(text)
	if err != nil {
		return false, badRequest("%s: %.64q is no choice; write true or false", name, text)
	}
	return b, nil
}

// request is what is supposed as the Decider sees it.
func (q *supposed) request() snapshot.Request {
	header := http.Header{}
	if q.preflight {
		header["Origin"] = []string{"https://origin.invalid"}
		header["Access-Control-Request-Method"] = []string{http.MethodPut}
	}
	return snapshot.Request{
		Host:               q.host,
		Method:             q.method,
		URL:                q.url,
		Header:             header,
		Caller:             nobody{q.clientIP},
		RequireCredentials: q.requireCredentials,
		NoInject:           q.noInject,
	}
}

// nobody is a caller with an address and nothing else.
type nobody struct{ addr netip.Addr }

// Addr implements snapshot.Caller.
func (n nobody) Addr() (netip.Addr, bool) { return n.addr, n.addr.IsValid() }

// Gone implements snapshot.Caller.
func (nobody) Gone() <-chan struct{} { return nil }

func serveExplain(b *bridge, r *http.Request) (int, any, error) {
	q, err := readSupposed(r)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, b.explain(q), nil
}

// explain decides as the handler does. The decision counts nowhere.
func (b *bridge) explain(q supposed) Explanation {
	s := b.mirror.Current()
	request := q.request()
	d := b.decider.Decide(s, request)
	out := Explanation{
		Host:               q.host,
		Method:             q.method,
		Path:               q.path,
		Preflight:          q.preflight,
		RequireCredentials: q.requireCredentials,
		NoInject:           q.noInject,
		Generation:         s.Generation(),
		Hash:               b.summary(s).hash,
		Outcome:            d.Outcome().String(),
		Status:             d.Reason.Status(),
		Reason:             d.Reason.String(),
		Step:               advices[d.Reason].step,
		Remedy:             advices[d.Reason].remedy,
	}
	if q.clientIP.IsValid() {
		out.ClientIP = q.clientIP.String()
	}
	if apps, ok := snapshot.ViewAt[*snapshot.Apps](s, b.decider.Apps); ok && !s.Stale() {
		out.Hostname = apps.HostnameOf(q.host)
	}
	if d.App != nil {
		b.explainApp(&out, s, d.App, request)
	}
	b.adviseOn(&out, s, d)
	adviseOnUpstreams(&out)
	return out
}

func (b *bridge) explainApp(out *Explanation, s *snapshot.Snapshot, app *snapshot.App, r snapshot.Request) {
	apps, _ := snapshot.ViewAt[*snapshot.Apps](s, b.decider.Apps)
	upstreams, _ := snapshot.ViewAt[*snapshot.Upstreams](s, b.upstreams)
	of, ok := snapshot.ViewAt[*versions](s, b.versioned)
	if !ok {
		return
	}
	seen := serving{snapshot: s, apps: apps, upstreams: upstreams, versions: of}
	detail := seen.detail(app)
	out.App, out.Public = &detail, len(app.AnyOf) > 0 && app.IsPublic(&r)
}
