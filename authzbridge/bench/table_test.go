package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// resultsDir is where whole tables are kept, seen from this package.
const resultsDir = "../../testdata/bench"

// table is what was measured, in order.
type table struct{ groups []group }

type group struct {
	title string
	rows  []row
}

// row is one figure. Without a bound it has no verdict.
type row struct{ what, bound, figure, verdict, remark string }

// quantity is a number and how people read it.
type quantity struct {
	value float64
	text  string
}

func (t *table) begin(title string) {
	t.groups = append(t.groups, group{title: title})
	fmt.Fprintln(os.Stderr, "==", title)
}

// atMost adds a figure that has an upper bound.
func (t *table) atMost(what string, bound, got quantity, remark string) {
	t.add(row{what, "<= " + bound.text, got.text, verdict(got.value <= bound.value), remark})
}

// atLeast adds a figure that has a lower bound.
func (t *table) atLeast(what string, bound, got quantity, remark string) {
	t.add(row{what, ">= " + bound.text, got.text, verdict(got.value >= bound.value), remark})
}

// tell adds a figure that nothing is asked of.
func (t *table) tell(what, figure string) { t.add(row{what: what, figure: figure}) }

// tellMore is tell with a remark.
func (t *table) tellMore(what, figure, remark string) {
	t.add(row{what: what, figure: figure, remark: remark})
}

func (t *table) add(r row) {
	last := &t.groups[len(t.groups)-1]
	last.rows = append(last.rows, r)
	fmt.Fprintln(os.Stderr, "  ", r.what+":", r.figure, r.verdict, r.remark)
}

func verdict(held bool) string {
	if held {
		return "ok"
	}
	return "MISSED"
}

// String lays the rows out in columns, the same in all groups.
func (t *table) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "what\tbound\tfigure\t\tremark")
	for _, g := range t.groups {
		// An empty cell in each column keeps tabwriter from starting new widths.
		fmt.Fprintf(w, "\t\t\t\t\n-- %s\t\t\t\t\n", g.title)
		for _, r := range g.rows {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", r.what, r.bound, r.figure, r.verdict, r.remark)
		}
	}
	_ = w.Flush() // a strings.Builder takes everything
	var lines strings.Builder
	for line := range strings.Lines(b.String()) {
		lines.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return lines.String()
}

// keep writes a whole table into a directory, one for each day.
func keep(dir, text string, day time.Time) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, day.Format(time.DateOnly)+".txt"), []byte(text), 0o644)
}

func TestTableSaysWhatWasHeldAndWhatWasMissed(t *testing.T) {
	var b table
	b.begin("Speed")
	b.atMost("decide", nanoseconds(25), nanoseconds(25), "at the bound")
	b.atMost("view", nanoseconds(2), nanoseconds(2.5), "")
	b.begin("Others")
	b.atLeast("API key", ratio(0.95), ratio(0.96), "")
	b.atLeast("by hostname, 10,000 Apps", ratio(0.96), ratio(0.95), "")
	b.tell("forward_auth", "0.370")
	want := `what                      bound       figure           remark

-- Speed
decide                    <= 25.0 ns  25.0 ns  ok      at the bound
view                      <= 2.00 ns  2.50 ns  MISSED

-- Others
API key                   >= 0.950    0.960    ok
by hostname, 10,000 Apps  >= 0.960    0.950    MISSED
forward_auth                          0.370
`
	assert.Equal(t, want, b.String())

	dir := filepath.Join(t.TempDir(), "kept")
	require.NoError(t, keep(dir, want, time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)))
	kept, err := os.ReadFile(filepath.Join(dir, "2027-03-01.txt"))
	require.NoError(t, err)
	assert.Equal(t, want, string(kept))
}
