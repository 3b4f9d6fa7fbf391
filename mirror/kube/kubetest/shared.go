package kubetest

import (
	"fmt"
	"os"
	"sync"
	"testing"
)

var shared struct {
	mu      sync.Mutex // guards the rest
	cluster *Cluster
	err     error // of the first start; later tests fail with it at once
}

// Main runs the tests of a package and stops the cluster that they shared. Call
// it from TestMain. It ends the process with the code of the tests.
func Main(m *testing.M) {
	code := m.Run()
	if err := stopShared(); err != nil {
		fmt.Fprintln(os.Stderr, "kubetest:", err)
	}
	os.Exit(code)
}

// Shared returns the one cluster of the test process and starts it when it is
// the first to ask. The package needs a TestMain that calls Main.
func Shared(tb testing.TB) *Cluster {
	tb.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.cluster == nil && shared.err == nil {
		shared.cluster, shared.err = Start(Options{})
	}
	if shared.err != nil {
		tb.Fatalf("kubetest: shared cluster: %v", shared.err)
	}
	return shared.cluster
}

func stopShared() error {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.cluster == nil {
		return nil
	}
	return shared.cluster.Stop()
}
