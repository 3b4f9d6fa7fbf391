package credential

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Format is how the bytes of a Secret are to be read.
type Format string

// Auto decides by what is there, differently for each Kind. The default.
const Auto Format = "auto"

// The formats of API keys.
const (
	// Token is one value under a data key.
	Token Format = "token"
	// Lines is one value a line, "client value" or "value"; several may be valid
	// at once.
	Lines Format = "lines"
	// Map is a client ID in each data key, with its value.
	Map Format = "map"
	// Keyset is JSON: {"keys":[{"id","sha256","notBefore","notAfter"}]}.
	Keyset Format = "keyset"
)

// The formats of users and passwords.
const (
	// Htpasswd is one user a line, "user:hash".
	Htpasswd Format = "htpasswd"
	// UsernamePassword are the data keys username and password, as in a Secret of
	// type kubernetes.io/basic-auth.
	UsernamePassword Format = "basic"
)

// The formats of the keys that tokens are verified with.
const (
	// JWKS is a JSON Web Key Set (RFC 7517 section 5).
	JWKS Format = "jwks"
	// PEM are public keys or certificates (RFC 7468).
	PEM Format = "pem"
	// HMAC is a secret value.
	HMAC Format = "hmac"
)

// Kind is a way for callers to prove themselves.
type Kind string

// The kinds.
const (
	// APIKey is a value that only the caller knows.
	APIKey Kind = "apiKey"
	// Basic is a user with a password (RFC 7617).
	Basic Kind = "basic"
	// JWT is a signed token (RFC 7519).
	JWT Kind = "jwt"
)

var formats = map[Kind][]Format{
	APIKey: {Auto, Token, Lines, Map, Keyset},
	Basic:  {Auto, Htpasswd, UsernamePassword},
	JWT:    {Auto, JWKS, PEM, HMAC},
}

// DataKeys are those that a format reads where one is named, which is empty for none;
// nothing means any.
func (f Format) DataKeys(named string) []string {
	switch {
	case f == UsernamePassword:
		return []string{usernameKey, passwordKey}
	case named == "":
		return nil
	}
	return []string{named}
}

// ParseFormat reads the name of a format that the kind can have.
func (k Kind) ParseFormat(name string) (Format, error) {
	if f := Format(name); slices.Contains(formats[k], f) {
		return f, nil
	}
	return "", fmt.Errorf("%.32q is no format of %s; write one of %s", name, k, strings.Trim(fmt.Sprint(formats[k]), "[]"))
}

// tokenKeys are the data keys that hold one value where none is named (Authorino,
// Kong key-auth).
var tokenKeys = []string{"token", "api_key", "api-key", "key"}

// reservedKeys hold something else than the keys of clients, whatever their Secret
// is for.
var reservedKeys = []string{
	"tls.crt", "tls.key", "ca.crt", ".dockerconfigjson", ".dockercfg", "ssh-privatekey",
	"username", "password", "auth", ".htpasswd", "htpasswd", "users",
}

// decide returns the format of a Secret that could be read in one way only, and
// the data key to read.
func decide(s Secret, dataKey string, others []string) (Format, string, error) {
	if kind := s.Type(); kind != "" && kind != "Opaque" && strings.HasPrefix(kind, "kubernetes.io/") {
		return "", "", fmt.Errorf("type %s holds no API keys; name a key and write format: token if one is meant", kind)
	}
	if dataKey == "" {
		return decideByKeys(s.Keys(), others)
	}
	if slices.Contains(reservedKeys, dataKey) {
		return "", "", errors.New("is reserved for something else than API keys; write format: token if it holds one all the same")
	}
	value, _ := s.Value(dataKey)
	format, err := decideByValue(value)
	return format, dataKey, err
}

func decideByKeys(keys, others []string) (Format, string, error) {
	keys = slices.DeleteFunc(keys, func(key string) bool { return slices.Contains(others, key) })
	for _, key := range keys {
		if slices.Contains(reservedKeys, key) {
			return "", "", fmt.Errorf("key %q: is reserved for something else than API keys; name another key, or write format: map", key)
		}
	}
	for _, key := range keys {
		if !slices.Contains(tokenKeys, key) {
			continue
		}
		if len(keys) > 1 {
			return "", "", fmt.Errorf("key %q may be the value or a client; name it in key, or write format: map", key)
		}
		return Token, key, nil
	}
	return Map, "", nil
}

var passwordLine = regexp.MustCompile(`^[^\s:]+:(\$|\{SHA\})`)

func decideByValue(value string) (Format, error) {
	trimmed := strings.TrimSpace(value)
	switch {
	case strings.HasPrefix(trimmed, "{"):
		return decideByJSON(trimmed)
	case strings.ContainsAny(trimmed, "\r\n"):
		return "", errors.New("has several lines; write format: lines")
	case passwordLine.MatchString(trimmed):
		return "", errors.New("looks like htpasswd, which holds no API keys; write format: token if it is one")
	}
	return Token, nil
}

// IsSomethingElse reports whether a value looks like what another format reads: keys
// for tokens, digests or hashes, of which none is the secret of a client.
func IsSomethingElse(value string) bool {
	trimmed := strings.TrimSpace(value)
	return isPublic(trimmed) || isKeyset(trimmed) || passwordLine.MatchString(trimmed)
}

func decideByJSON(text string) (Format, error) {
	if isKeyset(text) {
		return Keyset, nil
	}
	return "", errors.New("is JSON, but no keyset; write format: token if the text itself is the key")
}
