package authzbridge_test

import (
	"fmt"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// failing starts a door whose app behind is down, and whose error routes lead to
// another one, behind more handlers if there are any.
func failing(t *testing.T, w *town, before, upstream string) *door {
	t.Helper()
	d := newDoor(t, w.option())
	site := freeAddress(t)
	_, port, err := net.SplitHostPort(site)
	require.NoError(t, err)
	d.sites = fmt.Sprintf(`http://:%s {
	bind 127.0.0.1
	route {
		%s
		authz_bridge
		reverse_proxy %s
	}
	handle_errors {
		reverse_proxy %s {
			header_up X-Status {err.status_code}
		}
	}
}`, port, before, freeAddress(t), upstream)
	require.NoError(t, d.load())
	d.site = site
	return d
}

const toTheAppBehind = `
anyOf: [{apiKey: {from: [{header: X-API-Key}, {header: X-Kept}], key: token}}]
identityHeader: X-Auth-Client
strip: false
inject: {header: Authorization, scheme: Bearer, key: upstream}`

func TestWhatTheAppBehindIsGivenReachesNoErrorRoute(t *testing.T) {
	w := newTown(t)
	w.secret("shop", map[string]string{"token": "the-key", "upstream": "given-away"})
	w.label("shop", "true")
	w.registry(document(app("shop", "shop.example.com") + toTheAppBehind))
	d := failing(t, w, "", startUpstream(t, headersInJSON))
	d.becomes("shop.example.com", http.StatusUnauthorized)
	got := d.send("shop.example.com", http.Header{"X-Kept": {"the-key"}, "Cookie": {"theme=dark"}})
	require.Equal(t, http.StatusBadGateway, got.status, "the app behind is down")
	h := got.behind(t)
	for _, name := range []string{"Authorization", "X-Auth-Client", "X-Kept", "X-Api-Key"} {
		assert.Empty(t, h[name], name)
	}
	assert.Equal(t, "theme=dark", h.Get("Cookie"))
}

func TestTrailersReachNoErrorRoute(t *testing.T) {
	w := newTown(t)
	w.secret("shop", map[string]string{"token": "the-key", "upstream": "given-away"})
	w.label("shop", "true")
	w.registry(document(app("shop", "shop.example.com") + toTheAppBehind))
	upstream := startUpstream(t, echo)
	for about, before := range map[string]string{"as it came": "", "behind a handler that copies the request": "tracing"} {
		t.Run(about, func(t *testing.T) {
			d := failing(t, w, before, upstream)
			d.becomes("shop.example.com", http.StatusUnauthorized)
			for key, status := range map[string]int{"": http.StatusUnauthorized, "the-key": http.StatusBadGateway} {
				got := d.overWireWith("2\r\nhi\r\n0\r\nX-Sum: 1\r\nX-Auth-Client: admin\r\nX-API-Key: the-key\r\n\r\n",
					"POST / HTTP/1.1", "Host: shop.example.com", "X-API-Key: "+key,
					"Transfer-Encoding: chunked", "Trailer: X-Sum, X-Auth-Client")
				assert.Equal(t, status, got.status)
				assert.NotContains(t, got.body, "admin")
				assert.NotContains(t, got.body, "the-key")
			}
		})
	}
}
