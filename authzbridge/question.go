package authzbridge

import (
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

// question is a request that another proxy asks about, before it sends it on.
type question struct {
	asked  *http.Request // by the other proxy
	host   string
	method string
	url    *url.URL // nil where it may be taken for another one, so that nothing is public
	client netip.Addr
	header http.Header // a copy, without what is the other proxy's
}

// objection is why a question is not answered, or not as it was decided. Its text is
// for the log and one of a few; nothing of a request is in it.
type objection struct {
	reason snapshot.Reason
	text   string
}

func invalid(text string) *objection { return &objection{snapshot.ReasonInvalidHost, text} }

// The headers that tell what is asked about.
const (
	forwardedHost   = "X-Forwarded-Host"
	forwardedMethod = "X-Forwarded-Method"
	forwardedURI    = "X-Forwarded-Uri"
	forwardedFor    = "X-Forwarded-For"
)

// readQuestion believes a trusted proxy alone. Nothing has a default: what the proxy
// forgets to tell, the client may have told in its place.
func readQuestion(r *http.Request) (*question, *objection) {
	if trusted, _ := caddyhttp.GetVar(r.Context(), caddyhttp.TrustedProxyVarKey).(bool); !trusted {
		return nil, &objection{snapshot.ReasonAddressDenied, "who asks is no trusted proxy; if it is one of yours, add its address to trusted_proxies in the server's global options"}
	}
	q := &question{asked: r, header: maps.Clone(r.Header)}
	for _, read := range []func(http.Header) *objection{q.readHost, q.readMethod, q.readURI, q.readClient} {
		if wrong := read(r.Header); wrong != nil {
			return nil, wrong
		}
	}
	for _, name := range []string{forwardedHost, forwardedMethod, forwardedURI, forwardedFor} {
		delete(q.header, name)
	}
	return q, nil
}

// isQuestion reports whether a request has what no probe has and every question.
func isQuestion(h http.Header) bool { return len(h[forwardedURI])+len(h[forwardedMethod]) > 0 }

func (q *question) readHost(h http.Header) *objection {
	value, wrong := one(h, forwardedHost)
	q.host = value
	return wrong
}

func (q *question) readMethod(h http.Header) *objection {
	value, wrong := one(h, forwardedMethod)
	if wrong == nil && !isMethod(value) {
		wrong = invalid(forwardedMethod + ": is no method; let the proxy send that of the request as it came")
	}
	q.method = value
	return wrong
}

func (q *question) readClient(h http.Header) *objection {
	value, wrong := one(h, forwardedFor)
	if wrong != nil {
		return wrong
	}
	addr, err := netip.ParseAddr(value)
	if err != nil {
		return invalid(forwardedFor + ": is no address; let the proxy send that of the client, without a port")
	}
	q.client = addr
	return nil
}

// one returns the value of a header that comes once and has one value.
func one(h http.Header, name string) (string, *objection) {
	value, wrong := once(h, name)
	if wrong == nil && strings.Contains(value, ",") {
		wrong = invalid(name + ": has several values; let the proxy set it, and not add to it")
	}
	return value, wrong
}

func once(h http.Header, name string) (string, *objection) {
	values := h[name]
	switch {
	case len(values) > 1:
		return "", invalid(name + ": is there more than once; let the proxy set it, and not add another")
	case len(values) == 0 || values[0] == "":
		return "", invalid(name + ": is missing or empty; let the proxy set it")
	}
	return values[0], nil
}

// readURI takes the URI as it is in a request line: the path and the query. A comma is
// legal in it, so it is joined where another path begins after one.
func (q *question) readURI(h http.Header) *objection {
	text, wrong := once(h, forwardedURI)
	if wrong != nil {
		return wrong
	}
	parsed, err := url.ParseRequestURI(text)
	if err != nil || text[0] != '/' || strings.ContainsFunc(text, isControlOrSpace) {
		return invalid(forwardedURI + ": is no path; let the proxy send path and query of the request as it came")
	}
	path, _, _ := strings.Cut(text, "?")
	if strings.Contains(path, ",/") {
		return invalid(forwardedURI + ": has several values; let the proxy set it, and not add to it")
	}
	if parsed.EscapedPath() == path && !strings.Contains(text, ",/") {
		q.url = parsed
	}
	return nil
}

func isControlOrSpace(r rune) bool { return r <= ' ' || r == 0x7f }

// isMethod reports whether text is a token (RFC 9110 section 9.1).
func isMethod(text string) bool {
	for i := range len(text) {
		c := text[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return text != ""
}

// Addr implements snapshot.Caller.
func (q *question) Addr() (netip.Addr, bool) { return q.client, true }

// Gone implements snapshot.Caller.
func (q *question) Gone() <-chan struct{} { return q.asked.Context().Done() }

// hasAliases reports whether the request has headers that the handler would remove.
func (q *question) hasAliases(guards *snapshot.Guards) bool {
	before := len(q.header)
	guards.RemoveAliases(q.header)
	return len(q.header) != before
}

// opensTunnel reports whether the request asks for an Upgrade that the handler would
// not let through.
func (q *question) opensTunnel(guards *snapshot.Guards, d snapshot.Decision) bool {
	if len(q.header["Upgrade"]) == 0 {
		return false
	}
	guards.Prepare(q.header, d)
	return len(q.header["Upgrade"]) == 0
}

var _ snapshot.Caller = (*question)(nil)
