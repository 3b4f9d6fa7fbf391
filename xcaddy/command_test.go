package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// runCaddy runs the program with arguments.
func runCaddy(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), asCaddy+"=1", "XDG_CONFIG_HOME="+t.TempDir(), "XDG_DATA_HOME="+t.TempDir())
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if exited := new(exec.ExitError); err != nil && !errors.As(err, &exited) {
		require.NoError(t, err)
	}
	return cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()
}

func TestTheProgramHasTheCommandsAndTheirExitCodes(t *testing.T) {
	good := filepath.Join("..", "caddyfile", "examples", "quickstart", "registry.yaml")
	bad := filepath.Join(t.TempDir(), "registry.yaml")
	require.NoError(t, os.WriteFile(bad, []byte("version: 1\napps:\n- name: a\n"), 0o600))
	for _, c := range []struct {
		code           int
		args           []string
		prints, claims string
	}{
		{0, []string{"authz-bridge"}, "Available Commands:", ""},
		{0, []string{"help", "authz-bridge", "lint"}, "caddy authz-bridge lint <registry file>", ""},
		{0, []string{"authz-bridge", "lint", good}, "3 of 3 Apps may serve", ""},
		{0, []string{"authz-bridge", "rbac", good}, "kind: RoleBinding", ""},
		{1, []string{"authz-bridge", "lint", bad}, bad + ":3:", ""},
		{1, []string{"authz-bridge", "lint", good, "--secrets", filepath.Dir(good)}, "2 of 3 Apps would serve", ""},
		{1, []string{"authz-bridge", "rbac", bad}, "kind: Role", "no rights for 1 App"},
		{2, []string{"authz-bridge", "lint"}, "", "Error: 0 arguments"},
		{2, []string{"authz-bridge", "lint", bad, "--unheard"}, "", "Error: unknown flag: --unheard"},
		{2, []string{"authz-bridge", "unheard"}, "", `Error: "unheard" is no command`},
		{2, []string{"authz-bridge", "status", "--address", freeAddress(t)}, "", "Error: no Caddy answers at"},
	} {
		code, out, errs := runCaddy(t, c.args...)
		assert.Equal(t, c.code, code, "%v: %s", c.args, errs)
		assert.Contains(t, out, c.prints, c.args)
		assert.Contains(t, errs, c.claims, c.args)
		assert.NotContains(t, errs, "exit status", "it is said once")
	}
}

func TestLeastPrivilegeIsWhatTheProgramPrints(t *testing.T) {
	code, printed, errs := runCaddy(t, "authz-bridge", "rbac", filepath.Join("deploy", "example", "registry.yaml"))
	require.Zero(t, code, errs)
	deployed, err := os.ReadFile(filepath.Join("deploy", leastPrivilege, "rbac.yaml"))
	require.NoError(t, err)
	assert.ElementsMatch(t, decodeAll[rbacv1.Role](t, []byte(printed), "Role"), decodeAll[rbacv1.Role](t, deployed, "Role"))
	assert.ElementsMatch(t, decodeAll[rbacv1.RoleBinding](t, []byte(printed), "RoleBinding"), decodeAll[rbacv1.RoleBinding](t, deployed, "RoleBinding"))
}

// decodeAll returns all objects of a kind.
func decodeAll[T any](t *testing.T, manifests []byte, kind string) (all []T) {
	t.Helper()
	for _, document := range documents(manifests, kind) {
		var object T
		require.NoError(t, yaml.UnmarshalStrict(document, &object))
		all = append(all, object)
	}
	require.NotEmpty(t, all)
	return all
}
