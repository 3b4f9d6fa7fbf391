package authzbridge_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

// truths are a Registry, and the Secrets that it refers to.
type truths struct {
	apps       []string
	secrets    map[string]string // manifests without their heads, by name
	statements []statement
}

func (u *truths) app(entry string) { u.apps = append(u.apps, entry) }

func (u *truths) state(name, host, reason string) {
	u.statements = append(u.statements, statement{name: name, host: host, reason: reason})
}

// write writes the Registry as people do, so that its lines are those of the file.
func (u *truths) write(k *desk) {
	k.tb.Helper()
	for name, rest := range u.secrets {
		k.write(name, "apiVersion: v1\nkind: Secret\nmetadata: {namespace: town, name: "+name+labelsIn(rest))
	}
	text := strings.ReplaceAll(strings.TrimSpace(document(u.apps...)), "\n", "\n    ")
	k.write("registry", "apiVersion: v1\nkind: Secret\nmetadata: {namespace: town, name: registry}\nstringData:\n  registry.yaml: |\n    "+text+"\n")
}

// labelsIn ends the metadata of a manifest.
func labelsIn(rest string) string {
	if rest, ok := strings.CutPrefix(rest, "labelled\n"); ok {
		return ", labels: {" + snapshot.InjectLabel + ": \"true\"}}\n" + rest
	}
	return "}\n" + rest
}

func stringData(data map[string]string) string {
	var b strings.Builder
	b.WriteString("stringData:\n")
	for _, key := range slices.Sorted(maps.Keys(data)) {
		fmt.Fprintf(&b, "  %s: %q\n", key, data[key])
	}
	return b.String()
}

// allTruths have every reason that Apps of one Registry can have at one time.
func allTruths(t *testing.T) *truths {
	t.Helper()
	u := &truths{secrets: map[string]string{"good": stringData(someToken())}}
	const good = "\nsecretRef: {name: good, key: token}"
	u.ofHosts(good)
	u.ofEntries(good)
	u.ofUpstreams(good)
	u.ofSecrets()
	u.ofCredentials(t)
	return u
}

func (u *truths) ofHosts(good string) {
	u.app("name: open\nhostnames: [open.example.com, '*.wild.example.com', bücher.example]" + good)
	u.state("open by hostname", "open.example.com", "allowed")
	u.state("by a wildcard", "any.wild.example.com", "allowed")
	u.state("the wildcard is one label", "a.b.wild.example.com", "unknown_host")
	u.state("in another case, with a port", "OPEN.Example.com:8080", "allowed")
	u.state("IDNA", "xn--bcher-kva.example", "allowed")
	u.state("of no App", "nobody.example.com", "unknown_host")
	u.state("no hostname", "bad..example.com", "invalid_host")
	u.app("name: first\nhostnames: [first.example.com, shared.example.com, '*.shared.example.com']" + good)
	u.app("name: second\nhostnames:\n- SHARED.example.com.\n- '*.shared.example.com'" + good)
	u.state("claimed twice", "shared.example.com", "host_conflict")
	u.state("a wildcard that is claimed twice", "x.shared.example.com", "host_conflict")
	u.state("the others of an App in conflict", "first.example.com", "allowed")
}

func (u *truths) ofEntries(good string) {
	for name, entry := range map[string]string{
		"unknown-field": "name: unknown-field\nunheard: of" + good,
		"bad-host":      "name: bad-host" + good, // gets a second hostname below
		"no-secret":     "name: no-secret",
		"bad-secret":    "name: bad-secret\nsecretRef: {name: Bad}",
		"no-way":        "name: no-way\nanyOf: []" + good,
		"two-kinds":     "name: two-kinds\nanyOf:\n- basic: {}\n  jwt: {}" + good,
		"odd-place":     "name: odd-place\nanyOf:\n- apiKey:\n    from:\n    - header: Accept" + good,
		"odd-type":      "name: odd-type\nsecretRef: good",
		"odd-public":    "name: odd-public" + good + byKey + "\npublic: [{path: /a/../b}]",
		"late":          "name: late\nexpiresAt: tomorrow" + good,
		"odd-cidr":      "name: odd-cidr\nallowCIDRs: [10.0.0.1/8]" + good,
		"bad-name":      "name: Bad_Name" + good,
	} {
		hostnames := "\nhostnames: [" + name + ".example.com]"
		if name == "bad-host" {
			hostnames = "\nhostnames:\n- " + name + ".example.com\n- 'bad host'"
		}
		u.app(entry + hostnames)
		u.state("an entry with "+name, name+".example.com", "app_invalid")
	}
	u.app("name: twice\nhostnames: [twice.example.com]" + good)
	u.app("name: twice\nhostnames: [again.example.com]" + good)
	u.state("a name that is there twice", "twice.example.com", "app_invalid")
	u.app("name: expired\nhostnames: [expired.example.com]\nexpiresAt: 2020-01-01T00:00:00Z" + good)
	u.state("expired", "expired.example.com", "app_expired")
	u.app("name: lost\nhostnames: [lost.example.com]\nexpiresAt: 2020-01-01T00:00:00Z\nsecretRef: {name: nowhere}")
	u.state("expired, and the Secret is gone", "lost.example.com", "app_expired")
	u.app("name: elsewhere\nhostnames: [elsewhere.example.com]\nallowCIDRs: [10.0.0.0/8, '2001:db8::/32']\nsecretRef: {name: nowhere}")
	u.state("from another address, and the Secret is gone", "elsewhere.example.com", "address_denied")
	u.app("name: here\nhostnames: [here.example.com]\nallowCIDRs: [127.0.0.0/8]" + good)
	u.state("from this address", "here.example.com", "allowed")
}

// ofUpstreams are wrong in nothing that a request is decided by.
func (u *truths) ofUpstreams(good string) {
	u.app("name: placed\nhostnames: [placed.example.com]\nupstreams: ['placed.town.svc:8080', '[2001:DB8::1]:80']" + good)
	u.state("upstreams", "placed.example.com", "allowed")
	u.app("name: astray\nhostnames: [astray.example.com]\nupstreams:\n- placed.town.svc:8080\n- x:99999" + good)
	u.state("upstreams that cannot be used", "astray.example.com", "allowed")
	u.app("name: nowhere-at-all\nhostnames: [nowhere-at-all.example.com]\nupstreams: []" + good + byKey)
	u.state("no upstreams in the list", "nowhere-at-all.example.com", "credentials_missing")
}

func (u *truths) ofSecrets() {
	for _, c := range []struct{ name, secret, rest, reason string }{
		{"nowhere", "", "\nsecretRef: {name: nowhere}", "secret_absent"},
		{"keyless", stringData(someToken()), "\nsecretRef: {name: keyless, key: other}", "secret_key_absent"},
		{"hollow", "type: Opaque\n", "\nsecretRef: {name: hollow}", "secret_key_absent"},
		{"wayless", stringData(someToken()), "\nsecretRef: {name: wayless, key: token}\nanyOf:\n- basic: {key: auth}", "secret_key_absent"},
		{"blank", stringData(clients("")), "\nsecretRef: {name: blank, key: token}", "secret_invalid"},
		{"doubtful", stringData(map[string]string{"token": "a", "other": "b"}), "\nsecretRef: {name: doubtful}" + byKey, "secret_invalid"},
		{"weak", stringData(map[string]string{"auth": "alice:plain"}), "\nsecretRef: {name: weak, key: auth}\nanyOf:\n- basic: {}", "secret_invalid"},
		{
			"unlabelled", stringData(map[string]string{"token": "a", "up": "b"}),
			"\nsecretRef: {name: unlabelled, key: token}\ninject: {header: Authorization, key: up}" + byKey, "secret_invalid",
		},
		{
			"unlabelled-no", "labelled\n" + stringData(map[string]string{"token": "a"}),
			"\nsecretRef: {name: unlabelled-no, key: token}\ninject: {header: Authorization, key: up}" + byKey, "secret_key_absent",
		},
		{"refused", "data:\n  token: '%'\n", "\nsecretRef: {name: refused}", "secret_forbidden"},
	} {
		if c.secret != "" {
			u.secrets[c.name] = c.secret
		}
		u.app("name: " + c.name + "\nhostnames: [" + c.name + ".example.com]" + c.rest)
		u.state("the Secret is "+c.name, c.name+".example.com", c.reason)
	}
}

func (u *truths) ofCredentials(t *testing.T) {
	t.Helper()
	signer := newIssuer(t, "RS256", firstIssuer)
	u.secrets["keys"] = stringData(clients(keyset(keyItem("alice", "right", ""), keyItem("bob", "late", `,"notAfter":"2020-01-01T00:00:00Z"`))))
	u.secrets["tokens"] = stringData(clients(jwksOf(signer)))
	u.secrets["users"] = stringData(map[string]string{"auth": passwordLine(t, "alice", "pw")})
	u.secrets["slow"] = stringData(clients("alice:" + slowHash))
	u.app("name: keys\nhostnames: [keys.example.com]\nsecretRef: {name: keys, key: token}" + byKey +
		"\npreflight: pass\npublic: [{path: /healthz}, {path: '/static/*', methods: [POST]}]")
	u.app("name: tokens\nhostnames: [tokens.example.com]\nsecretRef: {name: tokens, key: token}\nanyOf: " + byToken("RS256", ", claims: {team: [web]}"))
	u.app("name: users\nhostnames: [users.example.com]\nsecretRef: {name: users, key: auth}\nanyOf: [{basic: {}}]")
	u.app("name: slow\nhostnames: [slow.example.com]\nsecretRef: {name: slow, key: token}\nanyOf: [{basic: {}}]")
	u.app("name: shut\nhostnames: [shut.example.com]\nsecretRef: {name: nowhere, key: token}" + byKey + "\npublic: [{path: /healthz}]")
	preflight := http.Header{"Origin": {"https://a.example"}, "Access-Control-Request-Method": {"PUT"}}
	u.statements = append(
		u.statements,
		statement{name: "without credentials", host: "keys.example.com", reason: "credentials_missing"},
		statement{name: "a wrong key", host: "keys.example.com", header: asKey("wrong"), reason: "credentials_invalid"},
		statement{name: "a key twice", host: "keys.example.com", header: http.Header{"X-Api-Key": {"right", "right"}}, reason: "credentials_invalid"},
		statement{name: "an expired key", host: "keys.example.com", header: asKey("late"), reason: "credentials_expired"},
		statement{name: "the right key", host: "keys.example.com", header: asKey("right"), reason: "allowed"},
		statement{name: "a token of another team", host: "tokens.example.com", header: asBearer(signer.token(claimMap{"team": "ops"})), reason: "claims_denied"},
		statement{name: "a right password", host: "users.example.com", header: asBasic("alice:pw"), reason: "allowed"},
		statement{name: "a public path", host: "keys.example.com", path: "/healthz", reason: "public"},
		statement{name: "below a public path", host: "keys.example.com", method: http.MethodPost, path: "/static/a?b=c", reason: "public"},
		statement{name: "a public path by another method", host: "keys.example.com", path: "/static/a", reason: "credentials_missing"},
		statement{name: "a path around a public one", host: "keys.example.com", path: "/static/../healthz", reason: "credentials_missing"},
		statement{name: "a public path in escapes", host: "keys.example.com", path: "/%68ealthz", reason: "credentials_missing"},
		statement{name: "a public path, and the Secret is gone", host: "shut.example.com", path: "/healthz", reason: "secret_absent"},
		statement{name: "a preflight that passes", host: "keys.example.com", method: http.MethodOptions, header: preflight, reason: "preflight"},
		statement{name: "a preflight that does not", host: "users.example.com", method: http.MethodOptions, header: preflight, reason: "credentials_missing"},
		statement{name: "what is no preflight", host: "keys.example.com", method: http.MethodOptions, reason: "credentials_missing"},
	)
}
