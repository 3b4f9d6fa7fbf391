package credential

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"strings"
)

const (
	pemBegin        = "-----BEGIN "
	privateKeyEnd   = "PRIVATE KEY-----"
	pemPublicKey    = "PUBLIC KEY"
	pemRSAPublicKey = "RSA PUBLIC KEY"
	pemCertificate  = "CERTIFICATE"
)

// readPEM takes several keys, for rotation. Of a certificate only the public key
// counts: its dates and issuer are not judged, as nobody renews a key that signs
// tokens because of them. The keys of all certificates count, those of a chain too.
func (r *tokenReader) readPEM(text string) error {
	blocks := pemBlocks(text)
	if len(blocks) > mostTokenKeys {
		return errTooManyTokenKeys
	}
	for i, block := range blocks {
		at := r.item(i + 1)
		if firstLine, _, _ := strings.Cut(block, "\n"); strings.Contains(firstLine, privateKeyEnd) {
			return errPrivate
		}
		decoded, rest := pem.Decode([]byte(block))
		if err := r.addPEM(at, decoded); err != nil {
			r.warn(at, "%v; it is left out", err)
		}
		if i == len(blocks)-1 && decoded != nil && strings.TrimSpace(string(rest)) != "" {
			r.warn(place{dataKey: r.dataKey}, "the text after the last block is ignored")
		}
	}
	return nil
}

// pemBlocks cuts a text before every block. The decoder would skip those that are
// broken, and nobody could say which.
func pemBlocks(text string) []string {
	var blocks []string
	start, offset := -1, 0
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, pemBegin) {
			if start >= 0 {
				blocks = append(blocks, text[start:offset])
			}
			start = offset
		}
		offset += len(line)
	}
	if start >= 0 {
		blocks = append(blocks, text[start:])
	}
	return blocks
}

func (r *tokenReader) addPEM(at place, block *pem.Block) error {
	if block == nil {
		return errors.New("is no PEM block with a beginning, base64 and an end")
	}
	material, err := parsePEM(block)
	if err != nil {
		return err
	}
	return r.add(at, "", setOf(knownAlgorithms...), material)
}

func parsePEM(block *pem.Block) (any, error) {
	var material any
	var err error
	switch block.Type {
	case pemPublicKey:
		material, err = x509.ParsePKIXPublicKey(block.Bytes)
	case pemRSAPublicKey:
		material, err = x509.ParsePKCS1PublicKey(block.Bytes)
	case pemCertificate:
		var certificate *x509.Certificate
		if certificate, err = x509.ParseCertificate(block.Bytes); err == nil {
			material = certificate.PublicKey
		}
	default:
		return nil, errors.New("is no public key and no certificate")
	}
	if err != nil {
		return nil, errors.New("is no key or certificate that can be read")
	}
	return material, nil
}
