package credential

import (
	"errors"
	"slices"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/json"
)

// jwk is a key of a JWKS (RFC 7517 section 4). Members that are not here are
// ignored, a certificate (x5c) among them: the key itself counts.
type jwk struct {
	publicJWK
	privateJWK
	Use        *string  `json:"use"`
	Operations []string `json:"key_ops"`
	Algorithm  *string  `json:"alg"`
	KeyID      string   `json:"kid"`
}

// publicJWK is what a key is verified with; k is the secret of an oct key.
type publicJWK struct {
	Type     string `json:"kty"`
	Curve    string `json:"crv,omitempty"`
	Modulus  string `json:"n,omitempty"`
	Exponent string `json:"e,omitempty"`
	X        string `json:"x,omitempty"`
	Y        string `json:"y,omitempty"`
	Secret   string `json:"k,omitempty"`
}

// privateJWK are the members of RFC 7518 section 6 that only a signer needs.
type privateJWK struct {
	D     json.RawMessage `json:"d"`
	P     json.RawMessage `json:"p"`
	Q     json.RawMessage `json:"q"`
	DP    json.RawMessage `json:"dp"`
	DQ    json.RawMessage `json:"dq"`
	QI    json.RawMessage `json:"qi"`
	Other json.RawMessage `json:"oth"`
}

// readJWKS spoils the whole only if it is no JWK Set at all.
func (r *tokenReader) readJWKS(text string) error {
	var doc struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil || doc.Keys == nil {
		return errors.New(`is no JWK Set; write {"keys":[{"kty":"..."}]}`)
	}
	if len(doc.Keys) > mostTokenKeys {
		return errTooManyTokenKeys
	}
	for i, raw := range doc.Keys {
		at := r.item(i + 1)
		if err := r.addJWK(at, raw); err != nil {
			r.warn(at, "%v; it is left out", err)
		}
	}
	return nil
}

func (r *tokenReader) addJWK(at place, raw []byte) error {
	var key jwk
	if err := json.Unmarshal(raw, &key); err != nil {
		return errors.New("is no JWK, or has a member twice")
	}
	if err := key.checkUse(); err != nil {
		return err
	}
	material, err := key.material()
	if err != nil {
		return err
	}
	if err := r.add(at, key.KeyID, key.allowed(), material); err != nil {
		return err
	}
	if key.isPrivate() {
		r.warn(at, "is a private key; remove it, the bridge needs the public key only")
	}
	return nil
}

func (j *jwk) checkUse() error {
	if j.Use != nil && *j.Use != "sig" {
		return errors.New("use: is not sig")
	}
	if j.Operations != nil && !slices.Contains(j.Operations, "verify") {
		return errors.New("key_ops: has no verify")
	}
	return nil
}

// allowed returns every algorithm for a key that names none.
func (j *jwk) allowed() algorithmSet {
	if j.Algorithm == nil {
		return setOf(knownAlgorithms...)
	}
	return setOf(*j.Algorithm)
}

func (p *privateJWK) isPrivate() bool {
	for _, member := range []json.RawMessage{p.D, p.P, p.Q, p.DP, p.DQ, p.QI, p.Other} {
		if member != nil {
			return true
		}
	}
	return false
}

// material has the library read the public members alone: it would take the private
// part as the key.
func (p *publicJWK) material() (any, error) {
	const exponentDigits = 6 // for 32 bits; the library would cut off what is beyond 64
	if len(p.Exponent) > exponentDigits {
		return nil, errors.New("e: is too large")
	}
	text, err := json.Marshal(p)
	if err != nil {
		return nil, errBadJWK
	}
	var key jose.JSONWebKey
	err = key.UnmarshalJSON(text)
	switch {
	case errors.Is(err, jose.ErrUnsupportedKeyType):
		return nil, errors.New("kty: is none of RSA, EC, OKP with Ed25519 and oct")
	case err != nil:
		return nil, errBadJWK
	}
	return key.Key, nil
}

var errBadJWK = errors.New("has a member that is missing or not as it must be")
