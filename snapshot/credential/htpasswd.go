package credential

import (
	"fmt"
	"slices"
	"strings"
)

// maxHashes is how many passwords a user may have: the old and the new one while
// callers change over.
const maxHashes = 2

var errTooManyUsers = fmt.Errorf("holds more than %d lines; use several Secrets", maxKeys)

// passwordReader gathers the users of one Secret.
type passwordReader struct {
	notes
	dataKey string
	users   []user
	byName  map[string]int
}

// readHtpasswd reads one user a line, "user:hash". What Apache permits to come after
// a second colon is of no matter.
func (r *passwordReader) readHtpasswd(text string) error {
	lines, n := 0, 0
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if lines++; lines > maxKeys {
			return errTooManyUsers
		}
		r.readUser(place{r.dataKey, "line", n}, line)
	}
	return nil
}

func (r *passwordReader) readUser(at place, line string) {
	name, rest, found := strings.Cut(line, ":")
	if !found {
		r.warn(at, "is not user:hash; it is left out")
		return
	}
	if !validClient(name) {
		r.warn(at, "the user has no name of letters, digits and -_.@+; it is left out")
		return
	}
	text, _, _ := strings.Cut(rest, ":")
	stored, err := parseHash(text)
	if err != nil {
		r.warn(at, "%v; it is left out", err)
		return
	}
	r.addHash(at, name, stored)
}

// addHash keeps a second password of a user, for the rotation, and no third.
func (r *passwordReader) addHash(at place, name string, stored storedHash) {
	i, found := r.byName[name]
	if !found {
		i = len(r.users)
		r.byName[name] = i
		r.users = append(r.users, user{name: name})
	}
	u := &r.users[i]
	switch {
	case slices.Contains(u.hashes, stored):
		r.warn(at, "is there before; it is left out")
		return
	case len(u.hashes) == maxHashes:
		r.warn(at, "the user has two passwords before; it is left out")
		return
	case len(u.hashes) == 1:
		r.warn(at, "the user has another password before; both are valid")
	}
	if stored.scheme == schemeSHA {
		r.warn(at, "{SHA} is weak: who reads the hash finds the password; %s", remake)
	}
	u.hashes = append(u.hashes, stored)
}
