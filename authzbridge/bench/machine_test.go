package bench

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// describeMachine says what the figures were measured on, and when. It names
// neither the host nor a path.
func describeMachine(t *testing.T) string {
	t.Helper()
	version, err := exec.Command(caddyBinary, "version").Output()
	require.NoError(t, err, "caddy version")
	caddyVersion, _, _ := strings.Cut(strings.TrimSpace(string(version)), " ")
	return fmt.Sprintf(`date    %s
cpu     %s, %d cores
memory  %s
system  %s, %s
go      %s
caddy   %s
`,
		time.Now().UTC().Format(time.DateOnly),
		fieldOf("/proc/cpuinfo", "model name", ":"), runtime.NumCPU(),
		memory(),
		fieldOf("/etc/os-release", "PRETTY_NAME", "="), runtime.GOOS+"/"+runtime.GOARCH,
		runtime.Version(),
		caddyVersion)
}

func memory() string {
	text := fieldOf("/proc/meminfo", "MemTotal", ":")
	kibibytes, err := strconv.ParseFloat(strings.TrimSuffix(text, " kB"), 64)
	if err != nil {
		return text
	}
	return fmt.Sprintf("%.1f GiB", kibibytes/(1<<20))
}

// fieldOf returns the value of the first line with that name, where there is one.
func fieldOf(path, name, separator string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(text)) {
		field, value, ok := strings.Cut(line, separator)
		if ok && strings.TrimSpace(field) == name {
			return strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	return "unknown"
}
