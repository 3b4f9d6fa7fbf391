package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// stepsInACluster are the lines of the first example in the README's section.
func stepsInACluster(tb testing.TB) (steps []string) {
	tb.Helper()
	readme, err := os.ReadFile(filepath.Join("..", "README.md"))
	require.NoError(tb, err)
	_, section, found := strings.Cut(string(readme), "\n## In a cluster\n\n")
	require.True(tb, found)
	for line := range strings.Lines(section) {
		step, is := strings.CutPrefix(line, "    ")
		if !is {
			break
		}
		steps = append(steps, strings.TrimSpace(step))
	}
	return steps
}

// TestTheStepsInTheREADMEMakeAnOverlayThatRuns takes them but for those that need a
// registry of images or a cluster.
func TestTheStepsInTheREADMEMakeAnOverlayThatRuns(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(root, "xcaddy", "deploy"), os.DirFS("deploy")))
	require.NoError(t, os.Mkdir(filepath.Join(root, "bin"), 0o700))
	program, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(program, filepath.Join(root, "bin", "caddy")))
	steps := stepsInACluster(t)
	for _, step := range steps {
		switch strings.Fields(step)[0] {
		case "docker", "make", "kubectl":
			continue
		}
		command := exec.CommandContext(t.Context(), "sh", "-ec", step)
		command.Dir, command.Env = root, append(os.Environ(), asCaddy+"=1", "XDG_CONFIG_HOME="+root, "XDG_DATA_HOME="+root)
		output, err := command.CombinedOutput()
		require.NoError(t, err, "%s: %s", step, output)
	}
	mine := filepath.Join(root, "xcaddy", "deploy", "overlays", "mine")
	manifests := kustomize(t, mine)
	assert.Contains(t, steps, "kubectl apply -k xcaddy/deploy/overlays/mine")

	image := decode[appsv1.Deployment](t, manifests, "Deployment").Spec.Template.Spec.Containers[0].Image
	pushed := slices.Index(steps, "docker push "+image)
	require.Positive(t, pushed, "%s of %v", image, steps)
	assert.Equal(t, "docker build -f xcaddy/Dockerfile -t "+image+" .", steps[pushed-1])

	_, printed, _ := runCaddy(t, "authz-bridge", "rbac", filepath.Join("deploy", "example", "registry.yaml"))
	written, err := os.ReadFile(filepath.Join(mine, "rbac.yaml"))
	require.NoError(t, err)
	assert.Equal(t, printed, string(written), "what is applied again is what was granted")
	assert.ElementsMatch(t, decodeAll[rbacv1.Role](t, build(t, leastPrivilege), "Role"), decodeAll[rbacv1.Role](t, manifests, "Role"))
}
