package command

import (
	"fmt"
	"io"
	"strings"

	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/spf13/cobra"
)

// The exit codes.
const (
	// ExitFine: there is nothing to do.
	ExitFine = 0
	// ExitTrouble: something is not as it should be; what, is printed.
	ExitTrouble = 1
	// ExitNoAnswer: there is no answer, for want of a Caddy or a file that can be read,
	// or because of the arguments.
	ExitNoAnswer = 2
)

const name = "authz-bridge"

const short = "Asks and checks the bridge that authorizes by hostname"

const long = `
Asks a running Caddy what its authz_bridge serves and why, and checks the
files of a Registry without one.

Every command prints for people, in 80 columns, and with --json for programs.

Exit codes: 0 nothing is wrong, 1 something is, 2 there is no answer (no Caddy
at the address, no such file, or wrong arguments).`

func init() {
	caddycmd.RegisterCommand(caddycmd.Command{
		Name:      name,
		Short:     short,
		Long:      long,
		CobraFunc: build,
	})
}

// build adds the commands.
func build(cmd *cobra.Command) {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return noAnswer(cmd, fmt.Errorf("%.64q is no command; see caddy %s --help", args[0], name))
		}
		return cmd.Help()
	}
	cmd.AddCommand(statusCommand(), appsCommand(), explainCommand(), lintCommand(), rbacCommand())
	for _, c := range append(cmd.Commands(), cmd) {
		c.Long = strings.TrimSpace(c.Long)
		c.SilenceUsage, c.SilenceErrors = true, true
		c.SetFlagErrorFunc(noAnswer)
	}
}

// Run runs a command as `caddy authz-bridge` does, with the arguments that follow
// these words, and returns the exit code.
func Run(args []string, out, errs io.Writer) int {
	caddy := &cobra.Command{Use: "caddy"}
	bridge := &cobra.Command{Use: name, Short: short, Long: strings.TrimSpace(long)}
	caddy.AddCommand(bridge)
	build(bridge)
	caddy.SetArgs(append([]string{name}, args...))
	caddy.SetOut(out)
	caddy.SetErr(errs)
	switch err := caddy.Execute().(type) { //nolint:errorlint // what the commands return
	case nil:
		return ExitFine
	case *exit:
		return err.code
	default:
		return ExitTrouble
	}
}

// exit ends the process with a code. What there is to say has been said.
type exit struct {
	code  int
	caddy error // what Caddy takes the code from
}

// Error implements error.
func (e *exit) Error() string { return fmt.Sprintf("exit status %d", e.code) }

// Unwrap returns what Caddy knows.
func (e *exit) Unwrap() error { return e.caddy }

// exitWith returns the error of a code, nil for that of no error.
func exitWith(cmd *cobra.Command, code int) error {
	if code == ExitFine {
		return nil
	}
	// Caddy's own error with a code can only be had so. One of code 1 is any error.
	fail := caddycmd.WrapCommandFuncForCobra(func(caddycmd.Flags) (int, error) { return code, nil })
	return &exit{code: code, caddy: fail(cmd, nil)}
}

// noAnswer says why there is none.
func noAnswer(cmd *cobra.Command, err error) error {
	newPage(cmd.ErrOrStderr()).paragraph(0, "Error: "+err.Error())
	return exitWith(cmd, ExitNoAnswer)
}

// arguments checks how many there are.
func arguments(least, most int, usage string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= least && len(args) <= most {
			return nil
		}
		return noAnswer(cmd, fmt.Errorf("%d arguments; write caddy %s %s", len(args), name, usage))
	}
}

// jsonFlag is of every command.
func jsonFlag(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool("json", false, "print JSON")
}
