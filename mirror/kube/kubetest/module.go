package kubetest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

const rootModule = "github.com/authz-bridge/authz-bridge"

// clusterModule is the source of the binary: the Go module in testdata/cluster.
type clusterModule struct {
	dir string
	key string // of everything that makes the binary what it is
}

func findClusterModule() (clusterModule, error) {
	dir, err := clusterModuleDir()
	if err != nil {
		return clusterModule{}, err
	}
	key, err := hashModule(dir)
	if err != nil {
		return clusterModule{}, fmt.Errorf("module %s: %w", dir, err)
	}
	return clusterModule{dir: dir, key: key}, nil
}

// clusterModuleDir finds testdata/cluster from where this file was compiled or,
// when that path is trimmed, from where the go command has the root module.
func clusterModuleDir() (string, error) {
	if dir := clusterDirOfThisFile(); dir != "" {
		return dir, nil
	}
	return clusterDirOfGoList()
}

func clusterDirOfThisFile() string {
	_, file, _, ok := runtime.Caller(0)
	if !ok || !filepath.IsAbs(file) {
		return ""
	}
	return clusterDirIn(filepath.Join(filepath.Dir(file), "..", "..", ".."))
}

func clusterDirOfGoList() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", rootModule).Output()
	if err != nil {
		return "", fmt.Errorf("find module %s: go list: %w%s", rootModule, err, stderrOf(err))
	}
	root := strings.TrimSpace(string(out))
	if dir := clusterDirIn(root); dir != "" {
		return dir, nil
	}
	return "", fmt.Errorf("module %s in %q has no testdata/cluster; run from a checkout of the repository", rootModule, root)
}

// clusterDirIn is empty when there is no such module in the root.
func clusterDirIn(root string) string {
	dir := filepath.Join(root, "testdata", "cluster")
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
		return ""
	}
	return dir
}

func stderrOf(err error) string {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return ""
	}
	return ": " + strings.TrimSpace(string(exit.Stderr))
}

// hashModule covers the sources, the dependencies and the Go version.
func hashModule(dir string) (string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return "", err
	}
	slices.Sort(files)
	files = append(files, filepath.Join(dir, "go.mod"), filepath.Join(dir, "go.sum"))
	hash := sha256.New()
	fmt.Fprintln(hash, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(hash, filepath.Base(file), len(content))
		hash.Write(content)
	}
	return hex.EncodeToString(hash.Sum(nil))[:16], nil
}

var kubernetesRequirement = regexp.MustCompile(`k8s\.io/kubernetes (v(\d+)\.(\d+)\.\d+)`)

// linkerFlags make the server report the version that go.mod asks for, as the
// release's own build does, and leave the debug information out.
func (m clusterModule) linkerFlags() (string, error) {
	goMod, err := os.ReadFile(filepath.Join(m.dir, "go.mod"))
	if err != nil {
		return "", err
	}
	version := kubernetesRequirement.FindSubmatch(goMod)
	if version == nil {
		return "", fmt.Errorf("%s: no release of k8s.io/kubernetes is required", filepath.Join(m.dir, "go.mod"))
	}
	const variables = "k8s.io/component-base/version"
	return fmt.Sprintf("-s -w -X %[1]s.gitVersion=%[2]s -X %[1]s.gitMajor=%[3]s -X %[1]s.gitMinor=%[4]s",
		variables, version[1], version[2], version[3]), nil
}
