package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

const (
	podTimeout = 30 * time.Second
	podPoll    = 10 * time.Millisecond
)

// pod is this process with the ConfigMap's Caddyfile loaded, seen as the
// kubelet and the Service see the Deployment's container.
type pod struct {
	container corev1.Container
	addresses map[string]string // host:port by the name of the container port
	client    *http.Client
}

// runPod has the environment of an overlay, and changes no more of the Caddyfile than
// where it listens, where the cluster is, and what would outlast the test.
func runPod(tb testing.TB, kubeconfig, overlay string) *pod {
	tb.Helper()
	return runPodWith(tb, kubeconfig, overlay, readCaddyfile(tb, overlay))
}

// runPodWith has a Caddyfile of its own.
func runPodWith(tb testing.TB, kubeconfig, overlay, caddyfile string) *pod {
	tb.Helper()
	p := &pod{
		container: readDeployment(tb, overlay).Spec.Template.Spec.Containers[0],
		addresses: map[string]string{},
		client:    &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: podTimeout},
	}
	for _, variable := range p.container.Env {
		tb.Setenv(variable.Name, variable.Value)
	}
	local := fmt.Sprintf("admin off\n\tpersist_config off\n\tdefault_bind 127.0.0.1\n\tstorage file_system %s\n", tb.TempDir())
	caddyfile = replaceEach(tb, caddyfile,
		"admin localhost:2019\n", local,
		"shutdown_delay 5s\n", "shutdown_delay 1ms\n",
		"source kubernetes {\n", "source kubernetes {\n\t\t\tkubeconfig "+kubeconfig+"\n",
	)
	for _, port := range p.container.Ports {
		address := freeAddress(tb)
		p.addresses[port.Name] = address
		_, number, err := net.SplitHostPort(address)
		require.NoError(tb, err)
		caddyfile = replaceEach(tb, caddyfile, fmt.Sprintf("http://:%d {", port.ContainerPort), "http://:"+number+" {")
	}
	require.NoError(tb, caddy.Load(adapt(tb, caddyfile), true))
	tb.Cleanup(func() { assert.NoError(tb, caddy.Stop()) })
	return p
}

func freeAddress(tb testing.TB) string {
	tb.Helper()
	listener, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	require.NoError(tb, err)
	require.NoError(tb, listener.Close())
	return listener.Addr().String()
}

// question is a GET request that can be sent again.
type question struct {
	address, host, path string
	forwardedFor        string // none, if empty
}

// probe is what the kubelet asks.
func (p *pod) probe(probe *corev1.Probe) question {
	address := p.addresses[probe.HTTPGet.Port.StrVal]
	return question{address: address, host: address, path: probe.HTTPGet.Path}
}

// request is what a client asks through the Service.
func (p *pod) request(host string) question {
	return question{address: p.addresses["http"], host: host, path: "/"}
}

func (p *pod) status(tb testing.TB, q question) int {
	tb.Helper()
	request, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, "http://"+q.address+q.path, http.NoBody)
	require.NoError(tb, err)
	request.Host = q.host
	if q.forwardedFor != "" {
		request.Header.Set("X-Forwarded-For", q.forwardedFor)
	}
	response, err := p.client.Do(request)
	require.NoError(tb, err)
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	require.NoError(tb, err)
	return response.StatusCode
}

// await asks until the answer is the one wanted.
func (p *pod) await(tb testing.TB, want int, q question) {
	tb.Helper()
	deadline := time.Now().Add(podTimeout)
	ticker := time.NewTicker(podPoll)
	defer ticker.Stop()
	got := p.status(tb, q)
	for got != want && time.Now().Before(deadline) {
		<-ticker.C
		got = p.status(tb, q)
	}
	require.Equal(tb, want, got, "%+v", q)
}
