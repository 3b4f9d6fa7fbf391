package kubetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	readyTimeout  = 2 * time.Minute // a loaded two-core machine; it is a second or two otherwise
	startAttempts = 5
)

// Options of a Cluster. The zero value is what tests want.
type Options struct {
	// Dir holds the data and the logs and is kept by Stop, so that a later
	// Cluster can go on with the data. Default: a temporary directory that
	// Stop removes.
	Dir string

	// APIServerArgs are more flags for kube-apiserver. They win over the defaults.
	APIServerArgs []string
}

// Cluster is a running kube-apiserver with its etcd. Its methods may be called
// by several goroutines.
type Cluster struct {
	binary    string
	dir       clusterDir
	extraArgs []string
	ca        *authority
	ports     clusterPorts
	admin     *rest.Config
	client    kubernetes.Interface
	dynamic   dynamic.Interface
	closeIdle func()

	mu        sync.Mutex // guards the processes
	etcd      *process   // nil until first started
	apiServer *process   // nil until first started
}

type clusterPorts struct {
	etcdClient int
	etcdPeer   int
	apiServer  int
}

// Start starts a Cluster and returns once /readyz is well and objects can be
// written in the namespace default. The first start on a machine builds the
// binary: see Binary. An error carries the end of the log that explains it.
func Start(options Options) (*Cluster, error) {
	binary, err := Binary()
	if err != nil {
		return nil, err
	}
	dir, err := openClusterDir(options.Dir)
	if err != nil {
		return nil, err
	}
	c := &Cluster{binary: binary, dir: dir, extraArgs: options.APIServerArgs}
	if err := c.start(); err != nil {
		return nil, errors.Join(fmt.Errorf("cluster: %w", err), c.Stop())
	}
	return c, nil
}

func (c *Cluster) start() error {
	if err := c.createKeys(); err != nil {
		return err
	}
	for attempt := 1; ; attempt++ {
		err := c.startOnFreePorts()
		if err == nil || attempt == startAttempts || !isPortTaken(err) {
			return err
		}
		c.mu.Lock()
		c.endProcesses()
		c.mu.Unlock()
	}
}

func (c *Cluster) startOnFreePorts() error {
	ports, err := freePorts(3)
	if err != nil {
		return err
	}
	c.ports = clusterPorts{etcdClient: ports[0], etcdPeer: ports[1], apiServer: ports[2]}
	if err := c.connectAdmin(); err != nil {
		return err
	}
	if err := c.StartEtcd(); err != nil {
		return err
	}
	return c.StartAPIServer()
}

func isPortTaken(err error) bool {
	return strings.Contains(err.Error(), "address already in use")
}

// createKeys writes what the API server reads from files.
func (c *Cluster) createKeys() error {
	ca, err := newAuthority()
	if err != nil {
		return err
	}
	server, err := ca.server()
	if err != nil {
		return err
	}
	_, serviceAccountKey, err := newKey()
	if err != nil {
		return fmt.Errorf("service-account key: %w", err)
	}
	c.ca = ca
	return errors.Join(
		os.WriteFile(c.dir.file("ca.crt"), ca.certPEM, 0o600),
		os.WriteFile(c.dir.file("server.crt"), server.certPEM, 0o600),
		os.WriteFile(c.dir.file("server.key"), server.keyPEM, 0o600),
		os.WriteFile(c.dir.file("service-account.key"), serviceAccountKey, 0o600),
	)
}

// Stop ends both processes and removes the temporary directory. It may be
// called at any time and more than once.
func (c *Cluster) Stop() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endProcesses()
	if c.closeIdle != nil {
		c.closeIdle()
	}
	return c.dir.close()
}

// endProcesses kills the API server, which keeps nothing, and stops etcd in order.
func (c *Cluster) endProcesses() {
	if c.apiServer.running() {
		c.apiServer.kill()
	}
	if c.etcd.running() {
		c.etcd.terminate()
	}
}

// Dir is the directory with the data and the logs, as an absolute path.
func (c *Cluster) Dir() string { return c.dir.path }

// Address is the API server's host:port, the target for a Proxy.
func (c *Cluster) Address() string { return loopback(c.ports.apiServer) }

// URL is the API server's https URL.
func (c *Cluster) URL() string { return "https://" + c.Address() }

// EtcdURL is the URL that etcd serves its clients at.
func (c *Cluster) EtcdURL() string { return "http://" + loopback(c.ports.etcdClient) }

// wait bounds the time that a process may take to become ready.
func wait(p *process, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), readyTimeout)
	defer cancel()
	return p.await(ctx, ready)
}
