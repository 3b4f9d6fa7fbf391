package kubetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	adminName   = "kubetest-admin"
	adminGroup  = "system:masters"
	callTimeout = 30 * time.Second
)

// Admin returns a configuration that may do everything. The caller owns it.
func (c *Cluster) Admin() *rest.Config { return rest.CopyConfig(c.admin) }

// AdminClient returns a client that may do everything, without a rate limit.
func (c *Cluster) AdminClient() kubernetes.Interface { return c.client }

// User returns the configuration of a user with a client certificate, without a
// rate limit. The user may do nothing until Grant. It panics when the name or a
// group cannot stand in a certificate.
func (c *Cluster) User(name string, groups ...string) *rest.Config {
	config, err := c.user(name, groups)
	if err != nil {
		panic(err)
	}
	return config
}

func (c *Cluster) user(name string, groups []string) (*rest.Config, error) {
	pair, err := c.ca.client(name, groups)
	if err != nil {
		return nil, err
	}
	config := c.anonymous()
	config.CertData = pair.certPEM
	config.KeyData = pair.keyPEM
	return config, nil
}

// TokenUser returns the configuration of whoever the token belongs to, without
// a rate limit.
func (c *Cluster) TokenUser(token string) *rest.Config {
	config := c.anonymous()
	config.BearerToken = token
	return config
}

func (c *Cluster) anonymous() *rest.Config {
	return &rest.Config{
		Host:            c.URL(),
		QPS:             -1,
		TLSClientConfig: rest.TLSClientConfig{CAData: c.ca.certPEM},
	}
}

// ServiceAccountToken returns a token of the service account, valid for an
// hour, and makes the account when it is absent. Deleting the account revokes
// the token; the API server may remember it for ten seconds more. The account
// is system:serviceaccount:NAMESPACE:NAME to Grant.
func (c *Cluster) ServiceAccountToken(tb testing.TB, namespace, name string) string {
	tb.Helper()
	ctx, cancel := callContext()
	defer cancel()
	accounts := c.client.CoreV1().ServiceAccounts(namespace)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := accounts.Create(ctx, account, metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		require.NoError(tb, err, "create service account %s/%s", namespace, name)
	}
	request, err := accounts.CreateToken(ctx, name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	require.NoError(tb, err, "token of service account %s/%s", namespace, name)
	return request.Status.Token
}

// connectAdmin makes the clients for the ports as they are now.
func (c *Cluster) connectAdmin() error {
	admin, err := c.user(adminName, []string{adminGroup})
	if err != nil {
		return err
	}
	httpClient, err := rest.HTTPClientFor(admin)
	if err != nil {
		return fmt.Errorf("admin client: %w", err)
	}
	client, err := kubernetes.NewForConfigAndClient(admin, httpClient)
	if err != nil {
		return fmt.Errorf("admin client: %w", err)
	}
	dynamicClient, err := dynamic.NewForConfigAndClient(admin, httpClient)
	if err != nil {
		return fmt.Errorf("admin client: %w", err)
	}
	c.admin, c.client, c.dynamic = admin, client, dynamicClient
	c.closeIdle = func() { utilnet.CloseIdleConnectionsFor(httpClient.Transport) }
	return nil
}

func callContext() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), callTimeout)
}
