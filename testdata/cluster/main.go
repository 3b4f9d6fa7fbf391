// Command cluster is a real Kubernetes API server and its etcd, in one binary
// with two subcommands, so that a test can kill or freeze either process alone.
//
//	cluster etcd -data-dir DIR -client-url URL -peer-url URL
//	cluster apiserver [the flags of kube-apiserver]
package main

import (
	"fmt"
	"os"
)

const usage = "usage: cluster etcd|apiserver [flags]"

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, usage)
		os.Exit(2)
	}
	os.Exit(run(os.Args[1], os.Args[2:]))
}

func run(command string, args []string) int {
	switch command {
	case "etcd":
		return report(runEtcd(args))
	case "apiserver":
		return runAPIServer(args)
	}
	fmt.Fprintf(os.Stderr, "unknown command %q; %s\n", command, usage)
	return 2
}

func report(err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, "error:", err)
	return 1
}
