package kubetest

import (
	"fmt"
	"net/url"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const contextName = "kubetest"

// Kubeconfig writes a kubeconfig file (mode 0600, all data inline) for the
// configuration into a temporary directory of the test and returns its path.
func (c *Cluster) Kubeconfig(tb testing.TB, config *rest.Config) string {
	tb.Helper()
	return c.KubeconfigVia(tb, config, c.Address())
}

// KubeconfigVia is Kubeconfig for a client that reaches the API server at
// another address (host:port), such as that of a Proxy.
func (c *Cluster) KubeconfigVia(tb testing.TB, config *rest.Config, address string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "kubeconfig")
	require.NoError(tb, c.WriteKubeconfig(path, config, address))
	return path
}

// WriteKubeconfig writes the file that KubeconfigVia describes.
func (c *Cluster) WriteKubeconfig(path string, config *rest.Config, address string) error {
	cluster := &clientcmdapi.Cluster{
		Server:                   "https://" + address,
		CertificateAuthorityData: config.CAData,
		TLSServerName:            serverNameAt(address),
	}
	user := &clientcmdapi.AuthInfo{
		ClientCertificateData: config.CertData,
		ClientKeyData:         config.KeyData,
		Token:                 config.BearerToken,
	}
	file := clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{contextName: cluster},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{contextName: user},
		Contexts:       map[string]*clientcmdapi.Context{contextName: {Cluster: contextName, AuthInfo: contextName}},
		CurrentContext: contextName,
	}
	if err := clientcmd.WriteToFile(file, path); err != nil {
		return fmt.Errorf("kubeconfig %s: %w", path, err)
	}
	return nil
}

// serverNameAt is empty where the certificate covers the address as it is.
func serverNameAt(address string) string {
	server := url.URL{Host: address}
	switch server.Hostname() {
	case "127.0.0.1", "::1", "localhost":
		return ""
	}
	return "localhost"
}
