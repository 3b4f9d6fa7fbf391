package kube

import (
	"bytes"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

// testCA is a certificate in PEM.
func testCA(t *testing.T) []byte {
	t.Helper()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}

func TestNewLeavesTheConfigurationAsItIs(t *testing.T) {
	given := &rest.Config{Host: "https://127.0.0.1:1", UserAgent: "mine", Timeout: time.Second}
	before := rest.CopyConfig(given)
	_, err := New(Options{Registry: shopKey("registry"), Config: given})
	require.NoError(t, err)
	assert.Equal(t, before, given)
}

func TestNewDoesNotTouchFilesOrTheNetwork(t *testing.T) {
	_, err := New(Options{Registry: shopKey("registry"), Config: &rest.Config{
		Host:            "https://127.0.0.1:1",
		BearerTokenFile: "/nonexistent",
		TLSClientConfig: rest.TLSClientConfig{CAFile: "/nonexistent"},
	}})
	assert.NoError(t, err)
}

func TestServerIsAskedForProtobufByName(t *testing.T) {
	b := newBench(t)
	b.put(t, "clients", "one")
	var sent http.Header
	var contentType string
	config := b.cluster.Admin()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(request *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(request)
			if err == nil {
				sent, contentType = request.Header, response.Header.Get("Content-Type")
			}
			return response, err
		})
	})
	api, err := newClient(clientConfig(config))
	require.NoError(t, err)
	defer api.close()
	require.NoError(t, b.shopScope().targets()[0].request(api, metav1.ListOptions{}).Do(t.Context()).Error())

	assert.Equal(t, "application/vnd.kubernetes.protobuf", contentType)
	assert.Equal(t, "application/vnd.kubernetes.protobuf,application/json", sent.Get("Accept"))
	assert.Regexp(t, `^authz-bridge/\S+$`, sent.Get("User-Agent"))
	assert.Nil(t, api.GetRateLimiter())
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

func TestClientGoLogsNothing(t *testing.T) {
	var logged bytes.Buffer
	klog.LogToStderr(false)
	klog.SetOutput(&logged)
	defer klog.LogToStderr(true)
	b := newBench(t)
	proxy := b.proxy(t)
	b.startSynced(t, via(b.cluster.Admin(), proxy), b.shopScope())
	proxy.Cut()
	b.awaitOutage(t)
	proxy.Pass()
	b.awaitRecovery(t)
	b.stop()
	klog.Flush()
	assert.Empty(t, logged.String())
}
