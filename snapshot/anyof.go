package snapshot

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	kjson "sigs.k8s.io/json"

	"github.com/authz-bridge/authz-bridge/snapshot/credential"
)

type rawMethod struct {
	APIKey *rawAPIKey `json:"apiKey"`
	Basic  *rawBasic  `json:"basic"`
	JWT    *rawJWT    `json:"jwt"`
}

type rawAPIKey struct {
	From []rawPlace `json:"from"`
	rawKeys
}

type rawBasic struct {
	Realm optionalText `json:"realm"`
	rawKeys
}

type rawJWT struct {
	From *[]rawPlace `json:"from"`
	rawKeys
	rawRules
}

// rawKeys says where in the Secret to look, and how.
type rawKeys struct {
	Key    optionalText `json:"key"`
	Format optionalText `json:"format"`
}

// mostWays bounds the ways, and the places of one; mostPlaces those of all: each is
// looked at for each request.
const (
	mostWays   = 8
	mostPlaces = 16
)

// readAnyOf takes what could be read of a list that is wrong: a policy that is empty
// or not understood must not open the App, and its callers send keys all the same.
func (p *Policy) readAnyOf(anyOf rawText, dataKey string) error {
	if !anyOf.isSet() {
		return nil
	}
	methods, err := parseAnyOf([]byte(anyOf), dataKey)
	p.AnyOf = methods
	if err != nil {
		return fmt.Errorf("anyOf%w", err)
	}
	return nil
}

// parseAnyOf returns with an error what could be read all the same.
func parseAnyOf(text []byte, dataKey string) ([]Method, error) {
	var raw []json.RawMessage
	if err := kjson.UnmarshalCaseSensitivePreserveInts(text, &raw); err != nil || len(raw) == 0 {
		return nil, errors.New(": is no list of ways to prove oneself; leave the field out to authorize by hostname alone")
	}
	var methods []Method
	var wrong error
	places := 0
	if len(raw) > mostWays {
		wrong = fmt.Errorf(": has more than %d ways", mostWays)
	}
	for i, item := range raw {
		m, err := parseMethod(item, dataKey)
		if err == nil {
			err = overlaps(methods, m)
		}
		if err != nil && wrong == nil {
			wrong = fmt.Errorf("[%d]%w", i, err)
		}
		methods = append(methods, m)
		if places += len(m.From); places > mostPlaces && wrong == nil {
			wrong = fmt.Errorf(": has more than %d places", mostPlaces)
		}
	}
	return methods, wrong
}

// overlaps refuses one header with and without a scheme, or with one scheme in two
// spellings: one credential would be seen as two.
func overlaps(methods []Method, m Method) error {
	for _, other := range append(slices.Clone(methods), m) {
		for i, p := range m.From {
			for _, q := range other.From {
				if p != q && p.Header != "" && p.Header == q.Header &&
					(p.Scheme == "" || q.Scheme == "" || strings.EqualFold(p.Scheme, q.Scheme)) {
					return fmt.Errorf(".%s.from[%d]: header %s is there with another scheme, or none; write one of them", m.Kind, i, p.Header)
				}
			}
		}
	}
	return nil
}

func parseMethod(text []byte, dataKey string) (Method, error) {
	var raw rawMethod
	strict, err := kjson.UnmarshalStrict(text, &raw)
	m, wrong := raw.method(dataKey)
	switch {
	case err != nil:
		return m, fmt.Errorf(": %w", explain(err))
	case len(strict) > 0:
		return m, fmt.Errorf(": %w; this release knows apiKey, basic and jwt", explainAll(strict))
	case wrong == nil:
		wrong = findNull(text)
	}
	return m, wrong
}

// findNull refuses what the decoder takes for absence: only absence has a default.
func findNull(text []byte) error {
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return err
	}
	if path, found := pathOfNull(value); found {
		return fmt.Errorf("%s: is null; write a value, or leave the field out", path)
	}
	return nil
}

func pathOfNull(value any) (path string, found bool) {
	switch v := value.(type) {
	case nil:
		return "", true
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if path, found := pathOfNull(v[name]); found {
				return "." + name + path, true
			}
		}
	case []any:
		for i, item := range v {
			if path, found := pathOfNull(item); found {
				return fmt.Sprintf("[%d]%s", i, path), true
			}
		}
	}
	return "", false
}

// method returns with an error the places that could be read all the same.
func (raw rawMethod) method(dataKey string) (Method, error) {
	var found []Method
	var wrong error
	read := func(m Method, err error) {
		found = append(found, m)
		if err != nil {
			wrong = fmt.Errorf(".%s.%w", m.Kind, err)
		}
	}
	if raw.APIKey != nil {
		read(raw.APIKey.method(dataKey))
	}
	if raw.Basic != nil {
		read(raw.Basic.method(dataKey))
	}
	if raw.JWT != nil {
		read(raw.JWT.method(dataKey))
	}
	switch len(found) {
	case 0:
		return Method{}, errors.New(": names no kind; write apiKey, basic or jwt")
	case 1:
		return found[0], wrong
	}
	var all Method
	for _, m := range found {
		all.From = append(all.From, m.From...)
	}
	return all, errors.New(": names more than one kind; make an item of each")
}

// method reads the places first, so that they are known whatever else is wrong.
func (raw *rawAPIKey) method(dataKey string) (Method, error) {
	m := Method{Kind: credential.APIKey, DataKey: dataKey}
	var err error
	if m.From, err = readPlaces(raw.From); err != nil {
		return m, err
	}
	if err := m.readKeys(raw.rawKeys); err != nil {
		return m, err
	}
	if m.Format == credential.Map {
		if raw.Key.set {
			return m, errors.New("key: format map reads every key; leave it out")
		}
		m.DataKey = ""
	}
	return m, nil
}

func (raw *rawBasic) method(dataKey string) (Method, error) {
	m := Method{Kind: credential.Basic, From: []Place{basicPlace}, DataKey: dataKey, Realm: "restricted"}
	if err := m.readKeys(raw.rawKeys); err != nil {
		return m, err
	}
	if m.Format == credential.UsernamePassword {
		if raw.Key.set {
			return m, errors.New("key: format basic reads username and password; leave it out")
		}
		m.DataKey = ""
	}
	if raw.Realm.set {
		if !validRealm(raw.Realm.value) {
			return m, fmt.Errorf("realm: %s is no realm; use letters, digits, spaces and -_.@:/", raw.Realm.quote())
		}
		m.Realm = raw.Realm.value
	}
	return m, nil
}

// validRealm needs no quoting in the header.
func validRealm(realm string) bool {
	const most = 64
	return len(realm) <= most && isToken(realm, " -_.@:/")
}

func (raw *rawJWT) method(dataKey string) (Method, error) {
	m := Method{Kind: credential.JWT, From: []Place{bearerPlace}, DataKey: dataKey}
	if raw.From != nil {
		var err error
		if m.From, err = readPlaces(*raw.From); err != nil {
			return m, err
		}
	}
	if err := m.readKeys(raw.rawKeys); err != nil {
		return m, err
	}
	var err error
	m.Rules, err = raw.rules(m.Format)
	return m, err
}

func (m *Method) readKeys(raw rawKeys) error {
	m.Format = credential.Auto
	if raw.Key.set {
		if m.DataKey = raw.Key.value; !ValidDataKey(m.DataKey) {
			return fmt.Errorf("key: %s is no key of a Secret", raw.Key.quote())
		}
	}
	if raw.Format.set {
		var err error
		if m.Format, err = m.Kind.ParseFormat(raw.Format.value); err != nil {
			return fmt.Errorf("format: %w", err)
		}
	}
	return nil
}
