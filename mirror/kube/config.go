package kube

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// LoadConfig returns the configuration of a client. kubeconfig is the path of a
// kubeconfig file; empty means the service account of the Pod that the process
// runs in. context names a context of the file; empty means its current one.
// Files are read and the network is not used. An error names the option and the
// fix.
func LoadConfig(kubeconfig, context string) (*rest.Config, error) {
	if kubeconfig == "" {
		return inClusterConfig(context)
	}
	file, err := readKubeconfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	if context, err = chooseContext(kubeconfig, file, context); err != nil {
		return nil, err
	}
	config, err := clientcmd.NewNonInteractiveClientConfig(*file, context, nil, nil).ClientConfig()
	if err == nil {
		err = checkConfig(config)
	}
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %q: context %q: %w; correct its cluster or its user", kubeconfig, context, err)
	}
	return config, nil
}

// checkConfig finds what would else come up with each attempt to connect.
func checkConfig(config *rest.Config) error {
	_, _, address := rest.DefaultServerUrlFor(config)
	_, certificates := rest.TLSConfigFor(config)
	return errors.Join(address, certificates)
}

func inClusterConfig(context string) (*rest.Config, error) {
	if context != "" {
		return nil, fmt.Errorf("context %q: there is none without a kubeconfig; set kubeconfig, or remove context", context)
	}
	config, err := rest.InClusterConfig()
	if errors.Is(err, rest.ErrNotInCluster) {
		return nil, errors.New("kubeconfig: missing, and this process does not run in a cluster; set kubeconfig to the path of a kubeconfig file")
	}
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: missing, and the service account of this Pod cannot be read: %w; mount its token, or set kubeconfig", err)
	}
	return config, nil
}

func readKubeconfig(path string) (*clientcmdapi.Config, error) {
	file, err := (&clientcmd.ClientConfigLoadingRules{ExplicitPath: path}).Load()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("kubeconfig %q: does not exist; correct the path, or remove the option to use the service account of the Pod", path)
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("kubeconfig %q: permission denied; let the user of this process read it", path)
	case err != nil:
		return nil, fmt.Errorf("kubeconfig %q: %w; check it with kubectl config view", path, err)
	}
	return file, nil
}

func chooseContext(path string, file *clientcmdapi.Config, name string) (string, error) {
	known := strings.Join(slices.Sorted(maps.Keys(file.Contexts)), ", ")
	if known == "" {
		return "", fmt.Errorf("kubeconfig %q: has no contexts; add one with kubectl config set-context", path)
	}
	if name == "" && file.CurrentContext == "" {
		return "", fmt.Errorf("context: missing, and kubeconfig %q has no current one; set context to one of: %s", path, known)
	}
	if name == "" {
		name = file.CurrentContext
	}
	chosen := file.Contexts[name]
	if chosen == nil {
		return "", fmt.Errorf("context %q: not in kubeconfig %q; use one of: %s", name, path, known)
	}
	if file.Clusters[chosen.Cluster] == nil {
		return "", fmt.Errorf("context %q: its cluster %q is not in kubeconfig %q; add it with kubectl config set-cluster", name, chosen.Cluster, path)
	}
	if user := chosen.AuthInfo; user != "" && file.AuthInfos[user] == nil {
		return "", fmt.Errorf("context %q: its user %q is not in kubeconfig %q; add it with kubectl config set-credentials", name, user, path)
	}
	return name, nil
}

// Origin identifies the API server of a configuration: its URL without credentials,
// and a hash of the CA that it is verified with, empty for that of the system.
func Origin(config *rest.Config) (server, ca string, err error) {
	address, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return "", "", err
	}
	address.User = nil
	bundle, err := caOf(config)
	if err != nil || len(bundle) == 0 {
		return address.String(), "", err
	}
	return address.String(), fmt.Sprintf("%x", sha256.Sum256(bundle)), nil
}

func caOf(config *rest.Config) ([]byte, error) {
	if len(config.CAData) > 0 || config.CAFile == "" {
		return config.CAData, nil
	}
	return os.ReadFile(config.CAFile)
}
