package kubetest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

const progressInterval = 30 * time.Second

// Binary returns the path of the binary that holds kube-apiserver and etcd. It
// builds it when the user's cache has none for these sources and this Go
// version, which takes minutes and reports its progress to standard error.
// Processes that call it at the same time build once.
func Binary() (string, error) {
	module, err := findClusterModule()
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("cache of the kube-apiserver binary: %w; set HOME or XDG_CACHE_HOME", err)
	}
	binary := filepath.Join(cache, "authz-bridge", "cluster-"+module.key)
	if isFile(binary) {
		return binary, nil
	}
	if err := os.MkdirAll(filepath.Dir(binary), 0o755); err != nil {
		return "", fmt.Errorf("cache of the kube-apiserver binary: %w", err)
	}
	if err := buildOnce(module, binary); err != nil {
		return "", err
	}
	return binary, nil
}

func buildOnce(module clusterModule, binary string) error {
	done := reportProgress()
	defer done()
	lock, err := lockFile(binary + ".lock")
	if err != nil {
		return err
	}
	defer lock.Close()
	if isFile(binary) {
		return nil // by the process that had the lock
	}
	return build(module, binary)
}

// build makes the file appear whole or not at all. Its compiler flags are the
// defaults, so that go vet in the module shares the compiled packages.
func build(module clusterModule, binary string) error {
	linkerFlags, err := module.linkerFlags()
	if err != nil {
		return err
	}
	partial := binary + ".partial"
	log := binary + ".log"
	_ = os.Remove(log)
	command := exec.Command("go", "build", "-buildvcs=false", "-ldflags", linkerFlags, "-o", partial, ".")
	command.Dir = module.dir
	command.Env = append(os.Environ(), "GOWORK=off")
	build, err := startProcess("go build in "+module.dir, log, command)
	if err != nil {
		return err
	}
	<-build.exited
	if build.err != nil {
		return fmt.Errorf("%s: %w\n%s", build.name, build.err, build.tail())
	}
	_ = os.Remove(log)
	return os.Rename(partial, binary)
}

func reportProgress() (done func()) {
	begin := time.Now()
	fmt.Fprintln(os.Stderr, "building kube-apiserver, once, 4 to 10 minutes on two cores")
	stop := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(progressInterval)
		defer ticker.Stop()
		for {
			select {
			case <-stop:
				return
			case <-ticker.C:
				fmt.Fprintf(os.Stderr, "still building kube-apiserver, %s so far\n", time.Since(begin).Round(time.Second))
			}
		}
	}()
	return func() {
		close(stop)
		<-ended
	}
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
