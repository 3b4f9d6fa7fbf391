package credential

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/tg123/go-htpasswd"
	"golang.org/x/crypto/bcrypt"
)

// scheme is how a password is hashed.
type scheme uint8

const (
	schemeBcrypt scheme = iota
	schemeApr1
	schemeSHA
)

// storedHash is a hash of a password. It is well-formed: parseHash has seen to it,
// so that the libraries are never given anything else.
type storedHash struct {
	text   string
	scheme scheme
	cost   uint8 // of bcrypt
}

const (
	// maxCost is Caddy's own default: a second a password, on one processor.
	maxCost = 14
	// maxBcryptPassword is what bcrypt reads of a password: what comes after would be
	// right whatever it is.
	maxBcryptPassword = 72
)

// The hashes as the tools write them. The last character holds the bits that are
// left over, so that it is one of a few.
var (
	bcryptText = regexp.MustCompile(`^\$2[aby]\$[0-9]{2}\$[./A-Za-z0-9]{52}[.CGKOSWaeimquy26]$`)
	apr1Text   = regexp.MustCompile(`^\$apr1\$[./0-9A-Za-z]{1,8}\$[./0-9A-Za-z]{21}[./01]$`)
	shaText    = regexp.MustCompile(`^\{SHA\}[A-Za-z0-9+/]{26}[AEIMQUYcgkosw048]=$`)
)

// remake is the fix for each hash that is of no use.
const remake = "make it anew with htpasswd -B -C 10"

var (
	errDamaged  = errors.New("the hash is cut short or damaged; " + remake)
	errSHACrypt = errors.New("SHA-crypt ($5$, $6$) is not accepted; " + remake)
	errUnknown  = errors.New("the hash is none of bcrypt, $apr1$ and {SHA}; " + remake)
	errNoHash   = errors.New("plain text and DES crypt are not accepted; " + remake)
)

// parseHash takes a hash that can be checked. No error holds a byte of the text.
func parseHash(text string) (storedHash, error) {
	switch {
	case bcryptText.MatchString(text):
		return parseBcrypt(text)
	case apr1Text.MatchString(text):
		return storedHash{text: text, scheme: schemeApr1}, nil
	case shaText.MatchString(text):
		return storedHash{text: text, scheme: schemeSHA}, nil
	}
	return storedHash{}, whyNoHash(text)
}

func parseBcrypt(text string) (storedHash, error) {
	cost, err := bcrypt.Cost([]byte(text))
	if err != nil {
		return storedHash{}, errDamaged
	}
	if cost > maxCost {
		return storedHash{}, fmt.Errorf("bcrypt of cost %d takes too long, the most is %d; %s", cost, maxCost, remake)
	}
	return storedHash{text: text, scheme: schemeBcrypt, cost: uint8(cost)}, nil
}

func whyNoHash(text string) error {
	for prefix, err := range map[string]error{
		"$2a$": errDamaged, "$2b$": errDamaged, "$2y$": errDamaged, "$apr1$": errDamaged, "{SHA}": errDamaged,
		"$5$": errSHACrypt, "$6$": errSHACrypt,
	} {
		if strings.HasPrefix(text, prefix) {
			return err
		}
	}
	if strings.HasPrefix(text, "$") || strings.HasPrefix(text, "{") {
		return errUnknown
	}
	return errNoHash
}

// units is the work of checking a password: 1 for a round of bcrypt, about 60 us on
// a processor of 2025, so that {SHA} is nothing.
func (h storedHash) units(password string) int {
	switch h.scheme {
	case schemeBcrypt:
		return 1 << h.cost
	case schemeApr1:
		return 4 + len(password)/32 // a thousand rounds over all of it
	default:
		return 0
	}
}

// matches compares in constant time, as each of the libraries does.
func (h storedHash) matches(password string) bool {
	switch h.scheme {
	case schemeBcrypt:
		return bcrypt.CompareHashAndPassword([]byte(h.text), []byte(password)) == nil
	case schemeApr1:
		return matches(htpasswd.AcceptMd5, h.text, password)
	default:
		return matches(htpasswd.AcceptSha, h.text, password)
	}
}

func matches(parse htpasswd.PasswdParser, text, password string) bool {
	encoded, err := parse(text)
	return err == nil && encoded != nil && encoded.MatchesPassword(password)
}
