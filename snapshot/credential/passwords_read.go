package credential

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// htpasswdKeys are the data keys that hold users where none is named (ingress-nginx
// and Contour, Envoy Gateway, NGINX, Traefik).
var htpasswdKeys = []string{"auth", ".htpasswd", "htpasswd", "users"}

// The data keys of a Secret of type kubernetes.io/basic-auth.
const (
	usernameKey   = "username"
	passwordKey   = "password"
	basicAuthType = "kubernetes.io/basic-auth"
)

// errNoUserLeft says the fix, since each line that is wrong is a warning.
var errNoUserLeft = errors.New("holds no user that can be used; add one with htpasswd -B -C 10")

// ReadPasswords reads users with their passwords. What is wrong with one line spoils
// that line alone and is a warning; an error means that nobody can be let in, and
// names the fix. Spec.Client counts for nothing: each user has a name.
func ReadPasswords(s Secret, spec Spec) (*Passwords, Warnings, error) {
	format, dataKey, err := decidePasswords(s, spec)
	if err != nil {
		return nil, nil, err
	}
	r := &passwordReader{dataKey: dataKey, byName: make(map[string]int)}
	if format == UsernamePassword {
		p, err := r.readPair(s)
		return p, r.said(), err
	}
	p, err := r.readFile(s)
	if err != nil {
		return nil, r.said(), located(dataKey, err)
	}
	return p, r.said(), nil
}

// decidePasswords returns how to read a Secret, and the data key to read.
func decidePasswords(s Secret, spec Spec) (Format, string, error) {
	switch spec.Format {
	case UsernamePassword:
		return UsernamePassword, "", nil
	case Htpasswd:
		key, err := htpasswdKey(s, spec.DataKey)
		return Htpasswd, key, err
	case "", Auto:
		return decidePasswordsByKeys(s, spec.DataKey)
	}
	_, err := Basic.ParseFormat(string(spec.Format))
	return "", "", err
}

func decidePasswordsByKeys(s Secret, dataKey string) (Format, string, error) {
	if dataKey == usernameKey || dataKey == passwordKey {
		return "", "", fmt.Errorf("key %q: is half of a pair; leave key out, or write format: basic", dataKey)
	}
	if dataKey != "" {
		return Htpasswd, dataKey, nil
	}
	kind, keys := s.Type(), s.Keys()
	if strings.HasPrefix(kind, "kubernetes.io/") && kind != basicAuthType {
		return "", "", fmt.Errorf("type %s holds no users; name a key if one has htpasswd lines all the same", kind)
	}
	if kind != basicAuthType && (!slices.Contains(keys, usernameKey) || !slices.Contains(keys, passwordKey)) {
		key, err := htpasswdKey(s, "")
		return Htpasswd, key, err
	}
	for _, key := range htpasswdKeys {
		if slices.Contains(keys, key) {
			return "", "", fmt.Errorf("key %q is there beside username and password; name it in key, or write format: basic", key)
		}
	}
	return UsernamePassword, "", nil
}

// htpasswdKey returns the named data key, or else the only one that usually holds
// users.
func htpasswdKey(s Secret, named string) (string, error) {
	if named != "" {
		return named, nil
	}
	var found []string
	for _, key := range s.Keys() {
		if slices.Contains(htpasswdKeys, key) {
			found = append(found, key)
		}
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("has none of the keys %s, nor username with password; name the key that has htpasswd lines in key",
			strings.Join(htpasswdKeys, ", "))
	case 1:
		return found[0], nil
	}
	return "", fmt.Errorf("keys %q and %q may both hold users; name one in key", found[0], found[1])
}

func (r *passwordReader) readFile(s Secret) (*Passwords, error) {
	text, ok := s.Value(r.dataKey)
	if !ok {
		return nil, errors.New("does not exist; add it")
	}
	if err := r.readHtpasswd(text); err != nil {
		return nil, err
	}
	if len(r.users) == 0 {
		return nil, errNoUserLeft
	}
	return newPasswords(r.users, r.byName), nil
}

func (r *passwordReader) readPair(s Secret) (*Passwords, error) {
	name, err := r.readHalf(s, usernameKey)
	if err != nil {
		return nil, err
	}
	if !validClient(name) || strings.Contains(name, ":") {
		return nil, located(usernameKey, errors.New("has more than letters, digits and -_.@+; choose another name"))
	}
	password, err := r.readHalf(s, passwordKey)
	if err != nil {
		return nil, err
	}
	return &Passwords{pair: pair{client: name, user: sum(name), password: sum(password)}}, nil
}

// readHalf trims what editors and echo add. Blanks may be meant.
func (r *passwordReader) readHalf(s Secret, dataKey string) (string, error) {
	value, ok := s.Value(dataKey)
	if !ok {
		return "", located(dataKey, errors.New("does not exist; add it"))
	}
	trimmed := strings.TrimRight(value, "\r\n")
	if !presentable(trimmed) {
		return "", located(dataKey, errors.New("is empty, or has control characters, which no caller could send; write it anew"))
	}
	if len(trimmed) > maxPresented {
		return "", located(dataKey, fmt.Errorf("is longer than %d bytes; choose a shorter one", maxPresented))
	}
	if trimmed != value {
		r.warn(place{dataKey: dataKey}, "the newline at the end is trimmed")
	}
	return trimmed, nil
}
