package authzbridge

import (
	"fmt"
	"strings"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

// advice is what an operator is told of a reason.
type advice struct {
	// step is the check that gives the reason.
	step string
	// remedy is what to do, where nothing is known but the reason.
	remedy string
}

// advices are in the order in which the checks are made.
var advices = [snapshot.ReasonCount]advice{
	snapshot.ReasonUnsynced:      {"is there a snapshot", "wait, or see /authz_bridge/status for why nothing can be read; requests wait 2 s for it"},
	snapshot.ReasonStale:         {"is the snapshot younger than max_age", "let the source be reached again; /authz_bridge/status names what is too old. All opens by itself then"},
	snapshot.ReasonInvalidHost:   {"is the host a hostname", "send a DNS name or an IP address as Host"},
	snapshot.ReasonUnknownHost:   {"has an App the hostname", "add the hostname to an App; or let `unknown` of the directive say what hosts of no App get"},
	snapshot.ReasonHostConflict:  {"has one App alone the hostname", "remove the hostname from all Apps but one"},
	snapshot.ReasonAppInvalid:    {"is the App's entry right", "correct the entry in the Registry"},
	snapshot.ReasonAppExpired:    {"has the App not expired", "set a later expiresAt, or remove the App"},
	snapshot.ReasonAddressDenied: {"is the client's address in allowCIDRs", "add the client's address to allowCIDRs; behind trusted_proxies set trusted_proxies_strict too"},

	snapshot.ReasonPending:         {"can the App's Secret be used", "wait; if it stays, see /authz_bridge/status for what cannot be read"},
	snapshot.ReasonSecretAbsent:    {"can the App's Secret be used", "create the Secret, or correct secretRef"},
	snapshot.ReasonSecretForbidden: {"can the App's Secret be used", "let the bridge read the Secret, or bring it into the scope; `caddy authz-bridge rbac` prints the Roles for scope referenced"},
	snapshot.ReasonSecretKeyAbsent: {"can the App's Secret be used", "add the key to the Secret, or name another one"},
	snapshot.ReasonSecretInvalid:   {"can the App's Secret be used", "correct the value in the Secret, or name its key and format"},

	snapshot.ReasonCredentialsMissing: {"are the credentials right", "nothing is wrong with the App: the caller must present a credential at one of the places of anyOf"},
	snapshot.ReasonCredentialsInvalid: {"are the credentials right", "present what the App's Secret says, once"},
	snapshot.ReasonCredentialsExpired: {"are the credentials right", "renew the key or the token, or set the clocks"},
	snapshot.ReasonClaimsDenied:       {"are the token's claims those asked for", "ask the issuer for the claims, or change claims of the App"},
	snapshot.ReasonOverloaded:         {"are the credentials right", "wait; if it stays, look for a flood of passwords in authz_bridge_decisions_total"},

	snapshot.ReasonPreflight: {"is it a preflight that passes", "nothing: preflight is pass"},
	snapshot.ReasonPublic:    {"is the path public", "nothing: the path asks for no credentials"},
	snapshot.ReasonAllowed:   {"none: every check was passed", "nothing: the App is open by its hostname alone"},
}

// adviseOn says what is known of this very request.
func (b *bridge) adviseOn(out *Explanation, s *snapshot.Snapshot, d snapshot.Decision) {
	switch d.Reason {
	case snapshot.ReasonUnsynced, snapshot.ReasonStale:
		_, reasons := b.mirror.Ready()
		out.Detail = strings.Join(reasons, "; ")
	case snapshot.ReasonUnknownHost:
		b.adviseOnUnknown(out, s)
	case snapshot.ReasonHostConflict:
		apps, _ := snapshot.ViewAt[*snapshot.Apps](s, b.decider.Apps)
		claimants := strings.Join(apps.Claimants(out.Hostname), ", ")
		out.Detail = fmt.Sprintf("hostname %s: claimed by %s", out.Hostname, claimants)
	case snapshot.ReasonAddressDenied:
		out.Detail = addressInWords(out.ClientIP, d.App)
		if out.ClientIP == "" {
			out.Remedy = "say which address the client has (client_ip, or --client-ip)"
		}
	case snapshot.ReasonAppExpired:
		// The build may be older than the expiry.
		out.Detail = "expired at " + d.App.ExpiresAt.UTC().Format("2006-01-02T15:04:05Z07:00")
	case snapshot.ReasonAppInvalid:
		adviseOnInvalid(out, d.App)
	default:
		if d.App != nil && d.App.Reason == d.Reason {
			out.Detail = d.App.Detail
		}
	}
}

// adviseOnInvalid tells an entry that is wrong from one that is not for this use of it.
// What else is wrong with the App, such as its Secret, is not the cause.
func adviseOnInvalid(out *Explanation, app *snapshot.App) {
	switch {
	case app.Reason == snapshot.ReasonAppInvalid:
		out.Detail = app.Detail
	case out.RequireCredentials && len(app.AnyOf) == 0:
		out.Detail = "the directive has require_credentials, and the App has no anyOf"
		out.Remedy = "write anyOf in the App, or take require_credentials from the directive"
	default:
		out.Detail = "the App has inject, and authz_bridge_verify cannot change the request of another proxy"
		out.Remedy = "take inject from the App, or serve it by authz_bridge"
	}
}

// adviseOnUpstreams tells of a request that is let through, and that `dynamic
// authz_bridge` has no address for.
func adviseOnUpstreams(out *Explanation) {
	if out.Status != 0 || out.App == nil || out.App.UpstreamsError == "" {
		return
	}
	out.Detail = out.App.UpstreamsError
	out.Remedy = "where the site has `dynamic authz_bridge`, correct upstreams of the App: reverse_proxy answers 503 until then"
}

func (b *bridge) adviseOnUnknown(out *Explanation, s *snapshot.Snapshot) {
	of, ok := snapshot.ViewAt[*versions](s, b.versioned)
	if !ok {
		return
	}
	registry := of.registry()
	switch {
	case !registry.Present():
		out.Detail = fmt.Sprintf("registry %s: does not exist", registry.Key())
		out.Remedy = "create the Registry, with an App that has the hostname"
	case len(registry.Entries()) == 0:
		out.Detail = fmt.Sprintf("registry %s: lists no Apps", registry.Key())
	default:
		out.Detail = fmt.Sprintf("registry %s: none of its %d Apps has the hostname", registry.Key(), len(registry.Entries()))
	}
}

func addressInWords(clientIP string, app *snapshot.App) string {
	const shown = 8
	var ranges []string
	for i, prefix := range app.AllowCIDRs {
		if i == shown {
			ranges = append(ranges, "...")
			break
		}
		ranges = append(ranges, prefix.String())
	}
	admits := "the App admits " + strings.Join(ranges, ", ")
	if clientIP == "" {
		return "no client address was given; " + admits
	}
	return clientIP + " is in none of allowCIDRs; " + admits
}
