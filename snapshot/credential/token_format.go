package credential

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-jose/go-jose/v4/json"
)

var (
	errReservedForTokens = errors.New("is reserved for something else than the keys of tokens; write format: jwks, pem or hmac if it holds one all the same")
	errOnlyReserved      = errors.New("holds only keys that are reserved for something else than the keys of tokens; name one in key and write its format if it holds one all the same")
	errNoLook            = errors.New("is neither a JWKS nor a public key or certificate in PEM; write format: hmac if it is a secret value")
	errNothingLooks      = errors.New("holds neither a JWKS nor a public key or certificate in PEM; name the key in key, and write format: hmac if it is a secret value")
	errPrivate           = errors.New("holds a private key; remove it, the bridge needs the public key only")
)

// tokenFormat returns how to read the keys for tokens, and under which data key. It
// never guesses.
func tokenFormat(s Secret, spec Spec) (Format, string, error) {
	auto := spec.Format == "" || spec.Format == Auto
	switch {
	case spec.DataKey == "" && auto:
		return findTokenKeys(s, JWKS, PEM)
	case spec.DataKey == "" && spec.Format == HMAC:
		dataKey, err := findSecretValue(s)
		return HMAC, dataKey, err
	case spec.DataKey == "":
		return findTokenKeys(s, spec.Format)
	case auto:
		format, err := decideTokenFormat(s, spec.DataKey)
		return format, spec.DataKey, err
	}
	return spec.Format, spec.DataKey, nil
}

func decideTokenFormat(s Secret, dataKey string) (Format, error) {
	if reservedForTokens(dataKey) {
		return "", errReservedForTokens
	}
	text, ok := s.Value(dataKey)
	if !ok {
		return "", errors.New("does not exist; add it")
	}
	format := looksLike(text)
	switch {
	case format != "":
		return format, nil
	case strings.Contains(text, privateKeyEnd):
		return "", errPrivate
	}
	return "", errNoLook
}

// findTokenKeys finds the one data key that looks like one of the formats.
func findTokenKeys(s Secret, formats ...Format) (Format, string, error) {
	var format Format
	var dataKey string
	looked := false
	for _, key := range s.Keys() {
		if reservedForTokens(key) {
			continue
		}
		looked = true
		text, _ := s.Value(key)
		look := looksLike(text)
		if !slices.Contains(formats, look) {
			continue
		}
		if dataKey != "" {
			return "", "", fmt.Errorf("keys %q and %q both look like keys for tokens; name one in key", dataKey, key)
		}
		format, dataKey = look, key
	}
	switch {
	case dataKey != "":
		return format, dataKey, nil
	case !looked && len(s.Keys()) > 0:
		return "", "", errOnlyReserved
	}
	return "", "", errNothingLooks
}

// findSecretValue finds the one data key that holds a value by its name.
func findSecretValue(s Secret) (string, error) {
	names := strings.Join(tokenKeys, ", ")
	var dataKey string
	for _, key := range s.Keys() {
		if !slices.Contains(tokenKeys, key) {
			continue
		}
		if dataKey != "" {
			return "", fmt.Errorf("keys %q and %q may both be the value; name one in key", dataKey, key)
		}
		dataKey = key
	}
	if dataKey == "" {
		return "", fmt.Errorf("has none of the keys %s; name the one with the value in key", names)
	}
	return dataKey, nil
}

// reservedForTokens: NGINX Gateway Fabric keeps a JWKS under auth.
func reservedForTokens(dataKey string) bool {
	return dataKey != "auth" && slices.Contains(reservedKeys, dataKey)
}

// looksLike returns the format that a text is in by its looks; empty for none.
func looksLike(text string) Format {
	if isJWKS(text) {
		return JWKS
	}
	for _, kind := range []string{pemPublicKey, pemRSAPublicKey, pemCertificate} {
		if strings.Contains(text, pemBegin+kind+"-----") {
			return PEM
		}
	}
	return ""
}

// isJWKS tells a JWKS from a keyset and from any other JSON, by its first key.
func isJWKS(text string) bool {
	var doc struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if json.Unmarshal([]byte(text), &doc) != nil || len(doc.Keys) == 0 {
		return false
	}
	return isJWK(doc.Keys[0])
}

func isJWK(text []byte) bool {
	var key struct {
		Type string `json:"kty"`
	}
	return json.Unmarshal(text, &key) == nil && key.Type != ""
}
