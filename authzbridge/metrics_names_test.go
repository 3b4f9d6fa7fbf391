package authzbridge_test

import (
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

const metricPrefix = "authz_bridge_"

// family is one metric as it is exposed.
type family struct {
	help   string
	labels map[string][]string // values by name
}

// families are the metrics of the running configuration.
func families(t *testing.T) map[string]family {
	t.Helper()
	ctx := caddy.ActiveContext()
	gathered, err := ctx.GetMetricsRegistry().Gather()
	require.NoError(t, err)
	all := make(map[string]family)
	for _, each := range gathered {
		name, ours := strings.CutPrefix(each.GetName(), metricPrefix)
		if !ours {
			continue
		}
		f := family{help: each.GetHelp(), labels: make(map[string][]string)}
		for _, m := range each.GetMetric() {
			for _, label := range m.GetLabel() {
				f.labels[label.GetName()] = append(f.labels[label.GetName()], label.GetValue())
			}
		}
		all[name] = f
	}
	return all
}

// openToAll starts a Caddy that has every metric there is.
func openToAll(t *testing.T) *door {
	t.Helper()
	k := newDesk(t)
	k.secret("registry", "registry.yaml", document(app("open", "open.example.com"), app("shop", "shop.example.com"), "name: BAD\nhostnames: [bad.example.com]"))
	k.secret("open", "token", "placeholder")
	d := open(t, k.option())
	d.becomes("open.example.com", http.StatusOK)
	d.writes(1)
	for _, host := range []string{"shop.example.com", "bad.example.com", "no.such.host.example.com", "in valid"} {
		d.ask(host)
	}
	return d
}

func TestMetricsAreAsPrometheusWantsThem(t *testing.T) {
	d := openToAll(t)
	_, exposed := d.get(d.meter, "/metrics")
	var ours strings.Builder
	for line := range strings.Lines(exposed) {
		if strings.Contains(line, metricPrefix) {
			ours.WriteString(line)
		}
	}
	problems, err := promlint.New(strings.NewReader(ours.String())).Lint()
	require.NoError(t, err)
	assert.Empty(t, problems)
	for name, f := range families(t) {
		assert.Greater(t, len(f.help), 10, name)
		assert.True(t, strings.HasSuffix(f.help, "."), "%s: %q is no sentence", name, f.help)
	}
}

func TestLabelsHaveNoValuesButThoseThatAreKnown(t *testing.T) {
	openToAll(t)
	bounds := map[string][]string{
		"app":     {"", "open", "shop", "apps[2]"},
		"state":   words(snapshot.States()),
		"kind":    plain(mirror.FailureKinds()),
		"result":  {"success", "failure"},
		"builder": {"apps", "tallies", "upstreams", "versions"},
		"reason":  append(words(snapshot.Reasons()), plain(mirror.ConditionTypes())...),
	}
	all := families(t)
	assert.Contains(t, all["decisions_total"].labels["app"], "open")
	for name, f := range all {
		for label, values := range f.labels {
			assert.Subset(t, bounds[label], values, "label %s of %s", label, name)
		}
	}
}

func words[T interface{ String() string }](all []T) []string {
	var texts []string
	for _, each := range all {
		texts = append(texts, each.String())
	}
	return texts
}

func plain[T ~string](all []T) []string {
	var texts []string
	for _, each := range all {
		texts = append(texts, string(each))
	}
	return texts
}

var quoted = regexp.MustCompile("`([a-z_]+)`")

// documentedMetrics are the labels of each metric in the README's table.
func documentedMetrics(t *testing.T) map[string][]string {
	t.Helper()
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(readme), "\n## Metrics\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	documented := make(map[string][]string)
	for row := range strings.Lines(section) {
		cells := strings.Split(row, "|")
		if len(cells) != 5 || !quoted.MatchString(cells[1]) {
			continue
		}
		name := quoted.FindStringSubmatch(cells[1])[1]
		assert.NotContains(t, documented, name, "twice")
		documented[name] = []string{}
		for _, label := range quoted.FindAllStringSubmatch(cells[2], -1) {
			documented[name] = append(documented[name], label[1])
		}
	}
	return documented
}

func TestTheReadmeListsTheMetricsThatThereAre(t *testing.T) {
	openToAll(t)
	exposed := make(map[string][]string)
	for name, f := range families(t) {
		exposed[name] = []string{}
		for label := range f.labels {
			exposed[name] = append(exposed[name], label)
		}
		slices.Sort(exposed[name])
	}
	documented := documentedMetrics(t)
	for _, labels := range documented {
		slices.Sort(labels)
	}
	assert.Equal(t, exposed, documented)
}
