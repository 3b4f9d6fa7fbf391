package main

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/mirror/kube/kubetest"
)

// mountServiceAccount puts the files of a directory where a Pod has those of its
// service account, which client-go knows by path, and becomes what follows.
const mountServiceAccount = `
	mount -t tmpfs tmpfs /var/run
	mkdir -p /var/run/secrets/kubernetes.io
	cp -R "$1" /var/run/secrets/kubernetes.io/serviceaccount
	shift
	exec "$@"`

// inPod makes a command that sees the service account's files, in a mount namespace of
// its own.
func inPod(t *testing.T, files string, args ...string) *exec.Cmd {
	t.Helper()
	ctx := context.WithoutCancel(t.Context()) // it is ended by a signal
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-ec", mountServiceAccount, "sh", files}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	return cmd
}

// serviceAccountFiles are what the kubelet mounts of an account's.
func serviceAccountFiles(t *testing.T, c *kubetest.Cluster) string {
	t.Helper()
	account := c.TokenUser(c.ServiceAccountToken(t, namespace, serviceAccount))
	dir := t.TempDir()
	for name, content := range map[string][]byte{
		"token": []byte(account.BearerToken), "ca.crt": account.CAData, "namespace": []byte(namespace),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	return dir
}

func TestInPodExample(t *testing.T) {
	c := exampleCluster(t)
	files := serviceAccountFiles(t, c)
	if output, err := inPod(t, files, "true").CombinedOutput(); err != nil {
		t.Skipf("this user may not mount in a namespace of its own: %v: %s", err, output)
	}
	code, roles, errs := runCaddy(t, "authz-bridge", "rbac", filepath.Join(examplesDir, "quickstart", "registry.yaml"))
	require.Zero(t, code, errs)
	apply(t, c, []byte(roles))

	e, caddyfile := localExample(t, "in-pod.caddyfile")
	caddyfile = replaceEach(t, caddyfile, "shutdown_delay 5s", "shutdown_delay 1ms")
	adapt(t, caddyfile)
	runInPod(t, c, files, caddyfile)
	e.awaitListening(t)
	assert.Equal(t, "hello from open\n", e.await(t, "open.localhost", nil, http.StatusOK))
	e.await(t, "closed.localhost", nil, http.StatusServiceUnavailable)
	e.awaitHealth(t)

	c.DeleteSecret(t, "demo", "open")
	e.await(t, "open.localhost", nil, http.StatusServiceUnavailable)
}

// runInPod runs the program until the test ends, with the environment that the
// kubelet gives it.
func runInPod(t *testing.T, c *kubetest.Cluster, files, caddyfile string) {
	t.Helper()
	config := filepath.Join(t.TempDir(), "Caddyfile")
	require.NoError(t, os.WriteFile(config, []byte(caddyfile), 0o600))
	program, err := os.Executable()
	require.NoError(t, err)
	host, port, err := net.SplitHostPort(c.Address())
	require.NoError(t, err)

	cmd := inPod(t, files, program, "run", "--config", config, "--adapter", "caddyfile")
	cmd.Env = append(os.Environ(), asCaddy+"=1", "KUBERNETES_SERVICE_HOST="+host, "KUBERNETES_SERVICE_PORT="+port,
		"KUBECONFIG=", "XDG_CONFIG_HOME="+t.TempDir(), "XDG_DATA_HOME="+t.TempDir())
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		assert.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		assert.NoError(t, cmd.Wait(), "it ends as it should")
		if t.Failed() {
			t.Log(log.String())
		}
	})
}

func (e example) awaitListening(t *testing.T) {
	t.Helper()
	for _, address := range []string{e.site, e.health} {
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
			if assert.NoError(c, err) {
				assert.NoError(c, connection.Close())
			}
		}, podTimeout, podPoll)
	}
}
