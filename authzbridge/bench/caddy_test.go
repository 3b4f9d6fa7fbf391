package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/authzbridge"
)

// caddyBinary is what make build makes, seen from this package.
const caddyBinary = "../../bin/caddy"

const (
	// patience bounds what is waited for; nothing that works takes as long.
	patience = 2 * time.Minute

	// authorized is the content of a site that asks the bridge.
	authorized = "authz_bridge\nrespond ok"
	bare       = "respond ok"
)

// config is a Caddyfile in the making.
type config struct {
	t      *testing.T
	admin  string // address
	option string // content of the global option authz_bridge; empty for none
	sites  strings.Builder
}

func newConfig(t *testing.T, option string) *config {
	t.Helper()
	return &config{t: t, admin: freeAddress(t), option: option}
}

// site adds a server of its own and returns its address.
func (c *config) site(content string) string {
	c.t.Helper()
	address := freeAddress(c.t)
	_, port, err := net.SplitHostPort(address)
	require.NoError(c.t, err)
	fmt.Fprintf(&c.sites, "http://:%s {\nbind 127.0.0.1\n%s\n}\n", port, content)
	return address
}

func (c *config) String() string {
	option := ""
	if c.option != "" {
		option = "authz_bridge {\n" + c.option + "\n}"
	}
	return fmt.Sprintf("{\nadmin %s\npersist_config off\nlog {\nlevel ERROR\n}\n%s\n}\n%s", c.admin, option, &c.sites)
}

// adapt returns the JSON of a Caddyfile.
func adapt(t *testing.T, caddyfile string) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "Caddyfile")
	require.NoError(t, os.WriteFile(file, []byte(caddyfile), 0o600))
	text, err := exec.Command(caddyBinary, "adapt", "--config", file, "--adapter", "caddyfile").Output()
	require.NoError(t, err)
	return text
}

// caddy is a process of the built binary.
type caddy struct {
	t       *testing.T
	admin   string
	log     string
	command *exec.Cmd
	client  *http.Client
}

// startCaddy does not wait for anything. The process ends with the test.
func startCaddy(t *testing.T, c *config, env ...string) *caddy {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "Caddyfile")
	require.NoError(t, os.WriteFile(file, []byte(c.String()), 0o600))
	log, err := os.Create(filepath.Join(dir, "caddy.log"))
	require.NoError(t, err)
	defer log.Close()
	command := exec.Command(caddyBinary, "run", "--config", file, "--adapter", "caddyfile")
	command.Env = append(append(os.Environ(), "XDG_CONFIG_HOME="+dir, "XDG_DATA_HOME="+dir), env...)
	command.Stdout, command.Stderr = log, log
	require.NoError(t, command.Start(), "make build makes the binary")
	d := &caddy{t: t, admin: c.admin, log: log.Name(), command: command, client: &http.Client{Timeout: patience}}
	t.Cleanup(d.stop)
	return d
}

// stop lets the process end in order. It may be called more than once.
func (d *caddy) stop() {
	if d.command.ProcessState != nil {
		return
	}
	d.client.CloseIdleConnections()
	_ = d.command.Process.Signal(syscall.SIGTERM) // fails only when it has ended
	hung := time.AfterFunc(patience, func() { _ = d.command.Process.Kill() })
	_ = d.command.Wait()
	hung.Stop()
	if d.t.Failed() {
		text, _ := os.ReadFile(d.log)
		d.t.Logf("caddy's log ends with:\n%s", text[max(0, len(text)-2000):])
	}
}

func (d *caddy) get(path string) (status int, body []byte, err error) {
	response, err := d.client.Get("http://" + d.admin + path)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	body, err = io.ReadAll(response.Body)
	return response.StatusCode, body, err
}

// awaitServing waits until all that is listed was read, and so many Apps serve.
func (d *caddy) awaitServing(apps int) {
	d.t.Helper()
	var last string
	eventually(d.t, func() bool {
		status, body, err := d.get("/authz_bridge/status")
		last = fmt.Sprintf("%d %.300s %v", status, body, err)
		var now authzbridge.Status
		return err == nil && json.Unmarshal(body, &now) == nil && now.State == "live" && now.Apps.Serving == apps && now.Ready
	}, func() string { return fmt.Sprintf("%d Apps never serve: %s", apps, last) })
}

// metric returns the value of a series that the admin API shows.
func (d *caddy) metric(series string) float64 {
	d.t.Helper()
	value, err := d.tryMetric(series)
	require.NoError(d.t, err)
	return value
}

func (d *caddy) tryMetric(series string) (value float64, err error) {
	_, body, err := d.get("/metrics")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(body)) {
		if text, ok := strings.CutPrefix(line, series+" "); ok {
			_, err = fmt.Sscan(text, &value)
			return value, err
		}
	}
	return 0, fmt.Errorf("no series %s", series)
}

// cpu returns how many seconds of processor time the process took so far.
func (d *caddy) cpu() float64 {
	d.t.Helper()
	return d.metric("process_cpu_seconds_total")
}

const heapSeries = "go_memstats_heap_alloc_bytes"

// heap returns the bytes that live on the heap.
func (d *caddy) heap() float64 {
	d.t.Helper()
	for range 2 { // what a pool holds goes with the second
		status, _, err := d.get("/debug/pprof/heap?gc=1")
		require.NoError(d.t, err)
		require.Equal(d.t, http.StatusOK, status)
	}
	return d.metric(heapSeries)
}

// eventually asks again and again, on the goroutine of the test.
func eventually(t *testing.T, condition func() bool, message func() string) {
	t.Helper()
	over := time.After(patience)
	for !condition() {
		select {
		case <-time.After(5 * time.Millisecond):
		case <-over:
			require.FailNow(t, message())
		}
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}
