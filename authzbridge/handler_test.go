package authzbridge_test

import (
	"bufio"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// raw asks with a Host as it is, also one that a Go client would not send.
func (d *door) raw(host string) int {
	d.tb.Helper()
	conn, err := net.DialTimeout("tcp", d.site, patience)
	require.NoError(d.tb, err)
	defer conn.Close()
	require.NoError(d.tb, conn.SetDeadline(time.Now().Add(patience)))
	_, err = conn.Write([]byte("GET / HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n"))
	require.NoError(d.tb, err)
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(d.tb, err)
	defer response.Body.Close()
	return response.StatusCode
}

func TestHostsAreNormalizedAsTheyComeOverTheWire(t *testing.T) {
	w := newTown(t)
	w.secret("shop", someToken())
	w.secret("exact", someToken())
	w.registry(document(
		app("shop", "shop.example.com", "*.shop.example.com", "bücher.example", "::1", "192.0.2.7"),
		app("exact", "exact.shop.example.com"),
	))
	d := open(t, w.option())
	d.becomes("shop.example.com", http.StatusOK)
	long := strings.Repeat("a.", 126) + "aa" // 254 bytes

	for host, want := range map[string]int{
		"SHOP.Example.COM":               200,
		"shop.example.com:8443":          200,
		"shop.example.com:":              200,
		"shop.example.com.":              200,
		"shop.example.com.:80":           200,
		"xn--bcher-kva.example":          200,
		"XN--BCHER-KVA.example":          200,
		"[::1]":                          200,
		"[::1]:8080":                     200,
		"[0:0:0:0:0:0:0:1]:8080":         200,
		"192.0.2.7:8080":                 200,
		"a.shop.example.com":             200,
		"a.b.shop.example.com":           403,
		"*.shop.example.com":             400,
		"shop.example.com..":             400,
		".shop.example.com":              400,
		"shop..example.com":              400,
		"shop.example.com:http":          400,
		"shop.example.com:80:80":         400,
		"[::1":                           400,
		"":                               400,
		".":                              400,
		":80":                            400,
		"-shop.example.com":              400,
		long:                             400,
		strings.Repeat("a", 64) + ".com": 400,
		"other.example":                  403,
	} {
		assert.Equal(t, want, d.raw(host), "%.80q", host)
	}
	assert.Equal(t, "exact", d.ask("exact.shop.example.com").app, "exact beats wildcard")
}

func TestUnknownHostsMayPassOnlyIfThereIsARegistry(t *testing.T) {
	w := newTown(t)
	w.secret("shop", someToken())
	d := newDoor(t, w.option())
	d.inside = "unknown pass"
	require.NoError(t, d.load())
	assert.Equal(t, http.StatusForbidden, d.status("unknown.example.com"))

	w.registry(document(app("shop", "shop.example.com"), app("closed", "closed.example.com")))
	d.becomes("unknown.example.com", http.StatusOK)
	w.registry("version: 1\n")
	d.becomes("unknown.example.com", http.StatusForbidden)
	w.registry(document(app("shop", "shop.example.com"), app("closed", "closed.example.com")))
	d.becomes("unknown.example.com", http.StatusOK)
	d.becomes("shop.example.com", http.StatusOK)
	assert.Equal(t, http.StatusServiceUnavailable, d.status("closed.example.com"))
	assert.Equal(t, http.StatusBadRequest, d.raw("bad..host"))

	d.inside = "unknown 404"
	require.NoError(t, d.load())
	assert.Equal(t, http.StatusNotFound, d.status("unknown.example.com"))
}

func TestErrorRoutesSeeTheStatusAndTheReason(t *testing.T) {
	w := newTown(t)
	w.registry(document(app("shop", "shop.example.com")))
	d := newDoor(t, w.option())
	port := freeAddress(t)
	d.sites = "http://" + port + " {\nbind 127.0.0.1\n}\nhttp://:" + strings.Split(port, ":")[1] + ` {
	bind 127.0.0.1
	authz_bridge
	respond "open"
	handle_errors {
		respond "{err.status_code} {err.message} {http.authz_bridge.app} {http.authz_bridge.reason}"
	}
}`
	require.NoError(t, d.load())
	d.site = port
	eventually(t, func() bool { return d.ask("shop.example.com").body == "503 Service Unavailable shop secret_absent" },
		"the error route never says why")
	assert.Equal(t, "403 Forbidden  unknown_host", d.ask("unknown.example.com").body)
	assert.Equal(t, "5", d.ask("shop.example.com").header.Get("Retry-After"))
}

func TestClientsAreToldNoMoreThanTheStatus(t *testing.T) {
	w := newTown(t)
	w.registry(document(app("shop", "shop.example.com")))
	d := open(t, w.option())
	d.becomes("shop.example.com", http.StatusServiceUnavailable)
	got := d.ask("shop.example.com")
	assert.Empty(t, got.body)
	for name := range got.header {
		assert.Contains(t, []string{"Retry-After", "Server", "Date", "Content-Length"}, name)
	}
}

func TestReadinessCanBeProbedOverASite(t *testing.T) {
	w := newTown(t)
	d := newDoor(t, w.option())
	probe := freeAddress(t)
	d.sites = "http://" + probe + " {\nbind 127.0.0.1\nauthz_bridge_ready /readyz\nrespond /livez alive\n}"
	w.registry("no document")
	require.NoError(t, d.load())

	status, body := d.get(probe, "/readyz")
	assert.Equal(t, http.StatusServiceUnavailable, status)
	assert.Equal(t, "not ready\n", body)
	status, _ = d.get(probe, "/livez")
	assert.Equal(t, http.StatusOK, status, "liveness does not follow the Mirror")

	w.registry("version: 1\n")
	eventually(t, func() bool {
		status, body = d.get(probe, "/readyz")
		return status == http.StatusOK
	}, "never ready")
	assert.Equal(t, "ready\n", body)
}

func TestProbesAreAnsweredInASiteThatAuthorizes(t *testing.T) {
	w := newTown(t)
	w.registry("version: 1\n")
	d := newDoor(t, w.option())
	site := freeAddress(t)
	_, port, err := net.SplitHostPort(site)
	require.NoError(t, err)
	d.sites = "http://:" + port + " {\nbind 127.0.0.1\nauthz_bridge\nauthz_bridge_ready /readyz\n}"
	require.NoError(t, d.load())

	eventually(t, func() bool {
		status, _ := d.get(site, "/readyz")
		return status == http.StatusOK
	}, "the probe is never answered")
	status, _ := d.get(site, "/")
	assert.Equal(t, http.StatusForbidden, status)
}

func TestAdminAPIIsReadOnly(t *testing.T) {
	w := newTown(t)
	d := open(t, w.option())
	for _, path := range []string{"/authz_bridge/status", "/authz_bridge/ready"} {
		response, err := d.client.Post("http://"+d.admin+path, "application/json", nil)
		require.NoError(t, err)
		response.Body.Close()
		assert.Equal(t, http.StatusMethodNotAllowed, response.StatusCode)
	}
}

func TestAccessLogAndMetricsTellAppAndReason(t *testing.T) {
	w := newTown(t)
	w.secret("shop", someToken())
	w.registry(document(app("shop", "shop.example.com"), app("closed", "closed.example.com")))
	d := open(t, w.option())
	d.becomes("shop.example.com", http.StatusOK)
	require.Equal(t, http.StatusServiceUnavailable, d.status("closed.example.com"))
	require.Equal(t, http.StatusForbidden, d.status("unknown.example.com"))

	eventually(t, func() bool {
		text, err := os.ReadFile(d.log)
		require.NoError(t, err)
		log := string(text)
		return strings.Contains(log, `"authz_bridge":{"app":"shop","reason":"allowed","generation":`) &&
			strings.Contains(log, `"authz_bridge":{"app":"closed","reason":"secret_absent","generation":`) &&
			strings.Contains(log, `"authz_bridge":{"app":"","reason":"unknown_host","generation":`)
	}, "the access log does not say why")

	for series, want := range map[string]int64{
		`authz_bridge_decisions_total{app="closed",reason="secret_absent"}`: 1,
		`authz_bridge_decisions_total{app="",reason="unknown_host"}`:        1,
		`authz_bridge_apps{reason="allowed"}`:                               1,
		`authz_bridge_apps{reason="secret_absent"}`:                         1,
		`authz_bridge_hostnames`:                                            2,
		`authz_bridge_state{state="live"}`:                                  1,
		`authz_bridge_state{state="unsynced"}`:                              0,
		`authz_bridge_ready`:                                                1,
		`authz_bridge_degraded{reason="RegistryMalformed"}`:                 0,
		`authz_bridge_source_errors_total{kind="contact"}`:                  0,
	} {
		assert.Equal(t, want, d.metric(series), series)
	}
	assert.Positive(t, d.metric(`authz_bridge_rebuilds_total`))
	assert.Positive(t, d.metric(`authz_bridge_rebuild_duration_seconds_count`))
}

func TestNoByteOfASecretLeavesTheProcess(t *testing.T) {
	const canary = "c4n4ry-in-a-coal-mine"
	w := newTown(t)
	w.secret("shop", map[string]string{"token": canary})
	w.registry(document(app("shop", "shop.example.com")))
	d := open(t, w.option())
	d.becomes("shop.example.com", http.StatusOK)
	w.secret("shop", map[string]string{"other": canary})
	d.becomes("shop.example.com", http.StatusServiceUnavailable)
	w.registry("version: 1\napps: " + canary)
	d.degraded("RegistryMalformed", true)

	for _, path := range []string{"/config/", "/metrics", "/authz_bridge/status", "/authz_bridge/ready"} {
		_, body := d.get(d.admin, path)
		if path != "/config/" {
			assert.NotEmpty(t, body)
		}
		assert.NotContains(t, body, canary, path)
	}
	log, err := os.ReadFile(d.log)
	require.NoError(t, err)
	assert.NotEmpty(t, log)
	assert.NotContains(t, string(log), canary)
}
