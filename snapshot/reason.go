package snapshot

// Outcome is what a Decision does with the request.
type Outcome uint8

// The outcomes.
const (
	// Unavailable: nobody can tell; the client may try again. The zero value, so
	// that a Decision that nobody made opens nothing.
	Unavailable Outcome = iota
	// Deny: the request is refused.
	Deny
	// Allow: the request goes on to the next handler.
	Allow
)

var outcomeNames = [...]string{Unavailable: "unavailable", Deny: "deny", Allow: "allow"}

// String returns the outcome's name in lower case.
func (o Outcome) String() string { return outcomeNames[o] }

// Reason says why a Decision is as it is. The set is closed, so a Reason can
// label a metric.
type Reason uint8

// The reasons, in the order in which they are checked, the allowing ones last.
const (
	// ReasonUnsynced: there has been no Snapshot yet.
	ReasonUnsynced Reason = iota
	// ReasonStale: what is known is older than max_age.
	ReasonStale
	// ReasonInvalidHost: the Host of the request is empty or malformed.
	ReasonInvalidHost
	// ReasonUnknownHost: no App has the hostname.
	ReasonUnknownHost
	// ReasonHostConflict: two Apps claim the hostname.
	ReasonHostConflict
	// ReasonAppInvalid: the App's entry in the Registry is wrong.
	ReasonAppInvalid
	// ReasonAppExpired: the App's expiresAt has passed.
	ReasonAppExpired
	// ReasonAddressDenied: the client's address is in none of the App's allowCIDRs.
	ReasonAddressDenied
	// ReasonPending: the Source has not yet answered for the App's Secret.
	ReasonPending
	// ReasonSecretAbsent: the App's Secret is not there.
	ReasonSecretAbsent
	// ReasonSecretForbidden: the App's Secret may not be read, or is outside the
	// scope of the Source.
	ReasonSecretForbidden
	// ReasonSecretKeyAbsent: the App's Secret has not the data key.
	ReasonSecretKeyAbsent
	// ReasonSecretInvalid: the bytes are there but of no use.
	ReasonSecretInvalid
	// ReasonCredentialsMissing: the caller presents nothing.
	ReasonCredentialsMissing
	// ReasonCredentialsInvalid: what the caller presents is not what the App's
	// Secret says, or not one thing.
	ReasonCredentialsInvalid
	// ReasonCredentialsExpired: what the caller presents is valid at another time.
	ReasonCredentialsExpired
	// ReasonClaimsDenied: the caller has proved itself, by a token whose claims are not
	// those that the App asks for.
	ReasonClaimsDenied
	// ReasonOverloaded: too many passwords are being looked at.
	ReasonOverloaded
	// ReasonPreflight: a CORS preflight request, which the App lets pass.
	ReasonPreflight
	// ReasonPublic: the path asks for no credentials.
	ReasonPublic
	// ReasonAllowed: the App is open by hostname, or the caller has proved itself.
	ReasonAllowed

	reasonCount
)

// ReasonCount is the number of reasons; every Reason is below it.
const ReasonCount = int(reasonCount)

// reasons is the one place where names, outcomes and statuses are chosen.
var reasons = [ReasonCount]struct {
	name    string
	outcome Outcome
	status  int // HTTP, RFC 9110 section 15; 0 where the next handler answers
}{
	ReasonUnsynced:           {"unsynced", Unavailable, 503},
	ReasonStale:              {"stale", Unavailable, 503},
	ReasonInvalidHost:        {"invalid_host", Deny, 400},
	ReasonUnknownHost:        {"unknown_host", Deny, 403},
	ReasonHostConflict:       {"host_conflict", Unavailable, 503},
	ReasonAppInvalid:         {"app_invalid", Unavailable, 503},
	ReasonAppExpired:         {"app_expired", Deny, 403},
	ReasonAddressDenied:      {"address_denied", Deny, 403},
	ReasonPending:            {"pending", Unavailable, 503},
	ReasonSecretAbsent:       {"secret_absent", Unavailable, 503},
	ReasonSecretForbidden:    {"secret_forbidden", Unavailable, 503},
	ReasonSecretKeyAbsent:    {"secret_key_absent", Unavailable, 503},
	ReasonSecretInvalid:      {"secret_invalid", Unavailable, 503},
	ReasonCredentialsMissing: {"credentials_missing", Deny, 401},
	ReasonCredentialsInvalid: {"credentials_invalid", Deny, 401},
	ReasonCredentialsExpired: {"credentials_expired", Deny, 401},
	ReasonClaimsDenied:       {"claims_denied", Deny, 403},
	ReasonOverloaded:         {"overloaded", Unavailable, 503},
	ReasonPreflight:          {"preflight", Allow, 0},
	ReasonPublic:             {"public", Allow, 0},
	ReasonAllowed:            {"allowed", Allow, 0},
}

// String returns the reason as logs, metrics and placeholders show it.
func (r Reason) String() string { return reasons[r].name }

// OfRequest reports whether the reason depends on more of a request than its host.
func (r Reason) OfRequest() bool {
	switch r {
	case ReasonAddressDenied, ReasonCredentialsMissing, ReasonCredentialsInvalid, ReasonCredentialsExpired,
		ReasonClaimsDenied, ReasonOverloaded, ReasonPreflight, ReasonPublic:
		return true
	}
	return false
}

// Outcome returns what is done with a request for this reason.
func (r Reason) Outcome() Outcome { return reasons[r].outcome }

// Status returns the HTTP status, or 0 where the next handler answers.
func (r Reason) Status() int { return reasons[r].status }

// RetryAfter is what goes with status 503, in seconds. It is the same for all
// reasons: clients are told no more than the status.
const RetryAfter = 5

// Reasons returns all reasons in the order in which they are checked.
func Reasons() []Reason {
	all := make([]Reason, ReasonCount)
	for i := range all {
		all[i] = Reason(i)
	}
	return all
}
