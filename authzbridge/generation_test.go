package authzbridge_test

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"weak"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/authzbridge"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

func init() {
	caddy.RegisterModule(new(crossing))
	httpcaddyfile.RegisterHandlerDirective("test_next_generation", func(h httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
		h.Next()
		return new(crossing), nil
	})
}

// crossing is the handler `test_next_generation`: it holds each request until another
// generation has been published.
type crossing struct{}

func (*crossing) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.test_next_generation", New: func() caddy.Module { return new(crossing) }}
}

func (*crossing) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	if err := authzbridge.AwaitNextGeneration(ctx); err != nil {
		return err
	}
	return next.ServeHTTP(w, r)
}

// Each version of the Registry gives the hostname to another App than the one before,
// behind another upstream. Every request meets new generations on its way, and yet
// matcher, handler and upstream agree.
func TestARequestGoesFromMatcherToUpstreamOnOneGeneration(t *testing.T) {
	const requests = 40
	w := newTown(t)
	names := []string{"even", "odd"}
	addresses := []string{named(t, "even"), named(t, "odd")}
	w.secret("shared", someToken())
	write := func(n int) {
		w.registry(document(fmt.Sprintf(
			"name: %s\nhostnames: [shop.example.com]\nsecretRef: {name: shared}\nupstreams: ['%s']", names[n%2], addresses[n%2])))
	}
	write(0)
	site := ""
	for _, name := range names {
		site += fmt.Sprintf(`@%[1]s authz_bridge app %[1]s
handle @%[1]s {
	route {
		header X-Matched %[1]s
		test_next_generation
		authz_bridge
		header X-Decided "{http.authz_bridge.app} {http.authz_bridge.generation}"
		test_next_generation
		%[2]s
	}
}
`, name, dynamic)
	}
	d := openAnnex(t, w.option(), site)

	eventually(t, func() bool { return d.bridge().Apps.Serving == 1 }, "never synced")

	answers := make(chan passage, requests)
	go func() {
		defer close(answers)
		for range requests {
			answers <- d.pass("shop.example.com")
		}
	}()
	generations := make(map[string]bool)
	for n := 1; len(generations) < requests; n++ {
		write(n)
		select {
		case p, more := <-answers:
			require.True(t, more, "two requests on one generation")
			require.NoError(t, p.err)
			p.check(t)
			generations[p.generation] = true
		default:
		}
	}
	t.Logf("%d requests on %d generations", requests, len(generations))
}

// passage is what a request met on its way.
type passage struct {
	matched, decided, generation, upstream string
	last                                   uint64 // generation when it was answered
	err                                    error
}

func (a *annex) pass(host string) passage {
	got, err := a.try(host)
	if err == nil && got.status != http.StatusOK {
		err = fmt.Errorf("%d %s", got.status, got.body)
	}
	decided, generation, _ := strings.Cut(got.header.Get("X-Decided"), " ")
	return passage{got.header.Get("X-Matched"), decided, generation, got.app, authzbridge.CurrentGeneration(), err}
}

func (p passage) check(t *testing.T) {
	t.Helper()
	assert.Equal(t, p.matched, p.decided, "matcher and handler, generation %s", p.generation)
	assert.Equal(t, p.matched, p.upstream, "matcher and upstream, generation %s", p.generation)
	served, err := strconv.ParseUint(p.generation, 10, 64)
	require.NoError(t, err)
	assert.GreaterOrEqual(t, p.last, served+2, "it crosses two on its way")
}

// A request that lasts keeps its App in memory, and not the Apps of its time.
func TestARequestThatLastsKeepsNoGeneration(t *testing.T) {
	for about, content := range map[string]string{
		"after the handler": "route {\nauthz_bridge\ntest_pause\n" + dynamic + "\n}",
		"after a matcher":   "@known authz_bridge known\nhandle @known {\nroute {\ntest_pause\nrespond blog\n}\n}",
	} {
		t.Run(about, func(t *testing.T) {
			s := newStreet(t)
			d := s.open(t, content)
			p := beginPause(t)
			answers := make(chan answer, 1)
			go func() {
				got, err := d.try("blog.example.com")
				assert.NoError(t, err)
				answers <- got
			}()
			p.reached(t)
			old := weakApps(t)
			s.register(app("blog", "blog.example.com") + at(s.shop))
			eventually(t, func() bool {
				now, _ := authzbridge.CurrentApps()
				return now.Len() == 3
			}, "the change is never served")
			eventually(t, func() bool {
				runtime.GC()
				return old.Value() == nil
			}, "the generation of the request is still in memory")
			p.end()
			assert.Equal(t, "blog", (<-answers).app, "and yet it is answered on it")
		})
	}
}

func weakApps(t *testing.T) weak.Pointer[snapshot.Apps] {
	t.Helper()
	apps, ok := authzbridge.CurrentApps()
	require.True(t, ok)
	return weak.Make(apps)
}

// An error route may come long after the decision, so it is told by the Snapshot of then.
func TestAnErrorRouteDecidesByTheSnapshotOfThen(t *testing.T) {
	s := newStreet(t)
	d := s.open(t, `route {
		authz_bridge
		test_pause
		error "the app behind fails" 502
	}
	handle_errors {
		authz_bridge
		respond "still open" 200
	}`)
	for _, removed := range []bool{false, true} {
		want := http.StatusOK
		if removed {
			want = http.StatusBadGateway
		}
		p := beginPause(t)
		answers := make(chan answer, 1)
		go func() {
			got, err := d.try("blog.example.com")
			assert.NoError(t, err)
			answers <- got
		}()
		p.reached(t)
		if removed {
			s.register()
			eventually(t, func() bool {
				now, _ := authzbridge.CurrentApps()
				return now.Len() == 2
			}, "the change is never served")
		}
		p.end()
		assert.Equal(t, want, (<-answers).status, "removed: %v", removed)
	}
}
