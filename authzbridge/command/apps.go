package command

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/authz-bridge/authz-bridge/authzbridge"
)

// pageSize is how many Apps are asked for at once.
const pageSize = 10_000

func appsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "apps [<name>]",
		Short: "Prints the Apps, why they do not serve, and their Secrets",
		Long: `
Prints the Apps in the order of the Registry, each with what its requests are
answered with, and the version of the Secret that it is served from. With a
name, prints that App with all that it asks of its callers.

Exit codes: 0 every App that matches serves at all of its hostnames, 1 some does
not, 2 no answer.`,
		Example: "  $ caddy authz-bridge apps --reason '!allowed'\n" +
			"  $ caddy authz-bridge apps --reason host_conflict\n" +
			"  $ caddy authz-bridge apps --secret shop/shop-clients --json\n" +
			"  $ caddy authz-bridge apps shop",
		Args: arguments(0, 1, "apps [<name>]"),
	}
	a, asJSON := askerFlags(cmd), jsonFlag(cmd)
	reason := cmd.Flags().String("reason", "", "Only those with this reason, or without !it")
	namespace := cmd.Flags().String("namespace", "", "Only those with a Secret in this namespace")
	secret := cmd.Flags().String("secret", "", "Only those with this Secret, <namespace>/<name>")
	limit := cmd.Flags().Int("limit", 100, "How many to print, 0 for all")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			if *reason+*namespace+*secret != "" {
				return noAnswer(cmd, fmt.Errorf("%.64q: is one App; leave --reason, --namespace and --secret out", args[0]))
			}
			return runApp(cmd, a, args[0], *asJSON)
		}
		query := url.Values{}
		for name, value := range map[string]string{"reason": *reason, "namespace": *namespace, "secret": *secret} {
			if value != "" {
				query.Set(name, value)
			}
		}
		if *limit < 0 {
			return noAnswer(cmd, fmt.Errorf("--limit: %d is negative; write 0 for all", *limit))
		}
		return runApps(cmd, a, query, *limit, *asJSON)
	}
	return cmd
}

func runApps(cmd *cobra.Command, a asker, query url.Values, limit int, asJSON bool) error {
	list, err := a.apps(query, limit)
	if err != nil {
		return noAnswer(cmd, err)
	}
	if asJSON {
		printJSON(cmd.OutOrStdout(), list)
	} else {
		printApps(newPage(cmd.OutOrStdout()), list)
	}
	if list.Serving < list.Total || list.Conflicting > 0 {
		return exitWith(cmd, ExitTrouble)
	}
	return nil
}

// apps asks for page after page. What is served may change between two: then it is
// asked for anew, but not for ever.
func (a asker) apps(query url.Values, limit int) (list authzbridge.AppList, err error) {
	for range 5 {
		var whole bool
		if list, whole, err = a.appsOnce(query, limit); err != nil || whole {
			return list, err
		}
	}
	return list, fmt.Errorf("what is served changed between two pages, each time; ask for %d at most", pageSize)
}

// appsOnce reports whether all pages are of one generation.
func (a asker) appsOnce(query url.Values, limit int) (list authzbridge.AppList, whole bool, err error) {
	query.Del("after")
	for {
		size := pageSize
		if limit > 0 {
			size = min(size, limit-len(list.Apps))
		}
		query.Set("limit", strconv.Itoa(size))
		var next authzbridge.AppList
		if err := a.ask("/apps", query, &next); err != nil {
			return list, false, err
		}
		if len(list.Apps) > 0 && next.Generation != list.Generation {
			return list, false, nil
		}
		next.Apps = append(list.Apps, next.Apps...)
		if list = next; list.Next == nil || len(list.Apps) == limit {
			return list, true, nil
		}
		query.Set("after", strconv.Itoa(*list.Next))
	}
}

func printApps(p *page, list authzbridge.AppList) {
	rows := [][]string{{"APP", "REASON", "HOSTNAMES", "SECRET", "VERSION"}}
	for _, app := range list.Apps {
		secret, version := "-", "-"
		if app.Secret != nil {
			secret = app.Secret.Namespace + "/" + app.Secret.Name
			version = app.Secret.Version
			if version == "" {
				version = app.Secret.Status
			}
		}
		rows = append(rows, []string{app.Name, app.Reason, firstOf(app.Hostnames), secret, version})
	}
	p.table(rows, func(row int) string { return noteOn(list.Apps[row]) })
	p.line("")
	conflicting := ""
	if list.Conflicting > 0 {
		conflicting = fmt.Sprintf(", %d with a hostname in conflict", list.Conflicting)
	}
	p.paragraph(0, fmt.Sprintf("%d of %s serve%s; generation %d, hash %s", list.Serving, plural(list.Total, "App", "Apps"), conflicting, list.Generation, list.Hash))
	if len(list.Apps) < list.Total {
		p.paragraph(0, fmt.Sprintf("%d are shown; --limit 0 shows all", len(list.Apps)))
	}
}

// noteOn says what is wrong with an App; empty for nothing.
func noteOn(app authzbridge.AppEntry) string {
	var notes []string
	if app.Detail != "" {
		notes = append(notes, app.Detail)
	}
	if len(app.Conflicting) > 0 {
		notes = append(notes, fmt.Sprintf("host_conflict: %s claimed by other Apps as well", firstOf(app.Conflicting)))
	}
	return strings.Join(notes, "; ")
}

func firstOf(hostnames []string) string {
	switch len(hostnames) {
	case 0:
		return "-"
	case 1:
		return hostnames[0]
	}
	return fmt.Sprintf("%s +%d", hostnames[0], len(hostnames)-1)
}

func runApp(cmd *cobra.Command, a asker, name string, asJSON bool) error {
	var app authzbridge.AppDetail
	if err := a.ask("/apps/"+url.PathEscape(name), nil, &app); err != nil {
		return noAnswer(cmd, err)
	}
	if asJSON {
		printJSON(cmd.OutOrStdout(), app)
	} else {
		printApp(newPage(cmd.OutOrStdout()), app)
	}
	if app.Reason != allowed || len(app.Conflicting) > 0 {
		return exitWith(cmd, ExitTrouble)
	}
	return nil
}

// allowed is the reason of an App that serves.
const allowed = "allowed"

func printApp(p *page, app authzbridge.AppDetail) {
	p.field("app", "%s", app.Name)
	if app.Reason != "" {
		p.field("reason", "%s", app.Reason)
	}
	if app.Detail != "" {
		p.field("", "%s", app.Detail)
	}
	p.field("hostnames", "%s", strings.Join(app.Hostnames, " "))
	for _, c := range app.Conflicts {
		p.field("conflict", "%s: claimed by %s; remove it from all but one", c.Hostname, strings.Join(c.Apps, ", "))
	}
	printSecret(p, app.Secret)
	printUpstreams(p, app)
	printAsks(p, app.Asks)
	for _, warning := range app.Warnings {
		p.field("warning", "%s", warning)
	}
}

func printSecret(p *page, s *authzbridge.SecretVersion) {
	if s == nil {
		return
	}
	key := "any key"
	if s.Key != "" {
		key = "key " + s.Key
	}
	p.field("secret", "%s/%s, %s, %s", s.Namespace, s.Name, key, s.Status)
	if s.Version != "" {
		p.field("", "version %s", s.Version)
	}
	if s.UID != "" {
		p.field("", "UID %s", s.UID)
	}
}

func printUpstreams(p *page, app authzbridge.AppDetail) {
	switch {
	case app.UpstreamsError != "":
		p.field("upstreams", "none that can be used")
		p.field("", "%s", app.UpstreamsError)
	case len(app.Upstreams) > 0:
		p.field("upstreams", "%s", strings.Join(app.Upstreams, " "))
	}
}

func printAsks(p *page, asks authzbridge.Asks) {
	if asks.ExpiresAt != nil {
		p.field("expires", "%s", moment(asks.ExpiresAt))
	}
	if len(asks.AllowCIDRs) > 0 {
		p.field("addresses", "%s", strings.Join(asks.AllowCIDRs, " "))
	}
	if len(asks.AnyOf) == 0 {
		p.field("any of", "nothing: it is open by its hostname alone")
		return
	}
	for i, way := range asks.AnyOf {
		label := ""
		if i == 0 {
			label = "any of"
		}
		p.field(label, "%s", wayInWords(way))
	}
	for _, public := range asks.Public {
		p.field("public", "%s for %s", public.Path, strings.Join(public.Methods, ", "))
	}
	p.field("preflight", "%s", asks.Preflight)
	if asks.IdentityHeader != "" {
		p.field("identity", "header %s", asks.IdentityHeader)
	}
	if asks.Inject != "" {
		p.field("inject", "%s", asks.Inject)
	}
	if !asks.Strip {
		p.field("strip", "false: the credential stays in the request")
	}
}

func wayInWords(w authzbridge.Way) string {
	words := []string{w.Kind + " in " + strings.Join(w.From, " or ")}
	for _, more := range []struct{ word, value string }{
		{"key", w.Key},
		{"format", w.Format},
		{"realm", w.Realm},
		{"algorithms", strings.Join(w.Algorithms, " ")},
		{"issuer", w.Issuer},
		{"audiences", strings.Join(w.Audiences, " ")},
		{"claims", strings.Join(w.Claims, " ")},
	} {
		if more.value != "" {
			words = append(words, more.word+" "+more.value)
		}
	}
	return strings.Join(words, "; ")
}
