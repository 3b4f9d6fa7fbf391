package authzbridge_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	_ "github.com/caddyserver/caddy/v2/modules/standard"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/authzbridge"
	_ "github.com/authz-bridge/authz-bridge/caddyfile"
)

// patience bounds what a test waits for; nothing that works takes as long.
const patience = 30 * time.Second

// door is a running Caddy with one site in front of nothing but itself: a request
// that is let through is answered with "<app> <generation>".
type door struct {
	tb     testing.TB
	site   string // address
	admin  string // address
	meter  string // address of the site with the metrics
	log    string // path
	option string // content of the global option
	sites  string // more sites
	inside string // content of the directive
	errors string // content of handle_errors
	answer string // of what is let through
	global string // more global options
	extra  int    // port of one more site, 0 until asked for
	client *http.Client
}

// open starts a Caddy with the content of the global option `authz_bridge`.
func open(tb testing.TB, option string) *door {
	tb.Helper()
	d := newDoor(tb, option)
	require.NoError(tb, d.load())
	return d
}

func newDoor(tb testing.TB, option string) *door {
	tb.Helper()
	d := &door{
		tb:     tb,
		site:   freeAddress(tb),
		admin:  freeAddress(tb),
		meter:  freeAddress(tb),
		log:    filepath.Join(tb.TempDir(), "caddy.log"),
		option: option,
		client: &http.Client{Timeout: patience, Transport: &http.Transport{MaxIdleConnsPerHost: 16}},
	}
	tb.Cleanup(func() {
		d.client.CloseIdleConnections()
		require.NoError(tb, caddy.Stop())
		if tb.Failed() {
			tb.Logf("caddy's log ends with:\n%s", tail(d.log))
		}
	})
	return d
}

func freeAddress(tb testing.TB) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(tb, err)
	defer l.Close()
	return l.Addr().String()
}

func tail(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(string(text), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}

func (d *door) config() string {
	_, port, _ := net.SplitHostPort(d.site)
	return fmt.Sprintf(`{
	admin %s
	persist_config off
	metrics
	%s
	log {
		output file %s
		level DEBUG
		format filter {
			request>headers>X-Api-Key delete
		}
	}
	authz_bridge {
		%s
	}
}
http://:%s {
	bind 127.0.0.1
	log
	authz_bridge {
		%s
	}
	respond "%s"
	%s
}
http://%s {
	bind 127.0.0.1
	metrics
}
%s
`, d.admin, d.global, d.log, d.option, port, d.inside, d.response(), d.errorRoutes(), d.meter, d.sites)
}

func (d *door) response() string {
	if d.answer == "" {
		return "{http.authz_bridge.app} {http.authz_bridge.generation}"
	}
	return d.answer
}

func (d *door) errorRoutes() string {
	if d.errors == "" {
		return ""
	}
	return "handle_errors {\n" + d.errors + "\n}"
}

// load loads the configuration as it is now, as a reload does.
func (d *door) load() error {
	adapted, _, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(d.config()), map[string]any{"filename": "Caddyfile"})
	if err != nil {
		return err
	}
	return caddy.Load(adapted, true)
}

// answer is what the site said.
type answer struct {
	status int
	app    string
	body   string
	header http.Header
}

func (d *door) ask(host string) answer {
	d.tb.Helper()
	return d.send(host, nil)
}

// try is ask for goroutines, which must not end the test.
func (d *door) try(host string) (answer, error) {
	return d.trySend(host, nil)
}

// send is ask with headers.
func (d *door) send(host string, h http.Header) answer {
	d.tb.Helper()
	got, err := d.trySend(host, h)
	if errors.Is(err, io.EOF) {
		// A reload ends connections that the server before had accepted and not read.
		got, err = d.trySend(host, h)
	}
	require.NoError(d.tb, err)
	return got
}

func (d *door) trySend(host string, h http.Header) (answer, error) {
	return d.trySendTo("/", host, h)
}

func (d *door) trySendTo(path, host string, h http.Header) (answer, error) {
	r, err := http.NewRequest(http.MethodGet, "http://"+d.site+path, nil)
	if err != nil {
		return answer{}, err
	}
	r.Host = host
	maps.Copy(r.Header, h)
	response, err := d.client.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	app, _, _ := strings.Cut(string(body), " ")
	return answer{response.StatusCode, app, string(body), response.Header}, err
}

func (d *door) status(host string) int {
	d.tb.Helper()
	return d.ask(host).status
}

// becomes waits until a host is answered with a status.
func (d *door) becomes(host string, status int) {
	d.tb.Helper()
	eventually(d.tb, func() bool { return d.status(host) == status }, "%s never answers %d", host, status)
}

// eventually asks again and again, on the goroutine of the test.
func eventually(tb testing.TB, condition func() bool, message string, args ...any) {
	tb.Helper()
	over := time.After(patience)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-tick.C:
		case <-over:
			require.FailNow(tb, fmt.Sprintf(message, args...))
		}
	}
}

// bridge returns what the admin API says.
func (d *door) bridge() authzbridge.Status {
	d.tb.Helper()
	var st authzbridge.Status
	status, body := d.get(d.admin, "/authz_bridge/status")
	require.Equal(d.tb, http.StatusOK, status, body)
	require.NoError(d.tb, json.Unmarshal([]byte(body), &st))
	return st
}

// degraded waits until a condition is there, or is not, and returns its message.
func (d *door) degraded(kind string, want bool) (message string) {
	d.tb.Helper()
	eventually(d.tb, func() bool {
		for _, c := range d.bridge().Degraded {
			if string(c.Type) == kind {
				message = c.Message
				return want
			}
		}
		return !want
	}, "condition %s is never %v", kind, want)
	return message
}

func (d *door) get(address, path string) (status int, body string) {
	d.tb.Helper()
	response, err := d.client.Get("http://" + address + path)
	require.NoError(d.tb, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(d.tb, err)
	return response.StatusCode, string(text)
}

// metric returns the whole value of one line of /metrics, 0 if there is none.
func (d *door) metric(series string) int64 {
	d.tb.Helper()
	status, body := d.get(d.meter, "/metrics")
	require.Equal(d.tb, http.StatusOK, status)
	for line := range strings.Lines(body) {
		if text, ok := strings.CutPrefix(line, series+" "); ok {
			var value float64
			_, err := fmt.Sscan(text, &value)
			require.NoError(d.tb, err)
			return int64(value)
		}
	}
	return 0
}
