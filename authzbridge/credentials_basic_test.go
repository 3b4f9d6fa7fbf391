package authzbridge_test

import (
	"maps"
	"slices"
	"strings"
)

// passwordHashes are of "old-password" and "new-password", as other programs have
// made them: crypt(3) and openssl. The cost of bcrypt is the least there is.
var passwordHashes = map[string]struct{ old, fresh string }{
	"bcrypt-2a": {
		"$2a$04$abcdefghijklmnopqrstuuveB/Znz.STtZLfF6DgdZEaGheh0dHTu",
		"$2a$04$abcdefghijklmnopqrstuuJkV5dur3rOed9vgPljP8l3dbE3Re/pK",
	},
	"bcrypt-2b": {
		"$2b$04$abcdefghijklmnopqrstuuveB/Znz.STtZLfF6DgdZEaGheh0dHTu",
		"$2b$04$abcdefghijklmnopqrstuuJkV5dur3rOed9vgPljP8l3dbE3Re/pK",
	},
	"bcrypt-2y": {
		"$2y$04$abcdefghijklmnopqrstuuveB/Znz.STtZLfF6DgdZEaGheh0dHTu",
		"$2y$04$abcdefghijklmnopqrstuuJkV5dur3rOed9vgPljP8l3dbE3Re/pK",
	},
	"apr1": {"$apr1$saltsalt$S8tj9n1TU2SCHD3UgpQOY.", "$apr1$saltsalt$YLN7AqCf4aT5DxBxEkjvj."},
	"sha":  {"{SHA}TxgUjzeendBmXB1wCwA4Hi1cwfY=", "{SHA}/v2lBCUbc9MKfPPQR9JBOIo8EbM="},
}

// htpasswd is a file with passwords of alice.
func htpasswd(hashes ...string) string {
	var b strings.Builder
	for _, hash := range hashes {
		b.WriteString("alice:" + hash + "\n")
	}
	return b.String()
}

// passwordRotations has every format of users, every hash, and every data key.
func passwordRotations() []rotation {
	all := append(hashedPasswords(), plainPasswords()...)
	for i := range all {
		r := &all[i]
		r.carry = asBasic
		r.old, r.fresh = caller{"alice:old-password", "alice"}, caller{"alice:new-password", "alice"}
		r.wrong = append(r.wrong, "alice:wrong", "alice:", "bob:old-password", "Alice:old-password", "alice:OLD-PASSWORD",
			"alice:old-password:", "alice:old-password\x00", ":old-password", "alice", "alice:"+passwordHashes["apr1"].old)
	}
	return all
}

func hashedPasswords() []rotation {
	var all []rotation
	dataKeys := []string{"auth", ".htpasswd", "htpasswd", "users", "by-name"}
	for i, hash := range slices.Sorted(maps.Keys(passwordHashes)) {
		r := hashedPassword("htpasswd-with-"+hash, dataKeys[i], hash, "[{basic: {}}]")
		if dataKeys[i] == "by-name" {
			r.secretKey = "by-name"
		}
		all = append(all, r)
	}
	explicit := hashedPassword("htpasswd-explicit", "password", "bcrypt-2y", "[{basic: {key: password, format: htpasswd}}]")
	for _, data := range []map[string]string{explicit.before, explicit.during, explicit.after} {
		data["password"] = "# callers\r\n\r\n" + strings.ReplaceAll(data["password"], "\n", "\r\n")
		data["username"] = "alice"
	}
	apr1, bcrypt := passwordHashes["apr1"].old, passwordHashes["bcrypt-2b"].fresh
	return append(all, explicit, rotation{
		app: "htpasswd-to-a-better-hash", anyOf: "[{basic: {realm: shop}}]",
		before: map[string]string{"auth": htpasswd(apr1)},
		during: map[string]string{"auth": htpasswd(apr1, bcrypt)},
		after:  map[string]string{"auth": htpasswd(bcrypt)},
	})
}

func hashedPassword(name, dataKey, hash, anyOf string) rotation {
	of := passwordHashes[hash]
	return rotation{
		app: name, anyOf: anyOf,
		before: map[string]string{dataKey: htpasswd(of.old)},
		during: map[string]string{dataKey: htpasswd(of.old, of.fresh)},
		after:  map[string]string{dataKey: htpasswd(of.fresh)},
	}
}

func plainPasswords() []rotation {
	pair := func(password, auth string) map[string]string {
		data := map[string]string{"username": "alice", "password": password}
		if auth != "" {
			data["auth"] = auth
		}
		return data
	}
	other := strings.ReplaceAll(htpasswd(passwordHashes["sha"].old), "alice", "carol")
	fresh := htpasswd(passwordHashes["bcrypt-2y"].fresh)
	return []rotation{
		{
			app: "basic-in-a-typed-secret", kind: "kubernetes.io/basic-auth", anyOf: "[{basic: {}}]",
			before: pair("old-password", ""), after: pair("new-password\n", ""),
		},
		{
			app: "basic-of-username-and-password", anyOf: "[{basic: {}}]",
			before: pair("old-password\n", ""), after: pair("new-password", ""),
		},
		{
			app: "basic-explicit", anyOf: "[{basic: {format: basic}}]", wrong: []string{"carol:old-password"},
			before: pair("old-password", other), after: pair("new-password", other),
		},
		{
			app: "basic-and-htpasswd", anyOf: "[{basic: {format: basic}}, {basic: {key: auth}}]",
			before: pair("old-password", other), during: pair("old-password", fresh), after: pair("new-password", fresh),
		},
	}
}
