package snapshot_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

// buildUpstreams builds both Views that a request to an App behind needs.
func buildUpstreams(t testing.TB, b *snapshot.UpstreamsBuilder, reg *snapshot.Registry) (*snapshot.Apps, *snapshot.Upstreams) {
	t.Helper()
	o := snapshot.NewObjects(start, reg, allPresent(reg))
	view, err := b.Build(o)
	require.NoError(t, err)
	require.IsType(t, (*snapshot.Upstreams)(nil), view)
	return build(t, o), view.(*snapshot.Upstreams)
}

func upstreamsOf(t testing.TB, entries ...entry) *snapshot.AppUpstreams {
	t.Helper()
	apps, view := buildUpstreams(t, snapshot.NewUpstreamsBuilder(), registry(t, entries...))
	return view.Of(apps.At(0))
}

func TestUpstreamsAreAddressesInOneForm(t *testing.T) {
	for written, want := range map[string]string{
		"shop.shop.svc:8080":            "shop.shop.svc:8080",
		"SHOP.Shop.SVC:08080":           "shop.shop.svc:8080",
		"shop.shop.svc.cluster.local.:": "",
		"shop.svc.cluster.local.:80":    "shop.svc.cluster.local.:80",
		"shop:65535":                    "shop:65535",
		"bücher.example:80":             "xn--bcher-kva.example:80",
		"10.1.2.3:80":                   "10.1.2.3:80",
		"[2001:DB8::1]:80":              "[2001:db8::1]:80",
		"[::ffff:10.1.2.3]:80":          "[::ffff:10.1.2.3]:80",
		"2001:db8::1:80":                "",
		"[2001:db8::1]":                 "",
		"[fe80::1%eth0]:80":             "",
		"[10.1.2.3]:80":                 "",
		"shop":                          "",
		"shop:":                         "",
		"shop:http":                     "",
		"shop:0":                        "",
		"shop:65536":                    "",
		"shop:-1":                       "",
		"shop:+80":                      "",
		"shop:80-90":                    "",
		"shop:80:80":                    "",
		":80":                           "",
		"":                              "",
		" shop:80":                      "",
		"shop:80 ":                      "",
		"shop..svc:80":                  "",
		"*.shop:80":                     "",
		"http://shop:80":                "",
		"h2c://shop:80":                 "",
		"shop:80/path":                  "",
		"unix//run/shop.sock":           "",
		"tcp4/shop:80":                  "",
		"{env.HOME}:80":                 "",
		"{http.request.host}:80":        "",
		"user@shop:80":                  "",
		"shop\n:80":                     "",
	} {
		got := upstreamsOf(t, shop.with("upstreams", []string{written}))
		require.NotNil(t, got, written)
		if want != "" {
			assert.NoError(t, got.Err, written)
			assert.Equal(t, []string{want}, got.Addresses, written)
			continue
		}
		assert.ErrorContains(t, got.Err, "upstreams[0]: ", written)
		assert.ErrorContains(t, got.Err, "write host:port", written)
		assert.Empty(t, got.Addresses, written)
	}
}

func TestUpstreamsStayInTheOrderOfTheRegistry(t *testing.T) {
	got := upstreamsOf(t, shop.with("upstreams", []string{"b:80", "a:80", "a:81"}))
	assert.Equal(t, []string{"b:80", "a:80", "a:81"}, got.Addresses)
	assert.Nil(t, upstreamsOf(t, shop), "none are listed")
}

// What is wrong with where an App is closes nothing, and opens nothing.
func TestWrongUpstreamsDoNotTouchTheApp(t *testing.T) {
	many := make([]string, 65)
	for i := range many {
		many[i] = fmt.Sprintf("shop-%d:80", i)
	}
	for about, c := range map[string]struct {
		written any
		says    string
	}{
		"null":        {nil, "upstreams: null is no list; write it as in [shop.shop.svc:8080], or leave the field out"},
		"empty":       {[]string{}, "upstreams: [] is no list"},
		"a string":    {"shop:80", `upstreams: "shop:80" is no list`},
		"a mapping":   {entry{"shop": 80}, "is no list"},
		"numbers":     {[]int{80}, "upstreams: [80] is no list"},
		"an empty":    {[]any{"shop:80", nil}, `upstreams[1]: "" has no port`},
		"one of two":  {[]string{"shop:80", "shop"}, `upstreams[1]: "shop" has no port`},
		"a repeat":    {[]string{"shop:80", "SHOP:080"}, `upstreams[1]: "SHOP:080" is listed before; remove it`},
		"too many":    {many, "upstreams: has more than 64 items"},
		"a long line": {[]string{strings.Repeat("a", 9999)}, `upstreams[0]: "aaaa`},
	} {
		reg := registry(t, shop.with("upstreams", c.written), app("blog", "blog.example.com").with("upstreams", []string{"blog:80"}))
		apps, view := buildUpstreams(t, snapshot.NewUpstreamsBuilder(), reg)
		assert.Equal(t, "shop: allowed", answer(apps, "shop.example.com"), about)
		got := view.Of(apps.At(0))
		require.NotNil(t, got, about)
		assert.ErrorContains(t, got.Err, c.says, about)
		assert.Less(t, len(got.Err.Error()), 300, about)
		assert.Empty(t, got.Addresses, about)
		assert.Equal(t, []string{"blog:80"}, view.Of(apps.At(1)).Addresses, "of another App")
	}
}

func TestUpstreamsAreSharedAsLongAsTheyAreTheSame(t *testing.T) {
	b := snapshot.NewUpstreamsBuilder()
	blog := app("blog", "blog.example.com").with("upstreams", []string{"blog:80"})
	at := func(address string) entry { return shop.with("upstreams", []string{address}) }
	apps, first := buildUpstreams(t, b, registry(t, at("shop:80"), blog))
	_, same := buildUpstreams(t, b, registry(t, at("shop:80").with("secretReady", true), blog))
	assert.Same(t, first, same)

	later, other := buildUpstreams(t, b, registry(t, at("shop:81"), blog))
	assert.NotSame(t, first, other)
	assert.Equal(t, []string{"shop:81"}, other.Of(later.At(0)).Addresses)
	assert.Nil(t, other.Of(apps.At(0)), "an App of before is not there: its policy may be another")
	assert.Same(t, first.Of(apps.At(1)), other.Of(later.At(1)))
	assert.Equal(t, []string{"shop:80"}, first.Of(apps.At(0)).Addresses, "of the generation before")

	reg := registry(t, shop)
	o := snapshot.NewObjects(start, reg, allPresent(reg))
	o.Changes = snapshot.Changes{Secrets: map[snapshot.Key]struct{}{}}
	view, err := b.Build(o)
	require.NoError(t, err)
	assert.Same(t, other, view, "only the Registry has them")
	_, none := buildUpstreams(t, b, reg)
	assert.Nil(t, none.Of(apps.At(0)))
}

// The Views of one Snapshot differ in age while the Builder of one fails.
func TestUpstreamsBelongToTheAppOfTheirName(t *testing.T) {
	_, view := buildUpstreams(t, snapshot.NewUpstreamsBuilder(), registry(t, shop.with("upstreams", []string{"shop:80"})))
	older := open(t, app("blog", "blog.example.com"), shop)
	assert.Nil(t, view.Of(older.At(0)))
	assert.Nil(t, view.Of(older.At(1)))
	assert.Nil(t, view.Of(nil))
	assert.Nil(t, (*snapshot.Upstreams)(nil).Of(older.At(0)))
}

func FuzzUpstreams(f *testing.F) {
	for _, text := range []string{`["shop:80"]`, `["[::1]:80", "a.:1"]`, `null`, `{}`, `["{env.X}:80"]`, `["shop:80-90"]`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		reg, err := parseText("registry.json", `{"version":1,"apps":[{"name":"shop","hostnames":["shop.example.com"],"secretRef":{"name":"shop"},"upstreams":`+text+`}]}`)
		if err != nil || len(reg.Entries()) != 1 {
			return
		}
		_, view := buildUpstreams(t, snapshot.NewUpstreamsBuilder(), reg)
		got := view.Of(&snapshot.App{Entry: reg.Entries()[0]})
		if got == nil {
			return
		}
		require.Equal(t, got.Err == nil, len(got.Addresses) > 0)
		for _, address := range got.Addresses {
			require.Regexp(t, `^([a-z0-9_.-]+|\[[0-9a-f:.]+\]):[1-9][0-9]{0,4}$`, address)
			again := upstreamsOf(t, shop.with("upstreams", []string{address}))
			require.NoError(t, again.Err)
			require.Equal(t, []string{address}, again.Addresses)
		}
	})
}
