package authzbridge_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// dashboardQueries are those of all panels, with Grafana's variables replaced.
func dashboardQueries(t *testing.T) []string {
	t.Helper()
	var board struct {
		UID    string
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal(monitoring(t, "dashboard.json"), &board))
	var queries []string
	for _, p := range board.Panels {
		require.NotEmpty(t, p.Targets, p.Title)
		for _, target := range p.Targets {
			queries = append(queries, strings.NewReplacer("$__rate_interval", "1m", "$job", ".*").Replace(target.Expr))
		}
	}
	return queries
}

func TestTheDashboardShowsEveryMetricAndNoOther(t *testing.T) {
	openToAll(t)
	used := make(map[string]bool)
	for _, name := range ask(t, map[string]any{"queries": dashboardQueries(t)}).Metrics {
		name = strings.TrimSuffix(strings.TrimPrefix(name, metricPrefix), "_bucket")
		used[name] = true
	}
	exposed := make(map[string]bool)
	for name := range families(t) {
		exposed[name] = true
	}
	assert.Equal(t, exposed, used)
}
