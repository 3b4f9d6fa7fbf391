package kube

import (
	"fmt"
	"net/http"
	"runtime/debug"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
)

const modulePath = "github.com/authz-bridge/authz-bridge"

// codecs know the core group alone: a generated client would bring every group
// of Kubernetes into the binary.
func codecs() runtime.NegotiatedSerializer {
	scheme := runtime.NewScheme()
	utilruntime.Must(corev1.AddToScheme(scheme))
	return serializer.NewCodecFactory(scheme).WithoutConversion()
}

// clientConfig returns a copy of a configuration, made fit for this package.
func clientConfig(given *rest.Config) *rest.Config {
	config := rest.CopyConfig(given)
	config.APIPath = "/api"
	config.GroupVersion = &corev1.SchemeGroupVersion
	config.NegotiatedSerializer = codecs()
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	config.UserAgent = userAgent()
	config.WarningHandlerWithContext = rest.NoWarnings{}
	// Attempts are paced where they are made.
	config.QPS = -1
	config.RateLimiter = nil
	// It would end each watch.
	config.Timeout = 0
	return config
}

// client talks to the API server.
type client struct {
	rest.Interface
	http *http.Client
}

// newClient reads the files that the configuration names, and does not use the
// network.
func newClient(config *rest.Config) (*client, error) {
	transport, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	api, err := rest.RESTClientForConfigAndClient(config, transport)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	return &client{Interface: api, http: transport}, nil
}

// endTime is how long the last streams of a connection may take to end after those
// who used them have.
const endTime = time.Second

// close gives up the connections that are not in use, now and a moment later.
func (c *client) close() {
	transport := c.http.Transport
	for {
		switch t := transport.(type) {
		case interface{ CloseIdleConnections() }:
			t.CloseIdleConnections()
			time.AfterFunc(endTime, t.CloseIdleConnections)
			return
		case utilnet.RoundTripperWrapper:
			transport = t.WrappedRoundTripper()
		default:
			return
		}
	}
}

// userAgent tells the version of this module, which is the main one or a
// dependency of the Caddy that it is built into.
func userAgent() string {
	return "authz-bridge/" + moduleVersion()
}

func moduleVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, module := range append(info.Deps, &info.Main) {
		if module.Path == modulePath && module.Version != "" {
			return module.Version
		}
	}
	return "unknown"
}
