package credential

import (
	"errors"
	"strings"
)

// readHMAC takes the bytes of the value as they are: they are not decoded, even if
// they are base64.
func (r *tokenReader) readHMAC(text string) error {
	if isPublic(text) {
		return errors.New("is no secret value but a key in PEM or a JWKS; write format: pem or jwks")
	}
	at := place{dataKey: r.dataKey}
	if value, ok := strings.CutSuffix(text, "\n"); ok {
		r.warn(at, "the newline at the end of the value is trimmed")
		text = strings.TrimSuffix(value, "\r")
	}
	err := r.add(at, "", setOf(knownAlgorithms...), []byte(text))
	if errors.Is(err, errUnfit) {
		return errors.New("fits none of the App's algorithms; HS256 asks for 32 bytes, HS384 for 48 and HS512 for 64, and a public key has format: jwks or pem")
	}
	return err
}

// isPublic reports whether a text looks like what is published to verify tokens
// with: whoever has it could sign with it.
func isPublic(text string) bool {
	return strings.Contains(text, pemBegin) || isJWKS(text) || isJWK([]byte(text))
}
