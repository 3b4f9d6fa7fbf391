package credential

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"io"
	"slices"
)

// Passwords are the users of one App. They are immutable and safe for concurrent
// use.
type Passwords struct {
	pair  pair // where there is one user with a password in plain text
	users []user
	index map[string]int // where there are many
	seed  digest         // of the decoys
}

// pair is a user whose password the Secret has in plain text.
type pair struct {
	client         string
	user, password digest
}

type user struct {
	name   string
	hashes []storedHash // one or two
}

// Owner is what a success belongs to: it is not remembered for another one.
type Owner struct {
	// App is the name of the App, which has a fair share of the Hasher.
	App string
	// Namespace, Name, UID and Version are the Secret's.
	Namespace, Name, UID, Version string
}

// maxPresented bounds a user and a password in bytes: the work of hashing grows with
// them.
const maxPresented = 1024

func newPasswords(users []user, index map[string]int) *Passwords {
	p := &Passwords{users: users}
	if len(users) > fewKeys {
		p.index = index
	}
	all := sha256.New()
	for _, u := range users {
		_, _ = io.WriteString(all, u.name+"\n") // a hash never fails
		for _, h := range u.hashes {
			_, _ = io.WriteString(all, h.text+"\n")
		}
	}
	all.Sum(p.seed[:0])
	return p
}

// Equal reports whether both take the same passwords of the same users, in the same
// order.
func (p *Passwords) Equal(other *Passwords) bool {
	return p.pair == other.pair && slices.EqualFunc(p.users, other.users, user.equal)
}

func (u user) equal(other user) bool {
	return u.name == other.name && slices.Equal(u.hashes, other.hashes)
}

// Check returns whose user and password these are. The result is Valid, Unknown, or
// Overloaded, which is also for a password that has to be hashed when there is no
// Hasher, or when cancel is closed before it is its turn. It waits for its turn, and
// does the same work for a user that is unknown as for a password that is wrong.
//
// The empty password is never right. Neither is one of more than 1,024 bytes, or of
// more than 72 if its hash is bcrypt.
func (p *Passwords) Check(h *Hasher, owner Owner, user, password string, cancel <-chan struct{}) (client string, r Result) {
	if len(user) > maxPresented || len(password) > maxPresented || !presentable(password) {
		return "", Unknown
	}
	if p.pair.client != "" {
		return p.pair.check(user, password)
	}
	if h == nil {
		return "", Overloaded
	}
	found, known := p.find(user)
	a := attempt{user: user, password: password, hashes: hashesFor(password, found.hashes), decoy: !known}
	if r = h.check(owner, a, cancel); r != Valid {
		return "", r
	}
	return found.name, Valid
}

// check looks at both halves in any case.
func (p *pair) check(user, password string) (client string, r Result) {
	u, w := sum(user), sum(password)
	if subtle.ConstantTimeCompare(u[:], p.user[:])&subtle.ConstantTimeCompare(w[:], p.password[:]) != 1 {
		return "", Unknown
	}
	return p.client, Valid
}

// find returns a decoy for a user that is unknown.
func (p *Passwords) find(name string) (found *user, known bool) {
	if p.index != nil {
		if i, ok := p.index[name]; ok {
			return &p.users[i], true
		}
		return p.decoy(name), false
	}
	for i := range p.users {
		if p.users[i].name == name {
			return &p.users[i], true
		}
	}
	return p.decoy(name), false
}

// decoy returns the user whose hashes an unknown name costs: always the same one, so
// that asking again tells nothing. It is chosen by a hash that is keyed with all
// hashes of the file and not by the process, for a name that costs now this and now
// that, at two replicas or after a restart, would be known as unknown.
func (p *Passwords) decoy(name string) *user {
	mac := hmac.New(sha256.New, p.seed[:])
	_, _ = io.WriteString(mac, name) // a hash never fails
	n := binary.BigEndian.Uint64(mac.Sum(nil))
	return &p.users[n%uint64(len(p.users))]
}

// hashesFor leaves out bcrypt for a password that it would cut.
func hashesFor(password string, hashes []storedHash) []storedHash {
	if len(password) <= maxBcryptPassword {
		return hashes
	}
	return slices.DeleteFunc(slices.Clone(hashes), func(h storedHash) bool { return h.scheme == schemeBcrypt })
}
