package command

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/authz-bridge/authz-bridge/mirror/files"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

// Report is what `caddy authz-bridge lint --json` prints.
type Report struct {
	// File is the one that was looked at, and Registry the namespace/name that it is
	// taken for.
	File     string `json:"file"`
	Registry string `json:"registry"`
	// Apps counts those of the Registry, and Serving those that would serve; without
	// Secrets, those that may.
	Apps    int `json:"apps"`
	Serving int `json:"serving"`
	// SecretsRead is false where no directory of Secrets was named, so that only the
	// Registry was looked at.
	SecretsRead bool      `json:"secrets_read"`
	Problems    []Problem `json:"problems"`
}

// Problem is something that is wrong, or odd.
type Problem struct {
	// Severity is error, or warning for what denies nothing that should be open.
	Severity string `json:"severity"`
	File     string `json:"file"`
	// Line is from 1; 0 if it is not known.
	Line int `json:"line"`
	// Inside is the line in the document, where that is packed or quoted in the file,
	// as "registry.yaml:12"; absent elsewhere.
	Inside string `json:"inside,omitempty"`
	// App is absent for what is wrong with the whole.
	App string `json:"app,omitempty"`
	// Reason is what a running handler answers; registry_malformed where it would keep
	// the last good Registry, source_invalid where it would keep what a file defined.
	Reason string `json:"reason"`
	// Detail says what is wrong and how to fix it.
	Detail string `json:"detail"`
	// Secret is where the App's Secret is defined; absent if it is not.
	Secret string `json:"secret,omitempty"`
}

// The severities.
const (
	severityError   = "error"
	severityWarning = "warning"
)

// The reasons that are of no App.
const (
	reasonMalformed = "registry_malformed"
	reasonSource    = "source_invalid"
)

func lintCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lint <registry file> [--secrets <dir>]",
		Short: "Checks a Registry, and its Secrets, without a cluster",
		Long: `
Checks a Registry as the bridge itself reads it, and says for each problem the
file, the line and the fix. The file is the document (*.yaml, *.json, or with
.gz), or the manifest of a Secret that holds it.

With --secrets the Secrets of the Apps are checked as well. The directory is one
of the source files: manifests, and trees of namespace/name/key.

Exit codes: 0 no problems, or warnings alone, 1 problems, 2 nothing could be
checked.`,
		Example: "  $ caddy authz-bridge lint registry.yaml\n" +
			"  $ caddy authz-bridge lint secrets/registry.yaml --secrets secrets",
		Args: arguments(1, 1, "lint <registry file>"),
	}
	asJSON := jsonFlag(cmd)
	secrets := cmd.Flags().String("secrets", "", "Directory with the Secrets of the Apps")
	registry := cmd.Flags().String("registry", "", "Name of the Registry, <namespace>/<name>")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		key, err := parseRegistryName(*registry)
		if err != nil {
			return noAnswer(cmd, err)
		}
		report, err := lint(cmd.Context(), args[0], key, *secrets)
		if err != nil {
			return noAnswer(cmd, err)
		}
		if *asJSON {
			printJSON(cmd.OutOrStdout(), report)
		} else {
			printReport(newPage(cmd.OutOrStdout()), report)
		}
		if report.count(severityError) > 0 {
			return exitWith(cmd, ExitTrouble)
		}
		return nil
	}
	return cmd
}

func (r *Report) count(severity string) (n int) {
	for i := range r.Problems {
		if r.Problems[i].Severity == severity {
			n++
		}
	}
	return n
}

// lint builds what the Mirror would build.
func lint(ctx context.Context, path string, registry snapshot.Key, secrets string) (*Report, error) {
	d, err := readDocument(path, registry)
	if err != nil {
		return nil, err
	}
	l := &linter{document: d, report: &Report{File: path, Registry: d.secret.Key().String(), Problems: []Problem{}}}
	parsed, err := snapshot.ParseRegistry(d.secret)
	if err != nil {
		l.malformed(err)
		return l.report, nil
	}
	if err := l.readSecrets(ctx, secrets, parsed); err != nil {
		return nil, err
	}
	return l.report, l.judge(parsed)
}

// linter gathers problems.
type linter struct {
	*document
	report *Report
	places *place // of the document
	looked bool   // for the places

	secrets string // directory; empty for none
	reading files.Reading
}

func (l *linter) readSecrets(ctx context.Context, dir string, parsed *snapshot.Registry) error {
	if dir == "" {
		return nil
	}
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var err error
	l.reading, err = files.Read(ctx, files.Options{Dir: dir, Registry: parsed.Key()}, parsed.References())
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("--secrets: %s is written to all the time", dir)
	}
	if err != nil {
		return fmt.Errorf("--secrets: %w", err)
	}
	l.secrets, l.report.SecretsRead = dir, true
	for _, watch := range slices.Sorted(maps.Keys(l.reading.Failures)) {
		l.failed(l.reading.Failures[watch].Detail)
	}
	return nil
}

func (l *linter) judge(parsed *snapshot.Registry) error {
	objects := snapshot.NewObjects(time.Now(), parsed, l.reading.Secrets)
	apps, err := made[*snapshot.Apps](snapshot.NewAppsBuilder(), objects)
	if err != nil {
		return err
	}
	upstreams, err := made[*snapshot.Upstreams](snapshot.NewUpstreamsBuilder(), objects)
	if err != nil {
		return err
	}
	l.report.Apps = apps.Len()
	for i := range apps.Len() {
		l.judgeUpstreams(upstreams, apps.At(i))
		l.judgeApp(apps, apps.At(i))
	}
	slices.SortStableFunc(l.report.Problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Inside, b.Inside))
	})
	return nil
}

// made is the View that a Builder makes.
func made[V any](builder snapshot.Builder, o snapshot.Objects) (view V, err error) {
	built, err := builder.Build(o)
	if err != nil {
		return view, err
	}
	view, ok := built.(V)
	if !ok {
		return view, fmt.Errorf("builder %s made a %T", builder.Name(), built)
	}
	return view, nil
}

// judgeUpstreams warns, for what is wrong there closes nothing.
func (l *linter) judgeUpstreams(upstreams *snapshot.Upstreams, app *snapshot.App) {
	if where := upstreams.Of(app); where != nil && where.Err != nil {
		words := where.Err.Error()
		l.add(app, severityWarning, severityWarning, l.entry(app).blame(words), words)
	}
}

func (l *linter) judgeApp(apps *snapshot.Apps, app *snapshot.App) {
	for _, hostname := range app.Hostnames {
		if claimants := apps.Claimants(hostname); claimants != nil {
			l.add(app, severityError, snapshot.ReasonHostConflict.String(), l.hostname(app, hostname),
				fmt.Sprintf("hostname %s: claimed by %s; remove it from all but one", hostname, strings.Join(claimants, ", ")))
		}
	}
	for _, warning := range app.Warnings {
		l.add(app, severityWarning, "warning", l.entry(app).blameEither(warning), warning)
	}
	switch app.Reason {
	case snapshot.ReasonAllowed:
		l.report.Serving++
		return
	case snapshot.ReasonPending:
		if l.secrets == "" {
			l.report.Serving++
			return
		}
	case snapshot.ReasonAppExpired:
		// It is what was asked for.
		l.add(app, severityWarning, app.Reason.String(), l.entry(app).descend("expiresAt"), app.Detail+"; remove the App, or set a later time")
		return
	}
	l.add(app, severityError, app.Reason.String(), l.entry(app).blameEither(app.Detail), app.Detail)
}

// blameEither tells errors of the entry from those of the Secret.
func (p *place) blameEither(words string) *place {
	if strings.HasPrefix(words, "secret ") {
		return p.blameSecret(words)
	}
	return p.blame(words)
}

// root is where everything is in the document. It is looked for once there is a
// problem.
func (l *linter) root() *place {
	if !l.looked {
		l.places, l.looked = placeIn(l.text, l.isJSON()), true
	}
	if l.places == nil {
		return new(place)
	}
	return l.places
}

func (l *linter) entry(app *snapshot.App) *place {
	entries := l.root().child("apps").list()
	if app.Index < len(entries) {
		return entries[app.Index]
	}
	return l.root()
}

// hostname finds one as it is written.
func (l *linter) hostname(app *snapshot.App, hostname string) *place {
	list, ok := l.entry(app).find("hostnames")
	if !ok {
		return l.entry(app)
	}
	for _, item := range list.items {
		parent, wild := strings.CutPrefix(item.text, "*.")
		name, err := snapshot.NormalizeHostname(parent)
		if wild {
			name = "*." + name
		}
		if err == nil && name == hostname {
			return item
		}
	}
	return list
}

func (l *linter) add(app *snapshot.App, severity, reason string, at *place, detail string) {
	p := Problem{Severity: severity, App: app.Name, Reason: reason, Detail: detail}
	p.File, p.Line, p.Inside = l.locate(at.line)
	if defined, ok := l.reading.Places[app.SecretRef.Secret]; ok && strings.HasPrefix(detail, "secret ") {
		p.Secret = filepath.Join(l.secrets, defined)
	}
	l.report.Problems = append(l.report.Problems, p)
}

// locate turns a line of the document into one of the file.
func (l *linter) locate(line int) (file string, at int, inside string) {
	packed := strings.HasSuffix(l.dataKey, ".gz")
	switch {
	case line > 0 && l.first > 0 && !packed:
		return l.path, l.first + line - 1, ""
	case line > 0:
		return l.path, l.at, fmt.Sprintf("%s:%d", strings.TrimSuffix(l.dataKey, ".gz"), line)
	}
	if packed {
		return l.path, l.at, ""
	}
	return l.path, max(l.at, l.first), ""
}

var (
	yamlLine = regexp.MustCompile(`yaml: line (\d+): `)
	jsonByte = regexp.MustCompile(`\(at byte (\d+)\)`)
)

// malformed tells of a document that cannot be read at all.
func (l *linter) malformed(err error) {
	if wrong, ok := errors.AsType[*snapshot.MalformedError](err); ok {
		err = wrong.Err
	}
	words := strings.TrimPrefix(err.Error(), l.dataKey+": ")
	line, words := l.lineOf(words)
	p := Problem{Severity: severityError, Reason: reasonMalformed, Detail: words}
	p.File, p.Line, p.Inside = l.locate(line)
	l.report.Problems = append(l.report.Problems, p)
}

// lineOf returns the line of the document that an error is about, and its words
// without that.
func (l *linter) lineOf(words string) (int, string) {
	if found := yamlLine.FindStringSubmatch(words); found != nil {
		line, _ := strconv.Atoi(found[1])
		return line, strings.TrimPrefix(words, found[0])
	}
	if found := jsonByte.FindStringSubmatch(words); found != nil && l.isJSON() {
		offset, _ := strconv.Atoi(found[1])
		return 1 + bytes.Count(l.text[:min(offset, len(l.text))], []byte{'\n'}), words
	}
	return l.root().blame(words).line, strings.TrimPrefix(words, "yaml: ")
}

var fileAndLine = regexp.MustCompile(`^([^:]+):(\d+): `)

// failed tells of a file that cannot be read.
func (l *linter) failed(detail string) {
	p := Problem{Severity: severityError, File: l.secrets, Reason: reasonSource, Detail: detail}
	if found := fileAndLine.FindStringSubmatch(detail); found != nil {
		if path := filepath.Join(l.secrets, found[1]); exists(path) {
			p.File, p.Detail = path, strings.TrimPrefix(detail, found[0])
			p.Line, _ = strconv.Atoi(found[2])
		}
	}
	l.report.Problems = append(l.report.Problems, p)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func printReport(p *page, r *Report) {
	for i := range r.Problems {
		if i > 0 {
			p.line("")
		}
		printProblem(p, &r.Problems[i])
	}
	if len(r.Problems) > 0 {
		p.line("")
	}
	if slices.ContainsFunc(r.Problems, func(p Problem) bool { return p.Reason == reasonMalformed }) {
		p.paragraph(0, fmt.Sprintf("%s: registry %s cannot be read; a running bridge keeps the last good one", r.File, r.Registry))
		return
	}
	verb := "would serve"
	if !r.SecretsRead {
		verb = "may serve, by the Registry alone (--secrets <dir> checks their Secrets)"
	}
	p.paragraph(0, fmt.Sprintf("%s: registry %s: %d of %s %s; %s, %s", r.File, r.Registry, r.Serving, plural(r.Apps, "App", "Apps"), verb,
		plural(r.count(severityError), "problem", "problems"), plural(r.count(severityWarning), "warning", "warnings")))
}

func printProblem(p *page, problem *Problem) {
	where := problem.File
	if problem.Line > 0 {
		where += ":" + strconv.Itoa(problem.Line)
	}
	if problem.Inside != "" {
		where += " (" + problem.Inside + ")"
	}
	head := where + ": " + problem.Severity
	if problem.App != "" {
		head += ": " + problem.App
	}
	if problem.Reason != severityWarning {
		head += ": " + problem.Reason
	}
	p.paragraph(0, head)
	p.paragraph(4, problem.Detail)
	if problem.Secret != "" {
		p.paragraph(4, "its Secret is defined at "+problem.Secret)
	}
}
