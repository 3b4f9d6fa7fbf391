package snapshot_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/authz-bridge/authz-bridge/snapshot"
	"github.com/authz-bridge/authz-bridge/snapshot/credential"
)

func decider(now time.Time) snapshot.Decider {
	return snapshot.Decider{
		Apps: snapshot.NewSlot(0),
		Now:  func() time.Time { return now },

		Hasher: credential.NewHasher(1),
	}
}

// decisions are an example of each reason.
var decisions = []struct {
	about   string
	host    string
	reason  snapshot.Reason
	app     string
	outcome snapshot.Outcome
}{
	{"host that is malformed", "sh op.example.com", snapshot.ReasonInvalidHost, "", snapshot.Deny},
	{"host of no App", "other.example.com", snapshot.ReasonUnknownHost, "", snapshot.Deny},
	{"host of two Apps", "shared.example.com", snapshot.ReasonHostConflict, "", snapshot.Unavailable},
	{"App that is invalid", "invalid.example.com", snapshot.ReasonAppInvalid, "invalid", snapshot.Unavailable},
	{"App that is invalid and expired", "both.example.com", snapshot.ReasonAppInvalid, "both", snapshot.Unavailable},
	{"App that was expired at the build", "expired.example.com", snapshot.ReasonAppExpired, "expired", snapshot.Deny},
	{"App that expired since the build", "expiring.example.com", snapshot.ReasonAppExpired, "expiring", snapshot.Deny},
	{"App that expired since, its Secret gone", "expiring-absent.example.com", snapshot.ReasonAppExpired, "expiring-absent", snapshot.Deny},
	{"App that expires later", "later.example.com", snapshot.ReasonAllowed, "later", snapshot.Allow},
	{"App for other addresses", "walled.example.com", snapshot.ReasonAddressDenied, "walled", snapshot.Deny},
	{"Secret not answered for", "pending.example.com", snapshot.ReasonPending, "pending", snapshot.Unavailable},
	{"Secret absent", "absent.example.com", snapshot.ReasonSecretAbsent, "absent", snapshot.Unavailable},
	{"Secret forbidden", "forbidden.example.com", snapshot.ReasonSecretForbidden, "forbidden", snapshot.Unavailable},
	{"Secret without the key", "key.example.com", snapshot.ReasonSecretKeyAbsent, "key", snapshot.Unavailable},
	{"Secret with an empty value", "empty.example.com", snapshot.ReasonSecretInvalid, "empty", snapshot.Unavailable},
	{"App in order", "open.example.com", snapshot.ReasonAllowed, "open", snapshot.Allow},
}

// exampleOf builds what decisions are made from.
func exampleOf(t testing.TB) *snapshot.Snapshot {
	one := func(name string) entry { return app(name, name+".example.com") }
	at := func(d time.Duration) string { return start.Add(d).Format(time.RFC3339) }
	reg := registry(t,
		app("shared-1", "shared.example.com"), app("shared-2", "shared.example.com"),
		one("invalid").with("quota", 1),
		one("both").with("quota", 1).with("expiresAt", at(-time.Hour)),
		one("expired").with("expiresAt", at(-time.Hour)),
		one("expiring").with("expiresAt", at(time.Hour)),
		one("expiring-absent").with("expiresAt", at(time.Hour)),
		one("later").with("expiresAt", at(48*time.Hour)),
		one("walled").with("allowCIDRs", []string{"10.0.0.0/8"}),
		one("pending"), one("absent"), one("forbidden"), one("key"), one("empty"), one("open"),
	)
	states := allPresent(reg)
	key := func(name string) snapshot.Key { return snapshot.Key{Namespace: "shop", Name: name} }
	delete(states, key("pending"))
	states[key("absent")] = snapshot.Absent()
	states[key("expiring-absent")] = snapshot.Absent()
	states[key("forbidden")] = snapshot.Forbidden("outside the scope")
	states[key("key")] = snapshot.Present(secret(key("key"), "1", map[string]string{"other": "value"}))
	states[key("empty")] = snapshot.Present(secret(key("empty"), "1", map[string]string{"token": ""}))
	return publish(build(t, snapshot.NewObjects(start, reg, states)))
}

func TestDecide(t *testing.T) {
	s := exampleOf(t)
	d := decider(start.Add(2 * time.Hour))
	seen := map[snapshot.Reason]bool{snapshot.ReasonUnsynced: true, snapshot.ReasonStale: true}
	for _, tt := range decisions {
		t.Run(tt.about, func(t *testing.T) {
			got := d.Decide(s, snapshot.Request{Host: tt.host})
			assert.Equal(t, tt.reason.String(), got.Reason.String())
			assert.Equal(t, tt.outcome, got.Outcome())
			assert.Equal(t, tt.app, got.AppName())
			assert.Equal(t, tt.app == "", got.App == nil)
		})
		seen[tt.reason] = true
	}
	for _, r := range snapshot.Reasons() {
		assert.True(t, seen[r] || r >= snapshot.ReasonCredentialsMissing, "no example of %s (credentials have tests of their own)", r)
	}
}

func TestAHostThatWasFoundBeforeIsDecidedAlike(t *testing.T) {
	s := exampleOf(t)
	d := decider(start.Add(2 * time.Hour))
	for _, tt := range decisions {
		found := d.Find(s, tt.host)
		for _, required := range []bool{false, true} {
			want := d.Decide(s, snapshot.Request{Host: tt.host, RequireCredentials: required})
			assert.Equal(t, want, d.DecideAt(found, snapshot.Request{Host: "open.example.com", RequireCredentials: required}), tt.about)
		}
		if tt.reason.OfRequest() {
			assert.Equal(t, snapshot.ReasonAllowed, d.ReasonNow(found), "nothing of a request is looked at: %s", tt.about)
			continue
		}
		assert.Equal(t, tt.reason.String(), d.ReasonNow(found).String(), tt.about)
	}
	assert.Equal(t, snapshot.Standing{Reason: snapshot.ReasonStale}, d.Find(s.As(2, true), "open.example.com"))
	assert.Equal(t, snapshot.Standing{}, d.Find(nil, "open.example.com"))
	assert.Equal(t, snapshot.ReasonUnsynced, d.ReasonNow(snapshot.Standing{}))
}

func TestAStaleSnapshotOpensNothing(t *testing.T) {
	s := exampleOf(t)
	d := decider(start.Add(2 * time.Hour))
	stale := s.As(2, true)
	for _, tt := range decisions {
		assert.Equal(t, snapshot.Decision{Reason: snapshot.ReasonStale}, d.Decide(stale, snapshot.Request{Host: tt.host}), tt.host)
	}
	again := stale.As(3, false)
	assert.Equal(t, snapshot.ReasonAllowed, d.Decide(again, snapshot.Request{Host: "open.example.com"}).Reason)
	assert.Equal(t, uint64(3), again.Generation())
	assert.False(t, s.Stale(), "the one before stays as it was")
}

func TestDecideWithoutAViewIsUnsynced(t *testing.T) {
	for about, s := range map[string]*snapshot.Snapshot{
		"nil Snapshot":         nil,
		"Snapshot of no Views": snapshot.NewSnapshot(1, start, snapshot.Live, nil),
		"View not built yet":   publish(nil),
		"View of another type": publish("apps"),
	} {
		t.Run(about, func(t *testing.T) {
			got := decider(start).Decide(s, snapshot.Request{Host: "shop.example.com"})
			assert.Equal(t, snapshot.Decision{Reason: snapshot.ReasonUnsynced}, got)
			assert.Equal(t, snapshot.Unavailable, got.Outcome())
		})
	}
	t.Run("zero Slot", func(t *testing.T) {
		d := snapshot.Decider{Now: time.Now}
		assert.Equal(t, snapshot.ReasonUnsynced, d.Decide(exampleOf(t), snapshot.Request{Host: "open.example.com"}).Reason)
	})
}

func TestZeroDecisionOpensNothing(t *testing.T) {
	var d snapshot.Decision
	assert.Equal(t, snapshot.Unavailable, d.Outcome())
	assert.Equal(t, 503, d.Reason.Status())
	assert.Empty(t, d.AppName())
}

func TestExpiryIsEnforcedBetweenBuilds(t *testing.T) {
	at := start.Add(time.Hour)
	s := publish(open(t, shop.with("expiresAt", at.Format(time.RFC3339))))
	for _, tt := range []struct {
		now  time.Time
		want snapshot.Reason
	}{
		{start, snapshot.ReasonAllowed},
		{at.Add(-1), snapshot.ReasonAllowed},
		{at, snapshot.ReasonAppExpired},
		{at.Add(1), snapshot.ReasonAppExpired},
		{start, snapshot.ReasonAllowed},
	} {
		got := decider(tt.now).Decide(s, snapshot.Request{Host: "shop.example.com"})
		assert.Equal(t, tt.want, got.Reason, tt.now)
	}
}

func TestClockIsReadOnlyForAnAppThatExpires(t *testing.T) {
	d := snapshot.Decider{Apps: snapshot.NewSlot(0)} // calling its Now panics
	s := exampleOf(t)
	for _, host := range []string{"open.example.com", "absent.example.com", "other.example.com", "both.example.com", ""} {
		assert.NotPanics(t, func() { d.Decide(s, snapshot.Request{Host: host}) }, host)
	}
}

func TestDecidingDoesNotAllocate(t *testing.T) {
	s := exampleOf(t)
	d := decider(start.Add(2 * time.Hour))
	wild := publish(open(t, app("wild", "*.example.com", "2001:db8::1")))
	hosts := []string{
		"", "*.example.com", "a.b.example.com", "OPEN.example.com", "open.example.com.:443",
		"[2001:db8::1]:443", "2001:db8::1", "192.0.2.1:80", name253 + ".:65535", name254,
	}
	for _, tt := range decisions {
		hosts = append(hosts, tt.host)
	}
	for _, host := range hosts {
		allocs := testing.AllocsPerRun(100, func() {
			d.Decide(s, snapshot.Request{Host: host})
			d.Decide(wild, snapshot.Request{Host: host})
		})
		assert.Zero(t, allocs, host)
	}
}
