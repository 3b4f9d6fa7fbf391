package authzbridge_test

import (
	"fmt"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// annex is a door with one more site, for all hosts, which is the one that is asked.
type annex struct {
	*door

	main, aside string // addresses
}

// newAnnex does not start it yet.
func newAnnex(tb testing.TB, option, content string) *annex {
	tb.Helper()
	d := newDoor(tb, option)
	a := &annex{door: d, main: d.site, aside: freeAddress(tb)}
	_, port, err := net.SplitHostPort(a.aside)
	require.NoError(tb, err)
	d.sites = fmt.Sprintf("http://:%s {\nbind 127.0.0.1\nlog\n%s\n}\n", port, content)
	return a
}

// openAnnex starts one.
func openAnnex(tb testing.TB, option, content string) *annex {
	tb.Helper()
	a := newAnnex(tb, option, content)
	a.load()
	return a
}

// load loads the configuration as it is now.
func (a *annex) load() {
	a.tb.Helper()
	a.site = a.main
	require.NoError(a.tb, a.door.load())
	a.site = a.aside
}
