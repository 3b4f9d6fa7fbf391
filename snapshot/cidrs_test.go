package snapshot_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

// from is a Caller with an address that somebody vouches for, unless it is empty.
type from string

func (f from) Addr() (netip.Addr, bool) {
	addr, err := netip.ParseAddr(string(f))
	return addr, err == nil
}

func (f from) Gone() <-chan struct{} { return nil }

func decideFrom(apps *snapshot.Apps, caller snapshot.Caller) string {
	return decider(start).Decide(publish(apps), snapshot.Request{Host: "shop.example.com", Caller: caller}).Reason.String()
}

func TestAllowCIDRsAdmitsTheAddressesThatItLists(t *testing.T) {
	apps := open(t, shop.with("allowCIDRs", []string{"10.0.0.0/8", "192.0.2.7", "2001:db8::/32", "fe80::1"}))
	for address, want := range map[string]string{
		"10.0.0.0":        "allowed",
		"10.255.255.255":  "allowed",
		"11.0.0.0":        "address_denied",
		"192.0.2.7":       "allowed",
		"192.0.2.8":       "address_denied",
		"2001:db8:1::1":   "allowed",
		"2001:db9::1":     "address_denied",
		"::ffff:10.1.2.3": "allowed",
		"::ffff:11.1.2.3": "address_denied",
		"fe80::1%eth0":    "allowed",
		"":                "address_denied",
	} {
		assert.Equal(t, want, decideFrom(apps, from(address)), address)
	}
	assert.Equal(t, "address_denied", decideFrom(apps, nil), "nobody says who asks")
	assert.Equal(t, "allowed", decideFrom(open(t, shop), nil), "an App without allowCIDRs does not ask")
}

func TestAllowCIDRsIsCheckedAfterExpiryAndBeforeTheSecret(t *testing.T) {
	entry := shop.with("allowCIDRs", []string{"10.0.0.0/8"})
	absent := build(t, snapshot.NewObjects(start, registry(t, entry), map[snapshot.Key]snapshot.SecretState{
		{Namespace: "shop", Name: "shop"}: snapshot.Absent(),
	}))
	assert.Equal(t, "address_denied", decideFrom(absent, from("11.0.0.1")))
	assert.NotEqual(t, "address_denied", decideFrom(absent, from("10.0.0.1")))

	expired := open(t, entry.with("expiresAt", "2001-01-01T00:00:00Z"))
	assert.Equal(t, "app_expired", decideFrom(expired, from("11.0.0.1")))
	invalid := open(t, entry.with("strange", true))
	assert.Equal(t, "app_invalid", decideFrom(invalid, from("11.0.0.1")))
}

func TestAllowCIDRsThatIsWrongDeniesTheApp(t *testing.T) {
	for about, c := range map[string]struct {
		written any
		want    string
	}{
		"null":           {nil, "allowCIDRs: null is no list"},
		"empty":          {[]string{}, "allowCIDRs: [] is no list"},
		"a string":       {"10.0.0.0/8", `allowCIDRs: "10.0.0.0/8" is no list`},
		"a number in it": {[]any{"10.0.0.0/8", 7}, `allowCIDRs: ["10.0.0.0/8",7] is no list`},
		"null in it":     {[]any{"10.0.0.0/8", nil}, `allowCIDRs: "" is no range`},
		"no address":     {[]string{"intranet"}, `allowCIDRs: "intranet" is no range of addresses; write it as in 10.0.0.0/8`},
		"length":         {[]string{"10.0.0.0/33"}, `allowCIDRs: "10.0.0.0/33" is no range`},
		"zone":           {[]string{"fe80::1%eth0"}, `allowCIDRs: "fe80::1%eth0" is no range`},
		"bits beyond":    {[]string{"10.1.2.3/8"}, `allowCIDRs: "10.1.2.3/8" has bits set beyond its length; write 10.0.0.0/8 if that is meant`},
		"IPv4 as IPv6":   {[]string{"::ffff:10.0.0.0/104"}, `write the IPv4 range`},
	} {
		t.Run(about, func(t *testing.T) {
			reg := registry(t, shop.with("allowCIDRs", c.written), app("blog", "blog.example.com"))
			require.ErrorContains(t, reg.Entries()[0].Err, c.want)
			require.NoError(t, reg.Entries()[1].Err)
			apps := build(t, snapshot.NewObjects(start, reg, allPresent(reg)))
			assert.Equal(t, "app_invalid", decideFrom(apps, from("10.0.0.1")))
		})
	}
}

func TestOtherAllowCIDRsAreAnotherApp(t *testing.T) {
	b := snapshot.NewAppsBuilder()
	wide := registry(t, shop.with("allowCIDRs", []string{"10.0.0.0/8"}))
	before := buildWith(t, b, snapshot.NewObjects(start, wide, allPresent(wide)))
	narrow := registry(t, shop.with("allowCIDRs", []string{"10.1.0.0/16"}))
	after := buildWith(t, b, snapshot.NewObjects(start, narrow, allPresent(narrow)))
	assert.NotSame(t, before, after)
	assert.Equal(t, "allowed", decideFrom(before, from("10.2.0.1")))
	assert.Equal(t, "address_denied", decideFrom(after, from("10.2.0.1")))
}
