package authzbridge

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

// AppList is what `GET /authz_bridge/apps` of the admin API answers: one page of the
// Apps that match, in the order of the Registry.
type AppList struct {
	// Generation and Hash are those of Status. Pages of different ones do not belong
	// together.
	Generation uint64 `json:"generation"`
	Hash       string `json:"hash,omitempty"`
	// Total counts the Apps that match, on all pages, and Serving those of them that
	// serve.
	Total   int `json:"total"`
	Serving int `json:"serving"`
	// Conflicting counts those of them that have a hostname in conflict.
	Conflicting int        `json:"conflicting"`
	Apps        []AppEntry `json:"apps"`
	// Next is what to ask for as `after` to get the next page; absent on the last.
	Next *int `json:"next,omitempty"`
}

// AppEntry is an App and the version of the Secret that it is served from.
type AppEntry struct {
	// Name is that in the Registry, or "apps[N]" for an entry without a valid one.
	Name string `json:"name"`
	// Position is the place in the Registry, from 0.
	Position  int      `json:"position"`
	Hostnames []string `json:"hostnames"`
	// Conflicting are the hostnames that other Apps claim as well: they answer 503
	// host_conflict, whatever Reason says. Absent for none.
	Conflicting []string `json:"conflicting,omitempty"`
	// Reason is what every request for the App is answered with, as of the build;
	// allowed where it depends on the request.
	Reason string `json:"reason"`
	// Detail says in words why the App does not serve, and how to fix it.
	Detail string `json:"detail,omitempty"`
	// Secret is absent where the entry is wrong.
	Secret *SecretVersion `json:"secret,omitempty"`
}

// AppDetail is what `GET /authz_bridge/apps/<name>` answers.
type AppDetail struct {
	AppEntry
	// Conflicts are the hostnames that other Apps claim as well, so that none has
	// them.
	Conflicts []snapshot.Conflict `json:"conflicts"`
	// Upstreams are the addresses that `dynamic authz_bridge` sends requests to, and
	// UpstreamsError says why there are none though the App lists some; absent where
	// nothing is wrong.
	Upstreams      []string `json:"upstreams"`
	UpstreamsError string   `json:"upstreams_error,omitempty"`
	// Warnings are oddities that deny nothing.
	Warnings []string `json:"warnings"`
	Asks     Asks     `json:"asks"`
}

// Bounds of a page.
const (
	defaultPage = 100
	mostOfAPage = 10_000
)

// appsQuery is what Apps are asked for.
type appsQuery struct {
	reason, name    string
	namespace       string // of a Secret
	secret          string // namespace/name
	limit, after    int
	reasonIsNegated bool
}

// appsParameters are those of the query, in the order in which they are told.
var appsParameters = []string{"reason", "name", "namespace", "secret", "limit", "after"}

func readAppsQuery(r *http.Request) (appsQuery, error) {
	values, err := parameters(r, appsParameters...)
	if err != nil {
		return appsQuery{}, err
	}
	q := appsQuery{name: values["name"], namespace: values["namespace"], secret: values["secret"]}
	q.reason, q.reasonIsNegated = strings.CutPrefix(values["reason"], "!")
	if q.reason != "" && !isReason(q.reason) {
		return q, badRequest("reason: %.64q is none; write one as the status has it, or !allowed for all Apps that do not serve", q.reason)
	}
	if q.secret != "" && strings.Count(q.secret, "/") != 1 {
		return q, badRequest("secret: %.64q is no Secret; write <namespace>/<name>", q.secret)
	}
	if q.limit, err = number(values, "limit", defaultPage, 1, mostOfAPage); err != nil {
		return q, err
	}
	q.after, err = number(values, "after", -1, 0, int(^uint(0)>>1))
	return q, err
}

// number reads a whole number that may be left out.
func number(values map[string]string, name string, otherwise, least, most int) (int, error) {
	text, ok := values[name]
	if !ok {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, badRequest("%s: %.64q is no choice; write a whole number from %d to %d", name, text, least, most)
	}
	return n, nil
}

func isReason(text string) bool {
	for _, reason := range snapshot.Reasons() {
		if reason.String() == text {
			return true
		}
	}
	return false
}

func (q *appsQuery) matches(app *snapshot.App, contested []string) bool {
	secret := app.SecretRef.Secret
	return (q.reason == "" || q.hasReason(app, contested) != q.reasonIsNegated) &&
		(q.name == "" || app.Name == q.name) &&
		(q.namespace == "" || secret.Namespace == q.namespace) &&
		(q.secret == "" || secret.String() == q.secret && secret != snapshot.Key{})
}

// hasReason takes an App with a hostname in conflict for one of that reason too.
func (q *appsQuery) hasReason(app *snapshot.App, contested []string) bool {
	return app.Reason.String() == q.reason ||
		q.reason == snapshot.ReasonHostConflict.String() && len(contested) > 0
}

// serving is one Snapshot, seen from the admin API.
type serving struct {
	snapshot  *snapshot.Snapshot
	apps      *snapshot.Apps
	upstreams *snapshot.Upstreams // nil knows of none
	versions  *versions
	summary   summary
}

// serving returns what is served, or an error while that is nothing.
func (b *bridge) serving() (serving, error) {
	s := b.mirror.Current()
	apps, ok := snapshot.ViewAt[*snapshot.Apps](s, b.decider.Apps)
	of, known := snapshot.ViewAt[*versions](s, b.versioned)
	if !ok || !known {
		return serving{}, problem(http.StatusServiceUnavailable, "nothing has been read yet; /authz_bridge/status says why")
	}
	upstreams, _ := snapshot.ViewAt[*snapshot.Upstreams](s, b.upstreams)
	return serving{s, apps, upstreams, of, b.summary(s)}, nil
}

func serveApps(b *bridge, r *http.Request) (int, any, error) {
	q, err := readAppsQuery(r)
	if err != nil {
		return 0, nil, err
	}
	s, err := b.serving()
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, s.list(q), nil
}

func (s *serving) list(q appsQuery) AppList {
	out := AppList{Generation: s.snapshot.Generation(), Hash: s.summary.hash, Apps: []AppEntry{}}
	for i := range s.apps.Len() {
		app := s.apps.At(i)
		contested := s.apps.Contested(app)
		if !q.matches(app, contested) {
			continue
		}
		out.Total++
		if len(contested) > 0 {
			out.Conflicting++
		}
		if app.Reason == snapshot.ReasonAllowed {
			out.Serving++
		}
		switch {
		case i <= q.after:
		case len(out.Apps) < q.limit:
			out.Apps = append(out.Apps, s.entry(app))
		case out.Next == nil:
			last := out.Apps[len(out.Apps)-1].Position
			out.Next = &last
		}
	}
	return out
}

func (s *serving) entry(app *snapshot.App) AppEntry {
	out := AppEntry{
		Name:        app.Name,
		Position:    app.Index,
		Hostnames:   orEmpty(app.Hostnames),
		Conflicting: s.apps.Contested(app),
		Reason:      app.Reason.String(),
		Detail:      app.Detail,
	}
	if app.SecretRef.Secret != (snapshot.Key{}) {
		v := s.versions.of(app)
		out.Secret = &v
	}
	return out
}

func serveApp(b *bridge, r *http.Request) (int, any, error) {
	if _, err := parameters(r); err != nil {
		return 0, nil, err
	}
	s, err := b.serving()
	if err != nil {
		return 0, nil, err
	}
	name := r.PathValue("name")
	for i := range s.apps.Len() {
		if app := s.apps.At(i); app.Name == name {
			return http.StatusOK, s.detail(app), nil
		}
	}
	return 0, nil, problem(http.StatusNotFound, fmt.Sprintf("app %.64q: the Registry in use lists none of that name", name))
}

func (s *serving) detail(app *snapshot.App) AppDetail {
	out := AppDetail{
		AppEntry:  s.entry(app),
		Conflicts: []snapshot.Conflict{},
		Upstreams: []string{},
		Warnings:  orEmpty(app.Warnings),
		Asks:      asksOf(app),
	}
	if where := s.upstreams.Of(app); where != nil {
		out.Upstreams = orEmpty(where.Addresses)
		if where.Err != nil {
			out.UpstreamsError = where.Err.Error()
		}
	}
	for _, hostname := range app.Hostnames {
		if claimants := s.apps.Claimants(hostname); claimants != nil {
			out.Conflicts = append(out.Conflicts, snapshot.Conflict{Hostname: hostname, Apps: claimants})
		}
	}
	return out
}
