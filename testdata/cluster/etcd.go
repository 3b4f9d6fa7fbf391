package main

import (
	"context"
	"flag"
	"fmt"
	"net/url"
	"os/signal"
	"syscall"

	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/storage/wal"
)

type etcdOptions struct {
	dataDir   string
	clientURL string
	peerURL   string
}

// runEtcd serves until SIGTERM or SIGINT. It prints one line to standard output
// when it answers clients.
func runEtcd(args []string) error {
	options, err := parseEtcdFlags(args)
	if err != nil {
		return err
	}
	config, err := options.config()
	if err != nil {
		return err
	}
	return serveEtcd(config)
}

func parseEtcdFlags(args []string) (etcdOptions, error) {
	var options etcdOptions
	flags := flag.NewFlagSet("etcd", flag.ContinueOnError)
	flags.StringVar(&options.dataDir, "data-dir", "", "directory of the data; created when absent")
	flags.StringVar(&options.clientURL, "client-url", "", "URL that clients use, such as http://127.0.0.1:2379")
	flags.StringVar(&options.peerURL, "peer-url", "", "URL for peers, such as http://127.0.0.1:2380")
	if err := flags.Parse(args); err != nil {
		return options, err
	}
	if options.dataDir == "" {
		return options, fmt.Errorf("etcd: -data-dir is empty; name a directory")
	}
	return options, nil
}

// config is for one member on a machine that may lose the data: it never
// waits for the disk and sets little space aside.
func (o etcdOptions) config() (*embed.Config, error) {
	client, err := url.Parse(o.clientURL)
	if err != nil {
		return nil, fmt.Errorf("etcd: -client-url %q: %w", o.clientURL, err)
	}
	peer, err := url.Parse(o.peerURL)
	if err != nil {
		return nil, fmt.Errorf("etcd: -peer-url %q: %w", o.peerURL, err)
	}
	wal.SegmentSizeBytes = 4 << 20
	config := embed.NewConfig()
	config.Name = "test"
	config.Dir = o.dataDir
	config.ListenClientUrls = []url.URL{*client}
	config.AdvertiseClientUrls = []url.URL{*client}
	config.ListenPeerUrls = []url.URL{*peer}
	config.AdvertisePeerUrls = []url.URL{*peer}
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	config.LogLevel = "warn"
	// One member has nobody to wait for at an election.
	config.TickMs, config.ElectionMs = 10, 100
	config.UnsafeNoFsync = true
	return config, nil
}

func serveEtcd(config *embed.Config) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	etcd, err := embed.StartEtcd(config)
	if err != nil {
		return fmt.Errorf("etcd: start: %w", err)
	}
	// Close would wait for the clients to hang up, which a live API server never does.
	defer etcd.Server.HardStop()
	select {
	case <-etcd.Server.ReadyNotify():
	case err := <-etcd.Err():
		return fmt.Errorf("etcd: before it was ready: %w", err)
	case <-ctx.Done():
		return nil
	}
	fmt.Println("ready")
	select {
	case err := <-etcd.Err():
		return fmt.Errorf("etcd: %w", err)
	case <-ctx.Done():
		return nil
	}
}
