package snapshot_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

func TestLookup(t *testing.T) {
	apps := open(t,
		app("exact", "example.com", "www.example.com", "b\u00fccher.de", "192.0.2.1", "2001:db8::1"),
		app("wild", "*.example.com", "*.b\u00fccher.de"),
		app("deeper", "*.a.example.com"),
	)
	tests := []struct{ about, host, want string }{
		{"exact", "example.com", "exact: allowed"},
		{"exact in another form", "EXAMPLE.com.:443", "exact: allowed"},
		{"exact before wildcard", "www.example.com", "exact: allowed"},
		{"exact before wildcard in another form", "WWW.example.com:80", "exact: allowed"},
		{"wildcard", "shop.example.com", "wild: allowed"},
		{"wildcard in another form", "SHOP.Example.com.:443", "wild: allowed"},
		{"wildcard for a label with an underscore", "_shop.example.com", "wild: allowed"},
		{"wildcard for an umlaut", "\u00fc.b\u00fccher.de", "wild: allowed"},
		{"wildcard stands for no empty label", ".example.com", "invalid_host"},
		{"wildcard stands for one label, not for two", "a.shop.example.com", "unknown_host"},
		{"wildcard of a longer name", "x.a.example.com", "deeper: allowed"},
		{"wildcard of a longer name, two labels", "x.y.a.example.com", "unknown_host"},
		{"wildcard itself is no host", "*.example.com", "invalid_host"},
		{"wildcard itself, other case and port", "*.Example.com:443", "invalid_host"},
		{"parent of a wildcard alone is not in it", "xn--bcher-kva.de", "exact: allowed"},
		{"suffix that is no label", "wwwexample.com", "unknown_host"},
		{"prefix", "example", "unknown_host"},
		{"IPv4", "192.0.2.1:8080", "exact: allowed"},
		{"IPv4, other", "192.0.2.2", "unknown_host"},
		{"IPv6", "[2001:DB8::1]:8080", "exact: allowed"},
		{"IPv6, other", "[2001:db8::2]", "unknown_host"},
		{"IPv6 with dots", "[::ffff:192.0.2.1]", "unknown_host"},
		{"empty", "", "invalid_host"},
	}
	for _, tt := range tests {
		t.Run(tt.about, func(t *testing.T) {
			assert.Equal(t, tt.want, answer(apps, tt.host))
		})
	}
}

func TestParentOfAWildcardIsNotInIt(t *testing.T) {
	apps := open(t, app("wild", "*.example.com"))
	assert.Equal(t, "unknown_host", answer(apps, "example.com"))
	assert.Equal(t, "wild: allowed", answer(apps, "a.example.com"))
}

func TestInvalidAppsExactHostnameIsInFrontOfAWildcard(t *testing.T) {
	apps := open(t, app("wild", "*.example.com"), shop.with("anyOf", 1))
	assert.Equal(t, "shop: app_invalid", answer(apps, "shop.example.com"))
	assert.Equal(t, "wild: allowed", answer(apps, "blog.example.com"))
}

func TestRow16HostnameThatTwoAppsClaimIsServedByNone(t *testing.T) {
	past := start.Add(-time.Hour).Format(time.RFC3339)
	shared := []entry{
		app("shop", "shared.example.com", "shop.example.com"),
		app("blog", "SHARED.example.com.", "blog.example.com"),
		app("wiki", "shared.example.com:443", "wiki.example.com"),
	}
	tests := []struct {
		about string
		apps  []entry
		want  map[string]string
		lost  map[string][]string // who claims, in any order
	}{
		{
			"two claim an exact one", shared[:2],
			map[string]string{
				"shared.example.com": "host_conflict",
				"shop.example.com":   "shop: allowed",
				"blog.example.com":   "blog: allowed",
			},
			map[string][]string{"shared.example.com": {"shop", "blog"}},
		},
		{
			"three claim an exact one", shared,
			map[string]string{
				"shared.example.com": "host_conflict",
				"shop.example.com":   "shop: allowed",
				"blog.example.com":   "blog: allowed",
				"wiki.example.com":   "wiki: allowed",
			},
			map[string][]string{"shared.example.com": {"shop", "blog", "wiki"}},
		},
		{
			"two claim a wildcard",
			[]entry{app("a", "*.example.com", "a.example.com"), app("b", "*.example.com", "b.example.com")},
			map[string]string{
				"x.example.com": "host_conflict",
				"a.example.com": "a: allowed",
				"b.example.com": "b: allowed",
			},
			map[string][]string{"*.example.com": {"a", "b"}},
		},
		{
			"wildcard and exact do not conflict",
			[]entry{app("a", "*.example.com"), app("b", "b.example.com")},
			map[string]string{"x.example.com": "a: allowed", "b.example.com": "b: allowed"},
			nil,
		},
		{
			"no wildcard captures an exact one in conflict",
			append([]entry{app("wild", "*.example.com")}, shared[:2]...),
			map[string]string{"shared.example.com": "host_conflict", "x.example.com": "wild: allowed"},
			map[string][]string{"shared.example.com": {"shop", "blog"}},
		},
		{
			"an invalid App counts",
			[]entry{app("a", "shared.example.com", "a.example.com"), app("b", "shared.example.com", "b.example.com").with("anyOf", 1)},
			map[string]string{
				"shared.example.com": "host_conflict",
				"a.example.com":      "a: allowed",
				"b.example.com":      "b: app_invalid",
			},
			map[string][]string{"shared.example.com": {"a", "b"}},
		},
		{
			"an expired App counts",
			[]entry{app("a", "shared.example.com", "a.example.com"), app("b", "shared.example.com", "b.example.com").with("expiresAt", past)},
			map[string]string{
				"shared.example.com": "host_conflict",
				"a.example.com":      "a: allowed",
				"b.example.com":      "b: app_expired",
			},
			map[string][]string{"shared.example.com": {"a", "b"}},
		},
		{
			"Apps of one name count",
			[]entry{app("a", "shared.example.com"), app("a", "shared.example.com", "b.example.com")},
			map[string]string{"shared.example.com": "host_conflict", "b.example.com": "a: app_invalid"},
			map[string][]string{"shared.example.com": {"a", "a"}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.about, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			for range 10 {
				random.Shuffle(len(tt.apps), func(i, j int) { tt.apps[i], tt.apps[j] = tt.apps[j], tt.apps[i] })
				apps := open(t, tt.apps...)
				for host, want := range tt.want {
					require.Equal(t, want, answer(apps, host), host)
				}
				require.Len(t, apps.Conflicts(), len(tt.lost))
				for _, c := range apps.Conflicts() {
					require.ElementsMatch(t, tt.lost[c.Hostname], c.Apps, c.Hostname)
				}
			}
		})
	}
}

func TestConflictsAreInOrderOfHostname(t *testing.T) {
	hostnames := []string{"b.example.com", "*.example.com", "a.example.com"}
	assert.Equal(t, []snapshot.Conflict{
		{Hostname: "*.example.com", Apps: []string{"one", "two"}},
		{Hostname: "a.example.com", Apps: []string{"one", "two"}},
		{Hostname: "b.example.com", Apps: []string{"one", "two"}},
	}, open(t, app("one", hostnames...), app("two", hostnames...)).Conflicts())
}

func TestLoserOfAConflictServesAtOnceWhenTheOtherGoes(t *testing.T) {
	one, other := app("one", "shared.example.com", "*.shared.example.com"), app("other", "shared.example.com", "*.shared.example.com")
	b := snapshot.NewAppsBuilder()
	for i, tt := range []struct {
		apps []entry
		want string
	}{
		{[]entry{one}, "one: allowed"},
		{[]entry{one, other}, "host_conflict"},
		{[]entry{other}, "other: allowed"},
		{[]entry{other, one}, "host_conflict"},
		{[]entry{one, other.with("hostnames", []string{"other.example.com"})}, "one: allowed"},
		{[]entry{one, other.with("anyOf", 1)}, "host_conflict"},
		{nil, "unknown_host"},
	} {
		reg := registry(t, tt.apps...)
		o := snapshot.NewObjects(start, reg, allPresent(reg))
		o.Changes = snapshot.Changes{All: i == 0, Registry: true}
		apps := buildWith(t, b, o)
		require.Equal(t, tt.want, answer(apps, "shared.example.com"), "step %d", i)
		require.Equal(t, tt.want, answer(apps, "x.shared.example.com"), "step %d", i)
	}
}

// Raw and normalized lookups must not differ, whatever the registry holds.
func TestEveryFormOfAHostnameGetsTheSameAnswer(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	label := func() string { return fmt.Sprintf("%c%c", 'a'+random.IntN(3), 'a'+random.IntN(3)) }
	pattern := func() string {
		name := label() + "." + label()
		switch random.IntN(3) {
		case 0:
			return "*." + name
		case 1:
			return label() + "." + name
		default:
			return name
		}
	}
	for range 50 {
		var entries []entry
		for i := range 10 {
			entries = append(entries, app(fmt.Sprintf("app-%d", i), pattern(), pattern()))
		}
		apps := open(t, entries...)
		for range 200 {
			host := pattern()
			if host[0] == '*' {
				host = label() + host[1:]
			}
			want := slowAnswer(apps, host)
			require.Equal(t, want, answer(apps, host), host)
			for _, form := range []string{host + ":443", host + ".", upper(random, host), upper(random, host) + ".:1"} {
				require.Equal(t, want, answer(apps, form), form)
			}
		}
	}
}

// slowAnswer says what the specification says, without an index.
func slowAnswer(apps *snapshot.Apps, host string) string {
	wild := "*" + host[2:]
	for _, pattern := range []string{host, wild} {
		var holders []*snapshot.App
		for i := range apps.Len() {
			for _, h := range apps.At(i).Hostnames {
				if h == pattern {
					holders = append(holders, apps.At(i))
				}
			}
		}
		switch len(holders) {
		case 0:
			continue
		case 1:
			return holders[0].Name + ": " + holders[0].Reason.String()
		}
		return "host_conflict"
	}
	return "unknown_host"
}

func upper(random *rand.Rand, s string) string {
	b := []byte(s)
	for i := range b {
		if 'a' <= b[i] && b[i] <= 'z' && random.IntN(2) == 0 {
			b[i] -= 'a' - 'A'
		}
	}
	return string(b)
}

// TestEveryOneOfManyHostnamesIsFound has hostnames of every length, in an index of
// every fill.
func TestEveryOneOfManyHostnamesIsFound(t *testing.T) {
	hostname := func(i int) string {
		label := fmt.Sprintf("h%d.", i)
		longest := label + strings.Repeat(strings.Repeat("x", 49)+".", 5)
		return (longest + "example.com")[:max(len(label)+1, i%253)] + "y"
	}
	for _, n := range []int{1, 2, 3, 7, 8, 100, 819, 820, 821, 3000} {
		hostnames := make([]string, n)
		for i := range hostnames {
			hostnames[i] = hostname(i)
		}
		apps := open(t, app("all", hostnames...), app("wild", "*.wild.example.com"))
		require.Equal(t, n+1, apps.Hostnames())
		for i, h := range hostnames {
			require.Equal(t, "all: allowed", answer(apps, h))
			require.Equal(t, "all: allowed", answer(apps, strings.ToUpper(h)))
			require.Equal(t, "unknown_host", answer(apps, fmt.Sprintf("h%d.absent", i)))
		}
		require.Equal(t, "wild: allowed", answer(apps, "x.wild.example.com"))
		require.Equal(t, "unknown_host", answer(apps, "wild.example.com"))
	}
}
