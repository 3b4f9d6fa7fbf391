package command

import (
	"fmt"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/authz-bridge/authz-bridge/authzbridge"
)

// explainFlags say more of the request.
type explainFlags struct {
	method, path, clientIP                  *string
	preflight, requireCredentials, noInject *bool
}

func explainCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain <host>",
		Short: "Prints what a request is answered with, why, and what to do",
		Long: `
Prints what a request without credentials is answered with: the handler's own
decision, the check that made it, the App, what that asks of its callers, and
what to do. The option unknown of the directive is not looked at. With
--no-inject it is the decision of authz_bridge_verify, about a question that a
trusted proxy asks as it must.

Exit codes: 0 the request passes, or lacks nothing but credentials, 1 it is
refused for another reason, 2 no answer.`,
		Example: "  $ caddy authz-bridge explain shop.example.com\n" +
			"  $ caddy authz-bridge explain shop.example.com --path /healthz\n" +
			"  $ caddy authz-bridge explain shop.example.com --client-ip 192.0.2.7",
		Args: arguments(1, 1, "explain <host>"),
	}
	a, asJSON := askerFlags(cmd), jsonFlag(cmd)
	flags := explainFlags{
		method:             cmd.Flags().String("method", "", "Method of the request (default GET)"),
		path:               cmd.Flags().String("path", "", "Path of the request (default /)"),
		clientIP:           cmd.Flags().String("client-ip", "", "Address of the client, for allowCIDRs"),
		preflight:          cmd.Flags().Bool("preflight", false, "Ask for a CORS preflight request"),
		requireCredentials: cmd.Flags().Bool("require-credentials", false, "As the option of the directive"),
		noInject:           cmd.Flags().Bool("no-inject", false, "As authz_bridge_verify decides"),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var e authzbridge.Explanation
		if err := a.ask("/explain", flags.query(args[0]), &e); err != nil {
			return noAnswer(cmd, err)
		}
		if *asJSON {
			printJSON(cmd.OutOrStdout(), e)
		} else {
			printExplanation(newPage(cmd.OutOrStdout()), e)
		}
		if e.Outcome != "allow" && e.Reason != "credentials_missing" {
			return exitWith(cmd, ExitTrouble)
		}
		return nil
	}
	return cmd
}

func (f explainFlags) query(host string) url.Values {
	query := url.Values{"host": {host}}
	for name, value := range map[string]string{"method": *f.method, "path": *f.path, "client_ip": *f.clientIP} {
		if value != "" {
			query.Set(name, value)
		}
	}
	for name, value := range map[string]bool{"preflight": *f.preflight, "require_credentials": *f.requireCredentials, "no_inject": *f.noInject} {
		if value {
			query.Set(name, "true")
		}
	}
	return query
}

func printExplanation(p *page, e authzbridge.Explanation) {
	request := fmt.Sprintf("%s %s at %s", e.Method, e.Path, e.Host)
	if e.Preflight {
		request += ", a preflight"
	}
	if e.ClientIP != "" {
		request += ", from " + e.ClientIP
	}
	p.field("request", "%s, without credentials", request)
	answer := "goes on to the next handler"
	if e.Status != 0 {
		answer = fmt.Sprintf("%d %s", e.Status, http.StatusText(e.Status))
	}
	p.field("answer", "%s", answer)
	p.field("reason", "%s", e.Reason)
	if e.Detail != "" {
		p.field("", "%s", e.Detail)
	}
	p.field("check", "%s", e.Step)
	p.field("to do", "%s", e.Remedy)
	if e.Hostname != "" {
		p.field("found by", "hostname %s", e.Hostname)
	}
	p.field("generation", "%d", e.Generation)
	if e.App == nil {
		return
	}
	p.line("")
	app := *e.App
	app.Reason, app.Detail = "", "" // those of the request are above
	printApp(p, app)
	if len(app.Asks.AnyOf) > 0 {
		public := "no"
		if e.Public {
			public = "yes"
		}
		p.field("path public", "%s", public)
	}
}
