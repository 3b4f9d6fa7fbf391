// Package bench measures how fast and how small the bridge is, beside other ways to
// do the same, and prints one table:
//
//	make bench                      # all parts
//	make bench PARTS=decide,churn   # some of them
//
// Each part is a test, so one that fails says so and the others go on, and what it
// started ends with it. What is measured is the built binary in a process of its
// own, and the load comes from this one.
package bench

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// part is what can be measured alone.
type part struct {
	name  string
	title string
	run   func(*testing.T, *bench)
}

var parts = []part{
	{"decide", "In the process", measureInProcess},
	{"memory", "Memory of the process", measureMemory},
	{"bulk", "Secrets that nobody refers to", measureBulk},
	{"start", "From the start of the process to the first authorized request", measureStart},
	{"compare", "Requests per second, as a ratio to a bare answer to the same requests", measureComparison},
	{"rotate", "From a change to the decision served", measureRotation},
	{"churn", "Under a flood of changes", measureChurn},
}

// bench is the table that is written, and how long things are measured.
type bench struct {
	*table
	rounds int           // interleaved ones, of which the median counts
	round  time.Duration // of one scenario in one round
	short  bool          // a try: less of everything
}

// TestBench runs the parts that BENCH names, or all.
func TestBench(t *testing.T) {
	wanted := os.Getenv("BENCH")
	if wanted == "" {
		t.Skip("measures what BENCH names, as in BENCH=all, which make bench sets")
	}
	chosen, machine := choose(t, wanted), describeMachine(t)
	b := newBench(t)
	for _, p := range chosen {
		begin := time.Now()
		b.begin(p.title)
		if !t.Run(p.name, func(t *testing.T) { p.run(t, b) }) {
			b.tell("this part", "failed; its figures are not whole")
		}
		fmt.Fprintf(os.Stderr, "-- %s: %s\n", p.name, time.Since(begin).Round(time.Second))
	}
	text := machine + "\n" + b.String()
	fmt.Print("\n", text)
	if len(chosen) < len(parts) || b.short {
		return // what is not whole is not kept
	}
	require.NoError(t, keep(resultsDir, text, time.Now()))
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{table: new(table), rounds: 5, round: time.Second, short: testing.Short()}
	if b.short {
		b.rounds, b.round = 2, 300*time.Millisecond
	}
	var err error
	if text := os.Getenv("BENCH_ROUNDS"); text != "" {
		b.rounds, err = strconv.Atoi(text)
		require.NoError(t, err, "BENCH_ROUNDS")
	}
	if text := os.Getenv("BENCH_ROUND"); text != "" {
		b.round, err = time.ParseDuration(text)
		require.NoError(t, err, "BENCH_ROUND")
	}
	require.Positive(t, b.rounds, "BENCH_ROUNDS")
	require.Positive(t, b.round, "BENCH_ROUND")
	return b
}

// choose returns the parts of a list of names, in order of the table.
func choose(t *testing.T, list string) []part {
	t.Helper()
	if list == "all" {
		return parts
	}
	wanted := make(map[string]bool)
	for name := range strings.SplitSeq(list, ",") {
		wanted[name] = true
	}
	var chosen []part
	var known []string
	for _, p := range parts {
		known = append(known, p.name)
		if wanted[p.name] {
			chosen = append(chosen, p)
		}
	}
	require.Len(t, chosen, len(wanted), "known parts are all, %s", strings.Join(known, ", "))
	return chosen
}

// pick returns how much of something to do.
func (b *bench) pick(whole, short int) int {
	if b.short {
		return short
	}
	return whole
}
