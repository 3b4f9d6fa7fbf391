package authzbridge_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// hashes returns how many password hashes were ever computed.
func (d *door) hashes() int64 {
	d.tb.Helper()
	return d.metric("authz_bridge_password_hashes_total")
}

// hashesFor returns how many a request costs, and its status.
func (d *door) hashesFor(host, credential string) (cost int64, status int) {
	d.tb.Helper()
	before := d.hashes()
	status = d.send(host, asBasic(credential)).status
	return d.hashes() - before, status
}

// usersOf has so many users with one password each.
func usersOf(hash string, count int) string {
	var b strings.Builder
	for i := range count {
		fmt.Fprintf(&b, "user-%d:%s\n", i, hash)
	}
	return b.String()
}

func TestAnUnknownUserCostsAsManyHashesAsAWrongPassword(t *testing.T) {
	bcrypt, apr1 := passwordHashes["bcrypt-2y"], passwordHashes["apr1"]
	w := newTown(t)
	cases := []struct {
		app, known string
		data       map[string]string
		cost       int64
	}{
		{"one-user", "alice", map[string]string{"auth": htpasswd(bcrypt.old)}, 1},
		{"one-user-of-apr1", "alice", map[string]string{"auth": htpasswd(apr1.old)}, 1},
		{"while-changing-over", "alice", map[string]string{"auth": htpasswd(apr1.old, bcrypt.fresh)}, 2},
		{"many-users", "user-39", map[string]string{"auth": usersOf(bcrypt.old, 40)}, 1},
		{"a-plain-pair", "alice", map[string]string{"username": "alice", "password": "old-password"}, 0},
	}
	var entries []string
	for _, c := range cases {
		r := rotation{app: c.app, anyOf: "[{basic: {}}]"}
		r.put(w, c.data)
		entries = append(entries, r.entry())
	}
	w.registry(document(entries...))
	d := keyed(t, w)
	d.becomes(cases[0].app+".example.com", http.StatusUnauthorized)

	for _, c := range cases {
		t.Run(c.app, func(t *testing.T) {
			costs := func(credential string, want int64) {
				t.Helper()
				cost, status := d.hashesFor(c.app+".example.com", credential)
				assert.Equal(t, http.StatusUnauthorized, status)
				assert.Equal(t, want, cost, "%.40q", credential)
			}
			for range 2 { // nothing that is wrong is remembered
				for _, user := range []string{c.known, "nobody", "user-40", strings.ToUpper(c.known), c.known + "x"} {
					costs(user+":wrong", c.cost)
				}
			}
			for _, user := range []string{c.known, "nobody"} {
				costs(user+":", 0)
				costs(user+":"+strings.Repeat("x", 1025), 0)
			}
			costs(strings.Repeat("x", 1025)+":wrong", 0)
		})
	}
}

func TestARightPasswordIsHashedOnceForEachVersionOfTheSecret(t *testing.T) {
	w := newTown(t)
	shop := rotation{app: "shop", secretKey: "auth", anyOf: "[{basic: {}}]"}
	data := map[string]string{"auth": htpasswd(passwordHashes["bcrypt-2b"].old)}
	shop.put(w, data)
	w.registry(document(shop.entry()))
	d := keyed(t, w)
	d.becomes(shop.host(), http.StatusUnauthorized)
	right := func() (cost int64, status int) { return d.hashesFor(shop.host(), "alice:old-password") }
	remembered := func() {
		t.Helper()
		cost, status := right()
		assert.Equal(t, http.StatusOK, status)
		assert.Zero(t, cost)
	}

	cost, status := right()
	require.Equal(t, http.StatusOK, status)
	assert.Equal(t, int64(1), cost)
	remembered()
	cost, _ = d.hashesFor(shop.host(), "alice:wrong")
	assert.Equal(t, int64(1), cost, "a success helps no other password")
	remembered()

	for _, touch := range []struct {
		what string
		do   func()
	}{
		{"an annotation", func() {
			w.alter("shop", func(s *corev1.Secret) { s.Annotations = map[string]string{"touched": "yes"} })
		}},
		{"another data key", func() {
			w.alter("shop", func(s *corev1.Secret) { s.Data["other"] = []byte("touched") })
		}},
		{"a new object with the same bytes", func() {
			w.DeleteSecret(t, w.namespace, "shop")
			shop.put(w, data)
		}},
	} {
		t.Log(touch.what)
		before := d.hashes()
		touch.do()
		eventually(t, func() bool {
			_, status = right()
			return status == http.StatusOK && d.hashes() > before
		}, "%s: the password is never hashed anew", touch.what)
		assert.Equal(t, before+1, d.hashes(), touch.what)
		remembered()
	}
}
