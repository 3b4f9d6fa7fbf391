package snapshot_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

func TestReasonsAreThoseOfTheSpecificationInTheOrderOfTheChecks(t *testing.T) {
	want := []struct {
		name, outcome string
		status        int
	}{
		{"unsynced", "unavailable", 503},
		{"stale", "unavailable", 503},
		{"invalid_host", "deny", 400},
		{"unknown_host", "deny", 403},
		{"host_conflict", "unavailable", 503},
		{"app_invalid", "unavailable", 503},
		{"app_expired", "deny", 403},
		{"address_denied", "deny", 403},
		{"pending", "unavailable", 503},
		{"secret_absent", "unavailable", 503},
		{"secret_forbidden", "unavailable", 503},
		{"secret_key_absent", "unavailable", 503},
		{"secret_invalid", "unavailable", 503},
		{"credentials_missing", "deny", 401},
		{"credentials_invalid", "deny", 401},
		{"credentials_expired", "deny", 401},
		{"claims_denied", "deny", 403},
		{"overloaded", "unavailable", 503},
		{"preflight", "allow", 0},
		{"public", "allow", 0},
		{"allowed", "allow", 0},
	}
	all := snapshot.Reasons()
	require.Len(t, all, len(want))
	require.Len(t, all, snapshot.ReasonCount)
	for i, r := range all {
		assert.Equal(t, snapshot.Reason(i), r)
		assert.Equal(t, want[i].name, r.String())
		assert.Equal(t, want[i].outcome, r.Outcome().String(), r.String())
		assert.Equal(t, want[i].status, r.Status(), r.String())
	}
}

// What must hold for reasons that are still to come as well.
func TestEveryReasonIsComplete(t *testing.T) {
	name := regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)
	seen := make(map[string]bool)
	for _, r := range snapshot.Reasons() {
		assert.Regexp(t, name, r.String())
		assert.False(t, seen[r.String()], "%s is there twice", r)
		seen[r.String()] = true

		switch r.Outcome() {
		case snapshot.Allow:
			assert.Zero(t, r.Status(), r.String())
		case snapshot.Deny:
			assert.Contains(t, []int{400, 401, 403}, r.Status(), r.String())
		case snapshot.Unavailable:
			assert.Equal(t, 503, r.Status(), r.String())
		default:
			t.Errorf("%s has no outcome", r)
		}
	}
}

func TestZeroValuesOpenNothing(t *testing.T) {
	var outcome snapshot.Outcome
	var reason snapshot.Reason
	assert.Equal(t, snapshot.Unavailable, outcome)
	assert.Equal(t, snapshot.ReasonUnsynced, reason)
}
