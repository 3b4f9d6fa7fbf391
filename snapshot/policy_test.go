package snapshot_test

import (
	"maps"
	"net/url"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

type list = []any

type object = map[string]any

func apiKey(from ...any) object { return object{"apiKey": object{"from": from}} }

// byToken is a way that is in order, but for the given fields.
func byToken(fields object) object {
	rules := object{"algorithms": list{"RS256"}, "audiences": list{"shop"}}
	maps.Copy(rules, fields)
	return object{"jwt": rules}
}

var (
	inHeader = object{"header": "x-api-key"}
	inBearer = object{"header": "Authorization", "scheme": "Bearer"}
	inCookie = object{"cookie": "key"}
)

// guarded opens an App whose Secret has the given data.
func guarded(t *testing.T, anyOf any, data map[string]string, more ...any) *snapshot.Apps {
	t.Helper()
	e := shop.with("secretRef", object{"name": "clients"}).with("anyOf", anyOf)
	for i := 0; i+1 < len(more); i += 2 {
		e = e.with(more[i].(string), more[i+1])
	}
	reg := registry(t, e)
	require.NoError(t, reg.Entries()[0].Err)
	key := snapshot.Key{Namespace: registryKey.Namespace, Name: "clients"}
	return build(t, snapshot.NewObjects(start, reg, map[snapshot.Key]snapshot.SecretState{
		key: snapshot.Present(secret(key, "1", data)),
	}))
}

type headers = map[string][]string

func ask(apps *snapshot.Apps, h headers) snapshot.Decision {
	return decider(start).Decide(publish(apps), snapshot.Request{Host: "shop.example.com", Header: h})
}

func TestCallersProveThemselvesByAKeyWhereItIsLookedFor(t *testing.T) {
	apps := guarded(t, list{apiKey(inHeader, inBearer, inCookie)}, map[string]string{"alice": "a", "bob": "b"})
	for about, c := range map[string]struct {
		header headers
		reason snapshot.Reason
		who    string
	}{
		"in the header":                   {headers{"X-Api-Key": {"a"}}, snapshot.ReasonAllowed, "alice"},
		"after the scheme":                {headers{"Authorization": {"Bearer b"}}, snapshot.ReasonAllowed, "bob"},
		"scheme in another case":          {headers{"Authorization": {"bearer  b "}}, snapshot.ReasonAllowed, "bob"},
		"in the cookie":                   {headers{"Cookie": {"x=y; key=b; z"}}, snapshot.ReasonAllowed, "bob"},
		"in two places alike":             {headers{"X-Api-Key": {"a"}, "Cookie": {"key=a"}}, snapshot.ReasonAllowed, "alice"},
		"nowhere":                         {headers{}, snapshot.ReasonCredentialsMissing, ""},
		"no headers at all":               {nil, snapshot.ReasonCredentialsMissing, ""},
		"empty":                           {headers{"X-Api-Key": {""}, "Cookie": {"key="}, "Authorization": {"Bearer "}}, snapshot.ReasonCredentialsMissing, ""},
		"under another scheme":            {headers{"Authorization": {"Basic a"}}, snapshot.ReasonCredentialsMissing, ""},
		"without the scheme":              {headers{"Authorization": {"a"}}, snapshot.ReasonCredentialsMissing, ""},
		"in a cookie's twin":              {headers{"Cookie": {"Key=a"}}, snapshot.ReasonCredentialsInvalid, ""},
		"beside a cookie's twin":          {headers{"Cookie": {"key=a; KEY=a"}}, snapshot.ReasonCredentialsInvalid, ""},
		"after a tab":                     {headers{"Authorization": {"Bearer\ta"}}, snapshot.ReasonAllowed, "alice"},
		"beside one after a tab":          {headers{"X-Api-Key": {"a"}, "Authorization": {"Bearer\tb"}}, snapshot.ReasonCredentialsInvalid, ""},
		"in another cookie":               {headers{"Cookie": {"other=a"}}, snapshot.ReasonCredentialsMissing, ""},
		"wrong":                           {headers{"X-Api-Key": {"c"}}, snapshot.ReasonCredentialsInvalid, ""},
		"in another case":                 {headers{"X-Api-Key": {"A"}}, snapshot.ReasonCredentialsInvalid, ""},
		"client for value":                {headers{"X-Api-Key": {"alice"}}, snapshot.ReasonCredentialsInvalid, ""},
		"header twice":                    {headers{"X-Api-Key": {"a", "a"}}, snapshot.ReasonCredentialsInvalid, ""},
		"Authorization twice":             {headers{"Authorization": {"Bearer a", "Basic x"}}, snapshot.ReasonCredentialsInvalid, ""},
		"cookie twice":                    {headers{"Cookie": {"key=a; key=a"}}, snapshot.ReasonCredentialsInvalid, ""},
		"cookie in two lines":             {headers{"Cookie": {"key=a", "key=b"}}, snapshot.ReasonCredentialsInvalid, ""},
		"places that disagree":            {headers{"X-Api-Key": {"a"}, "Cookie": {"key=b"}}, snapshot.ReasonCredentialsInvalid, ""},
		"two clients in one value":        {headers{"X-Api-Key": {"a, b"}}, snapshot.ReasonCredentialsInvalid, ""},
		"header in no canonical spelling": {headers{"x-api-key": {"a"}}, snapshot.ReasonCredentialsMissing, ""},
	} {
		t.Run(about, func(t *testing.T) {
			d := ask(apps, c.header)
			assert.Equal(t, c.reason, d.Reason)
			assert.Equal(t, c.who, d.Identity)
		})
	}
	assert.Equal(t, []string{`Bearer realm="restricted"`}, apps.At(0).Challenges())
}

func TestAnyOfThatIsWrongNeverOpensTheApp(t *testing.T) {
	for about, c := range map[string]struct {
		anyOf any
		want  string
	}{
		"null":                        {nil, "anyOf: is no list"},
		"empty":                       {list{}, "anyOf: is no list"},
		"a mapping":                   {object{}, "anyOf: is no list"},
		"no kind":                     {list{object{}}, "anyOf[0]: names no kind; write apiKey, basic or jwt"},
		"null in it":                  {list{nil}, "anyOf[0]: names no kind"},
		"kind of null":                {list{object{"apiKey": nil}}, "anyOf[0]: names no kind"},
		"kind of later":               {list{apiKey(inHeader), object{"oauth2": object{}}}, `anyOf[1]: unknown field "oauth2"; this release knows apiKey, basic and jwt`},
		"two kinds":                   {list{object{"apiKey": object{"from": list{inHeader}}, "basic": object{}}}, "anyOf[0]: names more than one kind"},
		"password as text":            {list{object{"basic": "auth"}}, "anyOf[0]: basic: found string; write a mapping"},
		"basic from elsewhere":        {list{object{"basic": object{"from": list{inHeader}}}}, `unknown field "basic.from"`},
		"basic with Bearer's place":   {list{object{"basic": object{}}, apiKey(object{"header": "Authorization"})}, "anyOf[1].apiKey.from[0]: header Authorization is there with another scheme"},
		"token and header":            {list{apiKey(object{"header": "Authorization"}), byToken(nil)}, "anyOf[1].jwt.from[0]: header Authorization is there with another scheme"},
		"a jwt's format":              {list{object{"basic": object{"format": "jwks"}}}, `anyOf[0].basic.format: "jwks" is no format of basic; write one of auto htpasswd basic`},
		"basic with a key":            {list{object{"basic": object{"format": "basic", "key": "auth"}}}, "anyOf[0].basic.key: format basic reads username and password"},
		"realm with a quote":          {list{object{"basic": object{"realm": `a"b`}}}, `realm: "a\"b" is no realm`},
		"realm of null":               {list{object{"basic": object{"realm": nil}}}, "realm: null is no realm"},
		"no algorithms":               {list{object{"jwt": object{"audiences": list{"shop"}}}}, "anyOf[0].jwt.algorithms: missing; list what tokens are signed with"},
		"algorithms of none":          {list{byToken(object{"algorithms": list{}})}, "algorithms: [] is no list"},
		"algorithms as text":          {list{byToken(object{"algorithms": "RS256"})}, `algorithms: "RS256" is no list`},
		"algorithm none":              {list{byToken(object{"algorithms": list{"none"}})}, `algorithms: "none" is not known here`},
		"algorithm in small letters":  {list{byToken(object{"algorithms": list{"rs256"}})}, `algorithms: "rs256" is not known here`},
		"algorithms that mix":         {list{byToken(object{"algorithms": list{"RS256", "HS256"}})}, "algorithms: HMAC and public keys are not mixed"},
		"algorithm twice":             {list{byToken(object{"algorithms": list{"RS256", "RS256"}})}, "algorithms: RS256 is listed twice"},
		"no audiences":                {list{object{"jwt": object{"algorithms": list{"RS256"}}}}, "audiences: missing"},
		"audiences of none":           {list{byToken(object{"audiences": list{}})}, "audiences: [] is no list"},
		"audience of nothing":         {list{byToken(object{"audiences": list{""}})}, `audiences: "" cannot be one`},
		"issuer of nothing":           {list{byToken(object{"issuer": ""})}, `issuer: "" is no issuer`},
		"issuer of null":              {list{byToken(object{"issuer": nil})}, "issuer: null is no issuer"},
		"leeway of an hour":           {list{byToken(object{"leeway": "1h"})}, `leeway: "1h" is no leeway`},
		"leeway as a number":          {list{byToken(object{"leeway": 30})}, "leeway: 30 is no leeway"},
		"claims of none":              {list{byToken(object{"claims": object{}})}, "claims: is no mapping"},
		"claims of null":              {list{byToken(object{"claims": nil})}, "claims: is no mapping"},
		"claim of a number":           {list{byToken(object{"claims": object{"level": 3}})}, "claims.level: 3 is no value of a claim"},
		"claim of none":               {list{byToken(object{"claims": object{"team": list{}}})}, "claims.team: list 1 to 32 values"},
		"claim of null":               {list{byToken(object{"claims": object{"team": nil}})}, "claims.team: null is no value"},
		"a kind of null beside one":   {list{object{"apiKey": nil, "basic": object{}}}, "anyOf[0].apiKey: is null"},
		"token from null":             {list{byToken(object{"from": nil})}, "anyOf[0].jwt.from: is null"},
		"too many places":             {slices.Repeat(list{apiKey(object{"cookie": "a"}, object{"cookie": "b"}, object{"cookie": "c"}, object{"cookie": "d"}, object{"cookie": "e"})}, 4), "has more than 16 places"},
		"token from nowhere":          {list{byToken(object{"from": list{}})}, "anyOf[0].jwt.from: is missing"},
		"kind in caps":                {list{object{"APIKEY": object{}}}, `unknown field "APIKEY"`},
		"from nowhere":                {list{object{"apiKey": object{}}}, "anyOf[0].apiKey.from: is missing"},
		"from null":                   {list{object{"apiKey": object{"from": nil}}}, "from: is missing"},
		"from an empty one":           {list{apiKey()}, "from: is missing"},
		"neither":                     {list{apiKey(object{})}, "from[0]: name a header or a cookie"},
		"null place":                  {list{apiKey(nil)}, "from[0]: name a header or a cookie"},
		"both":                        {list{apiKey(object{"header": "A", "cookie": "b"})}, "name a header or a cookie"},
		"query":                       {list{apiKey(object{"query": "key"})}, `unknown field "apiKey.from[0].query"`},
		"same place twice":            {list{apiKey(inHeader, object{"header": "X-API-KEY"})}, "from[1]: is listed before"},
		"null header":                 {list{apiKey(object{"header": nil})}, "header: null is no name"},
		"header with _":               {list{apiKey(object{"header": "X_Api_Key"})}, `header: "X_Api_Key" is no name of a header`},
		"Host":                        {list{apiKey(object{"header": "host"})}, "header: Host has another meaning"},
		"Cookie as header":            {list{apiKey(object{"header": "cookie"})}, "header: Cookie has another meaning"},
		"scheme of cookie":            {list{apiKey(object{"cookie": "a", "scheme": "Bearer"})}, "scheme: only a header has one"},
		"empty scheme":                {list{apiKey(object{"header": "A", "scheme": ""})}, `scheme: "" is no scheme`},
		"cookie with =":               {list{apiKey(object{"cookie": "a=b"})}, `cookie: "a=b" is no name of a cookie`},
		"with and without a scheme":   {list{apiKey(inBearer), apiKey(object{"header": "authorization"})}, "anyOf[1].apiKey.from[0]: header Authorization is there with another scheme, or none"},
		"one scheme in two spellings": {list{apiKey(inBearer, object{"header": "Authorization", "scheme": "BEARER"})}, "is there with another scheme"},
		"too many ways":               {slices.Repeat(list{apiKey(inHeader)}, 9), "has more than 8 ways"},
		"unknown format":              {list{object{"apiKey": object{"from": list{inHeader}, "format": "htpasswd"}}}, `format: "htpasswd" is no format`},
		"key of null":                 {list{object{"apiKey": object{"from": list{inHeader}, "key": nil}}}, "key: null is no key"},
		"map with a key":              {list{object{"apiKey": object{"from": list{inHeader}, "key": "a", "format": "map"}}}, "format map reads every key"},
	} {
		t.Run(about, func(t *testing.T) {
			reg := registry(t, shop.with("anyOf", c.anyOf), app("blog", "blog.example.com"))
			require.ErrorContains(t, reg.Entries()[0].Err, c.want)
			require.NoError(t, reg.Entries()[1].Err)
			apps := build(t, snapshot.NewObjects(start, reg, allPresent(reg)))
			assert.Equal(t, snapshot.ReasonAppInvalid, ask(apps, headers{"X-Api-Key": {"placeholder"}}).Reason)
		})
	}
}

func TestASecretThatCannotBeReadClosesTheApp(t *testing.T) {
	for about, c := range map[string]struct {
		data   map[string]string
		reason snapshot.Reason
	}{
		"nothing in it":   {nil, snapshot.ReasonSecretKeyAbsent},
		"only empty ones": {map[string]string{"alice": ""}, snapshot.ReasonSecretInvalid},
		"only white":      {map[string]string{"alice": "\n"}, snapshot.ReasonSecretInvalid},
		"two readings":    {map[string]string{"token": "a", "alice": "b"}, snapshot.ReasonSecretInvalid},
	} {
		t.Run(about, func(t *testing.T) {
			apps := guarded(t, list{apiKey(inHeader)}, c.data)
			assert.Equal(t, c.reason, ask(apps, headers{"X-Api-Key": {"b"}}).Reason)
			assert.Equal(t, c.reason, ask(apps, nil).Reason)
			assert.False(t, apps.At(0).SecretReady)
		})
	}
	absentKey := guarded(t, list{object{"apiKey": object{"from": list{inHeader}, "key": "other"}}}, map[string]string{"alice": "a"})
	assert.Equal(t, snapshot.ReasonSecretKeyAbsent, ask(absentKey, headers{"X-Api-Key": {"a"}}).Reason)
}

func TestRotationIsAtOnceInBothDirections(t *testing.T) {
	reg := registry(t, shop.with("secretRef", object{"name": "clients"}).
		with("anyOf", list{object{"apiKey": object{"from": list{inHeader}, "key": "keys", "format": "lines"}}}))
	key := snapshot.Key{Namespace: registryKey.Namespace, Name: "clients"}
	b := snapshot.NewAppsBuilder()
	at := func(version, lines string) *snapshot.Apps {
		o := snapshot.NewObjects(start, reg, map[snapshot.Key]snapshot.SecretState{
			key: snapshot.Present(secret(key, version, map[string]string{"keys": lines})),
		})
		if version != "1" {
			o.Changes = snapshot.Changes{Secrets: map[snapshot.Key]struct{}{key: {}}}
		}
		return buildWith(t, b, o)
	}
	reasons := func(apps *snapshot.Apps) []string {
		return []string{
			ask(apps, headers{"X-Api-Key": {"old"}}).Reason.String(),
			ask(apps, headers{"X-Api-Key": {"new"}}).Reason.String(),
		}
	}
	assert.Equal(t, []string{"allowed", "credentials_invalid"}, reasons(at("1", "old")))
	assert.Equal(t, []string{"allowed", "allowed"}, reasons(at("2", "old\nnew")))
	assert.Equal(t, []string{"credentials_invalid", "allowed"}, reasons(at("3", "new")))
}

func TestAnotherPolicyIsAnotherApp(t *testing.T) {
	b := snapshot.NewAppsBuilder()
	apps := func(anyOf any) *snapshot.Apps {
		reg := registry(t, shop.with("anyOf", anyOf))
		return buildWith(t, b, snapshot.NewObjects(start, reg, allPresent(reg)))
	}
	first := apps(list{apiKey(inHeader)})
	second := apps(list{apiKey(inCookie)})
	assert.NotSame(t, first.At(0), second.At(0))
	assert.Equal(t, snapshot.ReasonCredentialsMissing, ask(second, headers{"X-Api-Key": {"placeholder"}}).Reason)
}

func TestScrubLeavesNoCredentialForWhatIsBehind(t *testing.T) {
	full := headers{
		"X-Api-Key":     {"a"},
		"Authorization": {"Bearer a"},
		"Cookie":        {"x=y; key=a; z=1", "key=a"},
		"Accept":        {"*/*"},
	}
	for about, c := range map[string]struct {
		strip  any
		change headers
		want   headers
	}{
		"by default":          {nil, nil, headers{"Cookie": {"x=y; z=1"}, "Accept": {"*/*"}}},
		"the winner may stay": {false, headers{"Cookie": {"x=y; key=a"}}, headers{"X-Api-Key": {"a"}, "Cookie": {"x=y"}, "Accept": {"*/*"}}},
		"but not a loser":     {false, headers{"X-Api-Key": {"b"}, "Cookie": {"key=b"}, "Authorization": {"Bearer b"}}, headers{"Accept": {"*/*"}}},
		"other schemes stay":  {nil, headers{"Authorization": {"Basic x"}, "Cookie": {"key=a"}}, headers{"Authorization": {"Basic x"}, "Accept": {"*/*"}}},
		"what a comma hides":  {nil, headers{"Authorization": {"Basic x, Bearer b"}, "Cookie": {"a=b, key=a"}}, headers{"Accept": {"*/*"}}},
		"twins go too":        {nil, headers{"Cookie": {"KEY=a; k_ey=b"}}, headers{"Cookie": {"k_ey=b"}, "Accept": {"*/*"}}},
		"repeats go too":      {nil, headers{"X-Api-Key": {"a", "b"}, "Authorization": {"Bearer a", "Bearer"}, "Cookie": {"key"}}, headers{"Accept": {"*/*"}}},
	} {
		t.Run(about, func(t *testing.T) {
			more := []any{}
			if c.strip != nil {
				more = []any{"strip", c.strip}
			}
			apps := guarded(t, list{apiKey(inHeader, inBearer, inCookie)}, map[string]string{"alice": "a"}, more...)
			h := maps.Clone(full)
			maps.Copy(h, c.change)
			apps.Guards().Prepare(h, ask(apps, h))
			assert.Equal(t, c.want, h)
		})
	}
}

func TestTheWinnerStaysWhereTwoWaysShareAPlace(t *testing.T) {
	way := func(key string) object { return object{"apiKey": object{"from": list{inHeader}, "key": key}} }
	apps := guarded(t, list{way("one"), way("two")}, map[string]string{"one": "a", "two": "b"}, "strip", false)
	for _, value := range []string{"a", "b"} {
		h := headers{"X-Api-Key": {value}}
		d := ask(apps, h)
		require.Equal(t, snapshot.ReasonAllowed, d.Reason)
		apps.Guards().Prepare(h, d)
		assert.Equal(t, headers{"X-Api-Key": {value}}, h)
	}
	assert.Len(t, apps.At(0).Challenges(), 1)
}

func TestPlacesOfAWrongEntryAreGuardedAsFarAsTheyCanBeRead(t *testing.T) {
	for about, way := range map[string]object{
		"format":     {"from": list{inHeader}, "format": "tokn"},
		"key":        {"from": list{inHeader}, "key": "a b"},
		"map":        {"from": list{inHeader}, "key": "a", "format": "map"},
		"unknown":    {"from": list{inHeader}, "foo": 1},
		"a type":     {"from": list{inHeader}, "key": list{}},
		"a place":    {"from": list{object{"header": "Host"}, inHeader}},
		"too many":   {"from": slices.Repeat(list{inHeader}, 9)},
		"a stranger": {"from": list{object{"header": "X-Api-Key", "query": "key"}}},
	} {
		t.Run(about, func(t *testing.T) {
			reg := registry(t, shop.with("anyOf", list{object{"apiKey": way}}))
			require.Error(t, reg.Entries()[0].Err)
			h := headers{"X-Api-Key": {"a"}}
			build(t, snapshot.NewObjects(start, reg, allPresent(reg))).Guards().ScrubAll(h)
			assert.Empty(t, h)
		})
	}
}

func TestOtherBytesOfTheSameVersionAreOtherKeys(t *testing.T) {
	reg := registry(t, shop.with("secretRef", object{"name": "clients"}).with("anyOf", list{apiKey(inHeader)}))
	key := snapshot.Key{Namespace: registryKey.Namespace, Name: "clients"}
	b := snapshot.NewAppsBuilder()
	for _, value := range []string{"old", "new"} {
		o := snapshot.NewObjects(start, reg, map[snapshot.Key]snapshot.SecretState{
			key: snapshot.Present(secret(key, "1", map[string]string{"alice": value})),
		})
		apps := buildWith(t, b, o)
		assert.Equal(t, snapshot.ReasonAllowed, ask(apps, headers{"X-Api-Key": {value}}).Reason, "as after a restore of the cluster")
		assert.Equal(t, value == "old", ask(apps, headers{"X-Api-Key": {"old"}}).Reason == snapshot.ReasonAllowed)
	}
}

func TestARefusedRequestLosesTheKeysOfEveryApp(t *testing.T) {
	reg := registry(t, shop.with("anyOf", list{apiKey(inHeader), object{"oauth2": 1}}),
		app("blog", "blog.example.com").with("anyOf", list{apiKey(inBearer, inCookie)}))
	require.Error(t, reg.Entries()[0].Err, "an entry that is wrong has callers too")
	apps := build(t, snapshot.NewObjects(start, reg, allPresent(reg)))
	h := headers{"X-Api-Key": {"a"}, "Authorization": {"Bearer a"}, "Cookie": {"key=a; x=y"}, "X-Other": {"b"}}
	apps.Guards().ScrubAll(h)
	assert.Equal(t, headers{"Cookie": {"x=y"}, "X-Other": {"b"}}, h)
}

func TestAnAppWithoutCredentialsIsInvalidWhereTheyAreRequired(t *testing.T) {
	reg := registry(t, shop.with("allowCIDRs", list{"10.0.0.0/8"}))
	apps := build(t, snapshot.NewObjects(start, reg, nil))
	d := decider(start).Decide(publish(apps), snapshot.Request{Host: "shop.example.com", RequireCredentials: true})
	assert.Equal(t, snapshot.ReasonAppInvalid, d.Reason, "before the address and the Secret")
}

func TestAnAppThatInjectsIsInvalidWhereNothingCanBeInjected(t *testing.T) {
	injecting := shop.with("anyOf", list{apiKey(inHeader)}).with("public", list{object{"path": "/open"}}).
		with("inject", object{"header": "Authorization", "key": "up"})
	apps := publish(labelled(t, true, injecting, map[string][]byte{"token": []byte("a"), "up": []byte("b")}))
	for path, want := range map[string]snapshot.Reason{"/": snapshot.ReasonAllowed, "/open": snapshot.ReasonPublic} {
		r := snapshot.Request{Host: "shop.example.com", Method: "GET", URL: &url.URL{Path: path}, Header: headers{"X-Api-Key": {"a"}}}
		assert.Equal(t, want, decider(start).Decide(apps, r).Reason, path)
		r.NoInject = true
		assert.Equal(t, snapshot.ReasonAppInvalid, decider(start).Decide(apps, r).Reason, path)
	}
}

func TestAliasesOfKeyHeadersAreRemoved(t *testing.T) {
	apps := guarded(t, list{apiKey(inHeader)}, map[string]string{"alice": "a"})
	h := headers{
		"X-Api-Key": {"a"}, "X_api_key": {"b"}, "X.Api.Key": {"c"}, "X_Api-Key": {"d"}, "X_Other": {"e"},
		"Connection": {"close, x-api-key , X_API_KEY", "X-Api-Key"},
	}
	apps.Guards().RemoveAliases(h)
	assert.Equal(t, headers{"X-Api-Key": {"a"}, "X_Other": {"e"}, "Connection": {"close"}}, h)

	untouched := headers{"X_api_key": {"b"}, "Connection": {"x-api-key"}}
	open(t, shop).Guards().RemoveAliases(untouched)
	assert.Len(t, untouched, 2, "no App has keys in headers")
}

func TestStripMustBeTrueOrFalse(t *testing.T) {
	reg := registry(t, shop.with("strip", false))
	assert.ErrorContains(t, reg.Entries()[0].Err, "strip: has no meaning without anyOf")
	for _, written := range []any{nil, "yes", 1, list{}} {
		reg := registry(t, shop.with("strip", written))
		assert.ErrorContains(t, reg.Entries()[0].Err, "strip: is neither true nor false")
	}
}
