package authzbridge_test

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// walled starts a door with an App for this machine and one for 10.0.0.0/8.
func walled(t *testing.T, global string) *door {
	t.Helper()
	w := newTown(t)
	w.secret("here", someToken())
	w.secret("ten", someToken())
	w.registry(document(
		app("here", "here.example.com")+"\nallowCIDRs: [127.0.0.0/8, '::1']",
		app("ten", "ten.example.com")+"\nallowCIDRs: [10.0.0.0/8]",
	))
	d := newDoor(t, w.option())
	d.global = global
	require.NoError(t, d.load())
	d.becomes("ten.example.com", http.StatusForbidden)
	return d
}

func (d *door) statusVia(host, forwardedFor string) int {
	d.tb.Helper()
	return d.send(host, http.Header{"X-Forwarded-For": {forwardedFor}}).status
}

func TestAddressesAreThoseOfTheConnection(t *testing.T) {
	d := walled(t, "")
	assert.Equal(t, http.StatusOK, d.status("here.example.com"))
	assert.Equal(t, http.StatusForbidden, d.statusVia("ten.example.com", "10.1.2.3"), "anybody can say so")
	assert.Equal(t, int64(2), d.metric(`authz_bridge_decisions_total{app="ten",reason="address_denied"}`))
}

func TestATrustedProxyMustBeReadStrictly(t *testing.T) {
	d := walled(t, "servers {\ntrusted_proxies static 127.0.0.0/8\n}")
	assert.Equal(t, http.StatusForbidden, d.statusVia("ten.example.com", "10.1.2.3"))
	assert.Equal(t, http.StatusForbidden, d.statusVia("here.example.com", "127.0.0.1"))
	assert.Equal(t, http.StatusOK, d.status("here.example.com"), "a proxy that asks for itself")
	text, err := os.ReadFile(d.log)
	require.NoError(t, err)
	assert.Equal(t, 1, strings.Count(string(text), "set trusted_proxies_strict"), "the log names the fix, once")
}

func TestAStrictlyReadProxyVouchesForTheLastAddressBeforeIt(t *testing.T) {
	d := walled(t, "servers {\ntrusted_proxies static 127.0.0.0/8\ntrusted_proxies_strict\n}")
	assert.Equal(t, http.StatusOK, d.statusVia("ten.example.com", "10.1.2.3"))
	assert.Equal(t, http.StatusOK, d.statusVia("ten.example.com", "203.0.113.5, 10.1.2.3"))
	assert.Equal(t, http.StatusForbidden, d.statusVia("ten.example.com", "10.1.2.3, 203.0.113.5"), "the client's own word comes first")
	assert.Equal(t, http.StatusForbidden, d.statusVia("ten.example.com", "nonsense"))
}
