package command

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/authz-bridge/authz-bridge/authzbridge"
)

func statusCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Prints what is served, how old it is, and what is wrong",
		Long: `
Prints what is served and how old it is, the Apps that do not serve and why, and
what is degraded since when.

Replicas with the same hash serve the same versions of all Secrets.

Exit codes: 0 ready and nothing is degraded, 1 not ready or degraded, 2 no
answer. Apps that do not serve are no trouble of the bridge; see apps.`,
		Example: "  $ caddy authz-bridge status\n  $ caddy authz-bridge status --json | jq -r .hash",
		Args:    arguments(0, 0, "status"),
	}
	a, asJSON := askerFlags(cmd), jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var st authzbridge.Status
		if err := a.ask("/status", nil, &st); err != nil {
			return noAnswer(cmd, err)
		}
		if *asJSON {
			printJSON(cmd.OutOrStdout(), st)
		} else {
			printStatus(newPage(cmd.OutOrStdout()), st)
		}
		if !st.Ready || len(st.Degraded) > 0 {
			return exitWith(cmd, ExitTrouble)
		}
		return nil
	}
	return cmd
}

func printStatus(p *page, st authzbridge.Status) {
	ready := "ready"
	if !st.Ready {
		ready = "not ready"
	}
	p.field("state", "%s, %s", st.State, ready)
	printAge(p, st)
	registry := st.Registry.Namespace + "/" + st.Registry.Name
	switch {
	case st.Registry.Present == nil:
		p.field("registry", "%s, not read yet", registry)
	case !*st.Registry.Present:
		p.field("registry", "%s, does not exist", registry)
	default:
		p.field("registry", "%s, version %s", registry, cmp.Or(st.Registry.Version, "unknown"))
		if st.Registry.UID != "" {
			p.field("", "UID %s", st.Registry.UID)
		}
	}
	p.field("source", "%s", st.Source)
	p.field("generation", "%d, of %s, %s", st.Generation, plural(int(st.Rebuilds), "rebuild", "rebuilds"), plural(int(st.Resyncs), "resync", "resyncs"))
	p.field("hash", "%s", cmp.Or(st.Hash, "none"))
	p.field("apps", "%d of %d serve, with %s, %d in conflict", st.Apps.Serving, st.Apps.Total, plural(st.Apps.Hostnames, "hostname", "hostnames"), st.Apps.Conflicting)
	p.field("secrets", "%d present, %d absent, %d forbidden, %d pending", st.Secrets.Present, st.Secrets.Absent, st.Secrets.Forbidden, st.Secrets.Pending)
	printCache(p, st.Cache)
	printReasons(p, st)
	printProblems(p, st.Apps)
}

func printAge(p *page, st authzbridge.Status) {
	switch {
	case st.AgeSeconds == nil:
		p.field("age", "nothing is served")
	case st.Stale:
		p.field("age", "%s (%s): stale, every request is refused", seconds(*st.AgeSeconds), st.Oldest)
	default:
		p.field("age", "%s (%s)", seconds(*st.AgeSeconds), st.Oldest)
	}
	p.field("contact", "%s", moment(st.LastContact))
}

func seconds(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(100 * time.Millisecond).String()
}

func moment(at *time.Time) string {
	if at == nil {
		return "never"
	}
	return at.UTC().Format(time.RFC3339)
}

func printCache(p *page, cache *authzbridge.CacheStatus) {
	if cache == nil {
		return
	}
	serving := ""
	if cache.Serving {
		serving = "served now; "
	}
	p.field("cache", "%slast written %s, %d written, %d failed", serving, moment(cache.LastWrite), cache.Writes, cache.Failures)
}

// printReasons leaves out of the reasons what the conditions say.
func printReasons(p *page, st authzbridge.Status) {
	var reasons []string
	for _, reason := range st.Reasons {
		told := false
		for _, c := range st.Degraded {
			told = told || strings.HasSuffix(reason, c.Message)
		}
		if !told {
			reasons = append(reasons, reason)
		}
	}
	if len(reasons) > 0 {
		p.heading("Waiting for")
		for _, reason := range reasons {
			p.paragraph(2, reason)
		}
	}
	if len(st.Degraded) > 0 {
		p.heading("Degraded")
	}
	for _, c := range st.Degraded {
		head := string(c.Type)
		if c.Subject != "" {
			head += ", " + c.Subject
		}
		p.paragraph(2, fmt.Sprintf("%s, since %s", head, moment(&c.Since)))
		p.paragraph(4, c.Message)
	}
}

func printProblems(p *page, apps authzbridge.AppsStatus) {
	if more := apps.Total - apps.Serving; more > 0 {
		p.heading("Apps that do not serve%s", outOf(len(apps.NotServing), more, "apps --reason '!allowed'"))
		for _, app := range apps.NotServing {
			p.paragraph(2, app.App+": "+app.Reason)
			p.paragraph(4, app.Detail)
		}
	}
	if apps.Conflicting > 0 {
		p.heading("Hostnames that several Apps claim%s", outOf(len(apps.Conflicts), apps.Conflicting, "apps --reason host_conflict"))
		for _, c := range apps.Conflicts {
			p.paragraph(2, c.Hostname+": "+strings.Join(c.Apps, ", "))
		}
	}
	if apps.Warned > 0 {
		p.heading("Warnings%s", outOf(len(apps.Warnings), apps.Warned, "lint"))
		for _, w := range apps.Warnings {
			p.paragraph(2, w.App+": "+w.Warning)
		}
	}
}

// outOf says that a list is not whole, and which command has the rest.
func outOf(shown, total int, rest string) string {
	if shown >= total {
		return ""
	}
	return fmt.Sprintf(", %d of %d (see caddy %s %s)", shown, total, name, rest)
}
