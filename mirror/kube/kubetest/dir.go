package kubetest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

const (
	tempPattern = "kubetest-*"
	lockName    = "lock"
	leftoverAge = time.Minute // younger ones may not have their lock yet
)

// clusterDir is the directory of one Cluster, locked for this process.
type clusterDir struct {
	path      string
	temporary bool
	lock      *os.File
}

func openClusterDir(path string) (clusterDir, error) {
	if path == "" {
		return openTempDir()
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return clusterDir{}, fmt.Errorf("cluster directory: %w", err)
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return clusterDir{}, fmt.Errorf("cluster directory: %w", err)
	}
	lock, err := tryLockFile(filepath.Join(path, lockName))
	if err != nil {
		return clusterDir{}, fmt.Errorf("cluster directory %s: another cluster runs in it, stop that or name another directory: %w", path, err)
	}
	return clusterDir{path: path, lock: lock}, nil
}

func openTempDir() (clusterDir, error) {
	removeLeftovers(filepath.Join(os.TempDir(), tempPattern), time.Now().Add(-leftoverAge))
	path, err := os.MkdirTemp("", tempPattern)
	if err != nil {
		return clusterDir{}, fmt.Errorf("cluster directory: %w", err)
	}
	lock, err := tryLockFile(filepath.Join(path, lockName))
	if err != nil {
		return clusterDir{}, err
	}
	return clusterDir{path: path, temporary: true, lock: lock}, nil
}

func (d clusterDir) close() error {
	if d.temporary {
		return errors.Join(os.RemoveAll(d.path), d.unlock())
	}
	return d.unlock()
}

func (d clusterDir) unlock() error {
	if err := d.lock.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

// removeLeftovers removes the directories of test processes that were killed:
// those whose lock nobody holds. What it may not remove, it leaves.
func removeLeftovers(pattern string, olderThan time.Time) {
	paths, _ := filepath.Glob(pattern) // fails for a malformed pattern only
	for _, path := range paths {
		info, err := os.Lstat(path)
		if err != nil || !info.IsDir() || info.ModTime().After(olderThan) {
			continue
		}
		lock, err := tryLockFile(filepath.Join(path, lockName))
		if err != nil {
			continue
		}
		_ = os.RemoveAll(path)
		lock.Close()
	}
}

func (d clusterDir) file(name string) string { return filepath.Join(d.path, name) }
