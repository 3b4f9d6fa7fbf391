package bench

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// measurements are the values of Go benchmarks, by name and unit.
type measurements map[string]map[string][]float64

// measureInProcess runs the Go benchmarks of the packages, which say what is measured.
func measureInProcess(t *testing.T, b *bench) {
	lookups := runBenchmarks(t, b, "../../snapshot", "DecideByHostname/apps=/exact|DecideByAPIKey")
	const decide, atLarge = "DecideByHostname/apps=10000/exact", "DecideByHostname/apps=100000/exact"
	free := nanoseconds(0)
	free.text = "0"
	b.atMost("decide by hostname, 10,000 random hosts, exact", nanoseconds(25), lookups.time(t, decide), "")
	b.atMost("its allocations", free, count(lookups.of(t, decide, "allocs/op")), "")
	small, large := lookups.time(t, "DecideByHostname/apps=100/exact"), lookups.time(t, atLarge)
	b.atMost("decide at 100,000 Apps : at 100", ratio(2), ratio(large.value/small.value), large.text+" : "+small.text)
	b.tellMore("decide by API key, 10,000 Apps", lookups.time(t, "DecideByAPIKey").text,
		fmt.Sprintf("%.0f allocations", lookups.of(t, "DecideByAPIKey", "allocs/op")))

	views := runBenchmarks(t, b, "../../mirror", "CurrentAndView")
	b.atMost("current Snapshot and a typed view of it", nanoseconds(2), nanoseconds(views.of(t, "CurrentAndView", "ns/read")), "")
	b.atMost("its allocations", free, count(views.of(t, "CurrentAndView", "allocs/op")), "")

	builds := runBenchmarks(t, b, "../../snapshot", "RebuildAfterOneSecret|BuildFromBytes")
	after, afterSmall := builds.time(t, "RebuildAfterOneSecret/apps=100000"), builds.time(t, "RebuildAfterOneSecret/apps=1000")
	b.atMost("rebuild after one Secret, 100,000 Apps", duration(time.Millisecond), after, "")
	b.atMost("rebuild at 100,000 Apps : at 1,000", ratio(10), ratio(after.value/afterSmall.value), after.text+" : "+afterSmall.text)
	b.atMost("full build from bytes, 10,000 Apps", duration(50*time.Millisecond), builds.time(t, "BuildFromBytes/apps=10000"), "")
	b.atMost("full build from bytes, 100,000 Apps", duration(600*time.Millisecond), builds.time(t, "BuildFromBytes/apps=100000"), "")

	verify := runBenchmarks(t, b, "../../snapshot/credential", "Verify|CheckRemembered")
	for _, algorithm := range []string{"ES256", "RS256", "HS256"} {
		b.tell("verify a token, "+algorithm, verify.time(t, "Verify/"+algorithm).text)
	}
	b.tell("check a password that is remembered", verify.time(t, "CheckRemembered").text)

	heap := runBenchmarks(t, b, "../../authzbridge", "HeapPerApp")
	b.atMost("live heap per App, 100,000 Apps", plainBytes(1024), plainBytes(heap.of(t, "HeapPerApp", "B/app")),
		"Registry, Secret, credential, view and counters")
}

// runBenchmarks runs those of a package that a pattern matches, several times each.
func runBenchmarks(t *testing.T, b *bench, dir, pattern string) measurements {
	t.Helper()
	command := exec.Command("go", "test", "-run", "^$", "-bench", pattern, "-benchmem",
		"-benchtime", "500ms", "-count", strconv.Itoa(b.pick(5, 1)), "-timeout", "15m", ".")
	command.Dir = dir
	command.Env = append(os.Environ(), "BENCH=")
	var problems bytes.Buffer
	command.Stderr = &problems
	output, err := command.Output()
	require.NoError(t, err, "%s%s", output, &problems)
	return readMeasurements(string(output))
}

var (
	benchmarkLine = regexp.MustCompile(`(?m)^Benchmark(\S+?)(?:-\d+)?\s+\d+\s+(.+)$`)
	valueAndUnit  = regexp.MustCompile(`(\S+) (\S+)`)
)

func readMeasurements(output string) measurements {
	all := make(measurements)
	for _, line := range benchmarkLine.FindAllStringSubmatch(output, -1) {
		name := line[1]
		if all[name] == nil {
			all[name] = make(map[string][]float64)
		}
		for _, pair := range valueAndUnit.FindAllStringSubmatch(line[2], -1) {
			if value, err := strconv.ParseFloat(pair[1], 64); err == nil {
				all[name][pair[2]] = append(all[name][pair[2]], value)
			}
		}
	}
	return all
}

// of returns the median of what a benchmark said in a unit.
func (m measurements) of(t *testing.T, name, unit string) float64 {
	t.Helper()
	require.NotEmpty(t, m[name][unit], "benchmark %s says nothing in %s", name, unit)
	return median(m[name][unit])
}

func (m measurements) time(t *testing.T, name string) quantity {
	t.Helper()
	return nanoseconds(m.of(t, name, "ns/op"))
}

func TestOutputOfGoBenchmarksIsRead(t *testing.T) {
	m := readMeasurements(strings.ReplaceAll(`goos: linux
BenchmarkDecide/apps=100/exact-2 _ 1000 _ 12.50 ns/op _ 0 B/op _ 0 allocs/op
BenchmarkDecide/apps=100/exact-2 _ 1000 _ 13.50 ns/op _ 0 B/op _ 0 allocs/op
BenchmarkDecide/apps=100/exact-2 _ 1000 _ 99 ns/op _ 0 B/op _ 0 allocs/op
BenchmarkHeap _ 1 _ 1.2e+06 ns/op _ 750.5 B/app
PASS
`, "_", "\t"))
	assert.Equal(t, 13.5, m.of(t, "Decide/apps=100/exact", "ns/op"))
	assert.Equal(t, 0.0, m.of(t, "Decide/apps=100/exact", "allocs/op"))
	assert.Equal(t, 750.5, m.of(t, "Heap", "B/app"))
	assert.Len(t, m, 2)
}
