package authzbridge_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// judgement is the answer of testdata/deploy/alerts.
type judgement struct {
	Alerts  []string   `json:"alerts"`
	Fired   [][]string `json:"fired"`
	Metrics []string   `json:"metrics"`
}

// scrapes are what is exposed during some minutes.
type scrapes struct {
	Minutes int      `json:"minutes"`
	Scrapes []string `json:"scrapes"`
}

// judge has Prometheus's own engine evaluate the alert rules.
func judge(t *testing.T, phases ...scrapes) judgement {
	t.Helper()
	j := ask(t, map[string]any{"rules": string(monitoring(t, "alerts.yaml")), "phases": phases})
	require.Len(t, j.Fired, len(phases))
	return j
}

func ask(t *testing.T, what map[string]any) judgement {
	t.Helper()
	question, err := json.Marshal(what)
	require.NoError(t, err)
	module := filepath.Join("..", "testdata", "deploy")
	// So go test knows that a result depends on what another process reads.
	require.NoError(t, filepath.WalkDir(module, func(string, fs.DirEntry, error) error { return nil }))
	command := exec.CommandContext(t.Context(), "go", "run", "./alerts")
	command.Dir = module
	command.Env = append(os.Environ(), "GOWORK=off")
	command.Stdin = bytes.NewReader(question)
	var out, problem bytes.Buffer
	command.Stdout, command.Stderr = &out, &problem
	require.NoError(t, command.Run(), problem.String())
	var j judgement
	require.NoError(t, json.Unmarshal(out.Bytes(), &j))
	return j
}

func monitoring(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "xcaddy", "deploy", "monitoring", name))
	require.NoError(t, err)
	return text
}

// scrape is what is exposed now.
func (d *door) scrape() string {
	d.tb.Helper()
	_, text := d.get(d.meter, "/metrics")
	require.Contains(d.tb, text, "authz_bridge_ready")
	return text
}
