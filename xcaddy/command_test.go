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
