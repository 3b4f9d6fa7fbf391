package kubetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
)

// StartEtcd starts etcd with the data that it had and waits until it serves. It
// is an error when it runs.
func (c *Cluster) StartEtcd() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.startEtcd()
}

// StopEtcd stops etcd in order; the API server goes on without its data.
func (c *Cluster) StopEtcd() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stopEtcd()
}

// FreezeEtcd stops etcd in its tracks: connections stay open, nothing answers.
func (c *Cluster) FreezeEtcd() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.etcd.freeze()
}

// ThawEtcd lets a frozen etcd go on.
func (c *Cluster) ThawEtcd() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.etcd.thaw()
}

// SnapshotEtcd copies all data into dir, which must not exist. etcd is down
// while it copies, the API server is not.
func (c *Cluster) SnapshotEtcd(dir string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.stopEtcd(); err != nil {
		return err
	}
	if err := os.CopyFS(dir, os.DirFS(c.dir.file("etcd"))); err != nil {
		return errors.Join(fmt.Errorf("snapshot of etcd: %w", err), c.startEtcd())
	}
	return c.startEtcd()
}

// RestoreEtcd takes the cluster back to what SnapshotEtcd copied into dir, with
// the resource versions of that time. As in any restore of a cluster, the API
// server is killed first and started again, on the same port.
func (c *Cluster) RestoreEtcd(dir string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := os.Stat(dir); err != nil {
		return fmt.Errorf("restore of etcd: %w", err)
	}
	c.endProcesses()
	if err := replaceDir(c.dir.file("etcd"), dir); err != nil {
		return fmt.Errorf("restore of etcd: %w", err)
	}
	if err := c.startEtcd(); err != nil {
		return err
	}
	return c.startAPIServer()
}

func replaceDir(target, source string) error {
	if err := os.RemoveAll(target); err != nil {
		return err
	}
	return os.CopyFS(target, os.DirFS(source))
}

func (c *Cluster) startEtcd() error {
	if c.etcd.running() {
		return errors.New("etcd: runs already")
	}
	command := exec.Command(c.binary, "etcd",
		"-data-dir", c.dir.file("etcd"),
		"-client-url", c.EtcdURL(),
		"-peer-url", "http://"+loopback(c.ports.etcdPeer))
	etcd, err := startProcess("etcd", c.dir.file("etcd.log"), command)
	if err != nil {
		return err
	}
	c.etcd = etcd
	return wait(etcd, c.etcdReady)
}

func (c *Cluster) stopEtcd() error {
	if !c.etcd.running() {
		return errors.New("etcd: does not run")
	}
	c.etcd.terminate()
	return nil
}

func (c *Cluster) etcdReady(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.EtcdURL()+"/readyz", nil)
	if err != nil {
		return err
	}
	request.Close = true // no idle connection stays
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusOK {
		return nil
	}
	body, _ := io.ReadAll(response.Body)
	return fmt.Errorf("GET /readyz: %s: %s", response.Status, body)
}
