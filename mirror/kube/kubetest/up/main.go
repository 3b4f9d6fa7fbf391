// Command up runs a real API server for trying things by hand, until Ctrl-C.
//
//	go run ./mirror/kube/kubetest/up [-dir DIR] [manifest files or directories]
//
// Its data stays in the directory, so that the next run goes on with it. With
// -build it only builds the server's binary, for those who want that minute to
// pass before the tests.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/authz-bridge/authz-bridge/mirror/kube/kubetest"
)

func main() {
	dir := flag.String("dir", ".cluster", "directory of the data, the logs and the kubeconfig")
	buildOnly := flag.Bool("build", false, "build the API server, print the path of its binary and exit")
	flag.Parse()
	run := func() error { return serve(*dir, flag.Args()) }
	if *buildOnly {
		run = printBinary
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func printBinary() error {
	binary, err := kubetest.Binary()
	if err != nil {
		return err
	}
	fmt.Println(binary)
	return nil
}

// serve runs the cluster until SIGINT or SIGTERM.
func serve(dir string, paths []string) (err error) {
	manifests, err := readManifests(paths)
	if err != nil {
		return err
	}
	cluster, err := kubetest.Start(kubetest.Options{Dir: dir})
	if err != nil {
		return err
	}
	// Not before: until here Ctrl-C ends the process, and its children with it.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	defer func() {
		if stopErr := cluster.Stop(); err == nil {
			err = stopErr
		}
	}()
	kubeconfig := filepath.Join(cluster.Dir(), "kubeconfig")
	if err := cluster.WriteKubeconfig(kubeconfig, cluster.Admin(), cluster.Address()); err != nil {
		return err
	}
	for _, manifest := range manifests {
		if err := cluster.Apply(ctx, manifest.content, false); err != nil {
			return fmt.Errorf("%s: %w", manifest.path, err)
		}
		fmt.Println("applied", manifest.path)
	}
	explain(os.Stdout, cluster, kubeconfig)
	<-ctx.Done()
	fmt.Println("\nstopping; the data stays in", cluster.Dir())
	return nil
}

func explain(w io.Writer, cluster *kubetest.Cluster, kubeconfig string) {
	fmt.Fprintf(w, `
A real API server runs at %s (etcd at %s); its logs are in %s.
No controllers run: Secrets, roles and the like work, Pods do not start.

In another shell, look around as the administrator:

    export KUBECONFIG=%s
    kubectl get secrets -A

and run the built Caddy against it:

    ./bin/caddy run --config caddyfile/examples/cluster.caddyfile

Change Secrets with kubectl and watch hostnames open and close. Ctrl-C ends this.
`, cluster.URL(), cluster.EtcdURL(), cluster.Dir(), kubeconfig)
}
