package snapshot_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

// Names at the bounds of RFC 1035 section 2.3.4.
var (
	label63 = strings.Repeat("a", 63)
	label64 = strings.Repeat("a", 64)
	name253 = strings.Repeat(label63+".", 3) + strings.Repeat("b", 61)
	name254 = strings.Repeat(label63+".", 3) + strings.Repeat("b", 62)
)

var validHosts = []struct{ about, host, want string }{
	{"as it is", "shop.example.com", "shop.example.com"},
	{"one label", "localhost", "localhost"},
	{"upper case", "Shop.EXAMPLE.com", "shop.example.com"},
	{"port", "example.com:8080", "example.com"},
	{"empty port", "example.com:", "example.com"},
	{"port of five digits", "example.com:65535", "example.com"},
	{"one trailing dot", "example.com.", "example.com"},
	{"trailing dot and port", "example.com.:443", "example.com"},
	{"hyphens within", "a--b-c.example.com", "a--b-c.example.com"},
	{"underscores", "_acme_.example.com", "_acme_.example.com"},
	{"label of 63 bytes", label63 + ".com", label63 + ".com"},
	{"name of 253 bytes", name253, name253},
	{"name of 253 bytes and a trailing dot", name253 + ".", name253},
	{"name of 253 bytes, a trailing dot and a port", name253 + ".:65535", name253},
	{"IPv4", "192.0.2.1", "192.0.2.1"},
	{"IPv4 and port", "192.0.2.1:80", "192.0.2.1"},
	{"IPv6 in brackets", "[2001:db8::1]", "2001:db8::1"},
	{"IPv6 in brackets and port", "[2001:db8::1]:443", "2001:db8::1"},
	{"IPv6 in brackets and empty port", "[2001:db8::1]:", "2001:db8::1"},
	{"IPv6 without brackets", "2001:db8::1", "2001:db8::1"},
	{"IPv6 written out", "[2001:DB8:0:0:0:0:0:1]", "2001:db8::1"},
	{"IPv4 mapped to IPv6", "[::FFFF:192.0.2.1]:80", "::ffff:192.0.2.1"},
	{"umlaut", "b\u00fccher.de", "xn--bcher-kva.de"},
	{"umlaut of two characters", "bu\u0308cher.de", "xn--bcher-kva.de"},
	{"upper-case umlaut, port", "B\u00dcCHER.DE:443", "xn--bcher-kva.de"},
	{"sharp s stays one", "fa\u00df.de", "xn--fa-hia.de"},
	{"full-width characters", "\uff45\uff58\uff41\uff4d\uff50\uff4c\uff45\uff0e\uff43\uff4f\uff4d", "example.com"},
	{"full-width digits", "\uff11\uff19\uff12.0.2.1", "192.0.2.1"},
	{"ideographic full stop", "example\u3002com", "example.com"},
	{"ideographic full stop at the end", "b\u00fccher.de\u3002", "xn--bcher-kva.de"},
	{"umlaut and trailing dot", "b\u00fccher.de.", "xn--bcher-kva.de"},
	{"soft hyphen", "exam\u00adple.com", "example.com"},
	{"ASCII form of an umlaut", "XN--Bcher-kva.de", "xn--bcher-kva.de"},
}

var invalidHosts = []struct{ about, host string }{
	{"empty", ""},
	{"port alone", ":80"},
	{"dot alone", "."},
	{"leading dot", ".example.com"},
	{"empty label", "a..example.com"},
	{"two trailing dots", "example.com.."},
	{"two trailing dots and port", "example.com..:80"},
	{"umlaut and two trailing dots", "b\u00fccher.de.."},
	{"umlaut, ideographic and ASCII full stop at the end", "b\u00fccher.de\u3002."},
	{"umlaut, ASCII and ideographic full stop at the end", "b\u00fccher.de.\u3002"},
	{"space alone", " "},
	{"leading space", " example.com"},
	{"trailing space", "example.com "},
	{"space within", "exa mple.com"},
	{"tab", "exa\tmple.com"},
	{"line feed", "example.com\n"},
	{"NUL", "example.com\x00"},
	{"DEL", "example\x7f.com"},
	{"broken UTF-8", "example\xff.com"},
	{"replacement character", "example\ufffd.com"},
	{"star alone", "*"},
	{"wildcard", "*.example.com"},
	{"star within", "a.*.example.com"},
	{"full-width star", "\uff0a.example.com"},
	{"leading hyphen", "-a.example.com"},
	{"leading hyphen in a later label", "a.-example.com"},
	{"trailing hyphen", "a-.example.com"},
	{"trailing hyphen at the end", "example.com-"},
	{"label of 64 bytes", label64 + ".com"},
	{"name of 254 bytes", name254},
	{"name of 254 bytes and a trailing dot", name254 + "."},
	{"umlaut in a label too long as ASCII", strings.Repeat("a", 58) + "\u00fc.com"},
	{"far too long", strings.Repeat("\u00fc.", 2000)},
	{"port of letters", "example.com:http"},
	{"port of digits and a letter", "example.com:80a"},
	{"negative port", "example.com:-1"},
	{"port of six digits", "example.com:000080"},
	{"two ports", "example.com:80:90"},
	{"bracket that is not closed", "[::1"},
	{"bracket that is not opened", "::1]"},
	{"empty brackets", "[]"},
	{"empty brackets and port", "[]:80"},
	{"brackets twice", "[[::1]]"},
	{"no colon before the port", "[::1]80"},
	{"letters after the bracket", "[::1]x"},
	{"port of letters after the bracket", "[::1]:http"},
	{"port of six digits after the bracket", "[::1]:000080"},
	{"IPv6 zone in brackets", "[fe80::1%25eth0]"},
	{"IPv6 zone without brackets", "fe80::1%eth0"},
	{"IPv4 in brackets", "[192.0.2.1]"},
	{"name in brackets", "[example.com]"},
	{"user", "user@example.com"},
	{"scheme", "http://example.com"},
	{"path", "example.com/"},
	{"comma", "a.com,b.com"},
	{"character that maps to a slash", "\u2100.com"},
	{"underscore beside an umlaut", "b\u00fc_cher.de"},
}

func TestValidHostnameHasOneForm(t *testing.T) {
	for _, tt := range validHosts {
		t.Run(tt.about, func(t *testing.T) {
			got, err := snapshot.NormalizeHostname(tt.host)
			require.NoError(t, err)
			assert.Equal(t, tt.want, got)

			again, err := snapshot.NormalizeHostname(got)
			require.NoError(t, err)
			assert.Equal(t, got, again, "normalizing twice changes nothing")
		})
	}
}

func TestMalformedHostnameIsAnErrorAndMatchesNothing(t *testing.T) {
	apps := open(t, app("all", "*.example.com", "*.com", "*.de", "localhost"))
	for _, tt := range invalidHosts {
		t.Run(tt.about, func(t *testing.T) {
			got, err := snapshot.NormalizeHostname(tt.host)
			require.Error(t, err, "normalized to %q", got)
			assert.Empty(t, got)
			assert.Equal(t, "invalid_host", answer(apps, tt.host))
		})
	}
}

func TestHostnameOfRegistryIsNormalizedLikeThatOfRequest(t *testing.T) {
	for _, tt := range validHosts {
		t.Run(tt.about, func(t *testing.T) {
			reg := registry(t, app("shop", tt.host))
			require.NoError(t, reg.Entries()[0].Err)
			assert.Equal(t, []string{tt.want}, reg.Entries()[0].Hostnames)

			apps := build(t, snapshot.NewObjects(start, reg, allPresent(reg)))
			assert.Equal(t, "shop: allowed", answer(apps, tt.host))
			assert.Equal(t, "shop: allowed", answer(apps, tt.want))
		})
	}
}

func TestPatternOfRegistry(t *testing.T) {
	tests := []struct{ pattern, want string }{
		{"*.example.com", "*.example.com"},
		{"*.Example.COM.", "*.example.com"},
		{"*.example.com:443", "*.example.com"},
		{"*.b\u00fccher.de", "*.xn--bcher-kva.de"},
		{"*.com", "*.com"},
		{"*.example.4you", "*.example.4you"},
		{"*." + name253[2:], "*." + name253[2:]},

		{"*", ""},
		{"*.", ""},
		{"*..", ""},
		{"*.*", ""},
		{"*.*.example.com", ""},
		{"a.*.example.com", ""},
		{"a*.example.com", ""},
		{"**.example.com", ""},
		{"*example.com", ""},
		{" *.example.com", ""},
		{"*. example.com", ""},
		{"\uff0a.example.com", ""},
		{"*\u3002example.com", ""},
		{"*." + name253[1:], ""},
		{"*.192.0.2.1", ""},
		{"*.0.2.1", ""},
		{"*.1", ""},
		{"*.[::1]", ""},
		{"*.::1", ""},
	}
	for _, tt := range tests {
		t.Run(tt.pattern, func(t *testing.T) {
			e := registry(t, app("shop", tt.pattern, "kept.example.com")).Entries()[0]
			if tt.want != "" {
				require.NoError(t, e.Err)
				assert.Equal(t, []string{tt.want, "kept.example.com"}, e.Hostnames)
				return
			}
			require.ErrorContains(t, e.Err, "hostnames: ")
			assert.Equal(t, []string{"kept.example.com"}, e.Hostnames)
		})
	}
}

func TestNormalizingASCIIAllocatesOnlyTheResult(t *testing.T) {
	for _, host := range []string{"shop.example.com", "SHOP.example.com.:443", "[2001:db8::1]:443"} {
		allocs := testing.AllocsPerRun(100, func() {
			if _, err := snapshot.NormalizeHostname(host); err != nil {
				t.Error(err)
			}
		})
		assert.LessOrEqual(t, allocs, 1.0, host)
	}
}

func FuzzNormalizeHostname(f *testing.F) {
	for _, tt := range validHosts {
		f.Add(tt.host)
	}
	for _, tt := range invalidHosts {
		f.Add(tt.host)
	}
	many := open(f,
		app("exact", "shop.example.com", "192.0.2.1", "::1", "xn--bcher-kva.de", "com"),
		app("wild", "*.example.com", "*.com", "*.de", "*.a"))

	f.Fuzz(func(t *testing.T, host string) {
		name, err := snapshot.NormalizeHostname(host)
		if err != nil {
			require.Equal(t, "invalid_host", answer(many, host))
			return
		}
		require.NotEmpty(t, name)
		require.LessOrEqual(t, len(name), 253)
		again, err := snapshot.NormalizeHostname(name)
		require.NoError(t, err)
		require.Equal(t, name, again, "normalizing twice changes nothing")
		require.Equal(t, answer(many, name), answer(many, host), "lookup of %q and of %q", host, name)
		require.NotEqual(t, "invalid_host", answer(many, host))

		own := open(t, app("own", host))
		require.Equal(t, "own: allowed", answer(own, host))
		require.Equal(t, "own: allowed", answer(own, name))
	})
}
