package kubetest

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// StartAPIServer starts the API server on the port that it had and waits until
// it is ready, which takes etcd. It is an error when it runs.
func (c *Cluster) StartAPIServer() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.startAPIServer()
}

// KillAPIServer ends the API server at once: connections break and new ones are
// refused.
func (c *Cluster) KillAPIServer() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.apiServer.running() {
		return errors.New("kube-apiserver: does not run")
	}
	c.apiServer.kill()
	return nil
}

// FreezeAPIServer stops the API server in its tracks: the kernel accepts
// connections and nothing answers.
func (c *Cluster) FreezeAPIServer() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.apiServer.freeze()
}

// ThawAPIServer lets a frozen API server go on.
func (c *Cluster) ThawAPIServer() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.apiServer.thaw()
}

func (c *Cluster) startAPIServer() error {
	if c.apiServer.running() {
		return errors.New("kube-apiserver: runs already")
	}
	command := exec.Command(c.binary, append([]string{"apiserver"}, c.apiServerArgs()...)...)
	apiServer, err := startProcess("kube-apiserver", c.dir.file("apiserver.log"), command)
	if err != nil {
		return err
	}
	c.apiServer = apiServer
	return wait(apiServer, c.apiServerReady)
}

func (c *Cluster) apiServerArgs() []string {
	args := []string{
		"--etcd-servers=" + c.EtcdURL(),
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(c.ports.apiServer),
		"--tls-cert-file=" + c.dir.file("server.crt"),
		"--tls-private-key-file=" + c.dir.file("server.key"),
		"--client-ca-file=" + c.dir.file("ca.crt"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + c.dir.file("service-account.key"),
		"--service-account-signing-key-file=" + c.dir.file("service-account.key"),
		"--service-cluster-ip-range=10.0.0.0/24",
		"--authorization-mode=RBAC",
		"--anonymous-auth=false",
		// It waits for a controller to make the default account of a namespace.
		"--disable-admission-plugins=ServiceAccount",
		// Nothing of this serves one client on one machine.
		"--endpoint-reconciler-type=none",
		"--enable-priority-and-fairness=false",
		"--profiling=false",
	}
	return append(args, c.extraArgs...)
}

// apiServerReady asks for more than /readyz, which does not wait for the
// namespace default.
func (c *Cluster) apiServerReady(ctx context.Context) error {
	if err := c.client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error(); err != nil {
		return fmt.Errorf("GET /readyz: %w", err)
	}
	probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "kubetest-"}}
	_, err := c.client.CoreV1().ConfigMaps(metav1.NamespaceDefault).
		Create(ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		return fmt.Errorf("write in namespace default: %w", err)
	}
	return nil
}
