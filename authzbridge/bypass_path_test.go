package authzbridge_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestOnlyAPathThatEverybodyTakesForTheSameIsPublic(t *testing.T) {
	d := townBehindAProxy(t)
	const shop = "http://shop.example.com"
	for target, want := range map[string]int{
		"/healthz":                       200,
		"/healthz?":                      200,
		"/healthz?next=/admin":           200,
		"/static/a.css":                  200,
		"/static/a/b%20c":                200,
		shop + "/healthz":                200,
		"/":                              401,
		"/admin":                         401,
		"/healthz/":                      401,
		"/healthz/../admin":              401,
		"/healthz/..":                    401,
		"/healthz/.":                     401,
		"/admin/../healthz":              401,
		"/./healthz":                     401,
		"/admin/%2e%2e/healthz":          401,
		"/admin/%2E%2E/healthz":          401,
		"/admin/.%2e/healthz":            401,
		"/admin;/../healthz":             401,
		"/healthz;/../admin":             401,
		"/healthz;a=b":                   401,
		"//healthz":                      401,
		"/healthz//":                     401,
		"///healthz":                     401,
		"/healthz%2f..%2fadmin":          401,
		"/healthz%2F..%2Fadmin":          401,
		"/healthz%5c..%5cadmin":          401,
		`/healthz\..\admin`:              401,
		"/admin?/healthz":                401,
		"/admin?x=/../healthz":           401,
		"/admin#/healthz":                401,
		"/admin%23/healthz":              401,
		"/admin%3f/healthz":              401,
		"/%68ealthz":                     401,
		"/%2568ealthz":                   401,
		"/healthz%00":                    401,
		"/healthz%00/../admin":           401,
		"/healthz%0a":                    401,
		"/healthz%20":                    401,
		"/healthz%c0%ae":                 401,
		"/HEALTHZ":                       401,
		"/healthz.html":                  401,
		"/static":                        401,
		"/static/../admin":               401,
		"/static/%2e%2e/admin":           401,
		"/static/..%2fadmin":             401,
		"/static/..;/admin":              401,
		"/static/%252e%252e/admin":       401,
		"/static//admin":                 401,
		"/static/...":                    401,
		shop + "/admin":                  401,
		shop + "/healthz/../admin":       401,
		shop + "//healthz":               401,
		shop + "/admin?/healthz":         401,
		"https://shop.example.com/admin": 401,
		"http:healthz":                   400,
		"healthz":                        400,
	} {
		t.Run(target, func(t *testing.T) {
			got := d.overWire("GET "+target+" HTTP/1.1", "Host: shop.example.com")
			assert.Equal(t, want, got.status)
			line, _, _ := strings.Cut(got.body, "\r\n")
			switch want {
			case http.StatusOK:
				assert.Equal(t, "GET "+strings.TrimPrefix(target, shop)+" HTTP/1.1", line, "goes on as it was judged")
			case http.StatusUnauthorized:
				assert.Contains(t, got.body, "X-Status: 401", "reaches an app behind as an error alone")
			}
		})
	}
}

func TestAPathIsPublicForItsMethodsAlone(t *testing.T) {
	d := townBehindAProxy(t)
	for method, want := range map[string]int{
		"GET": 200, "HEAD": 200, "POST": 401, "PUT": 401, "DELETE": 401, "OPTIONS": 401, "TRACE": 401, "get": 401, "GETX": 401,
	} {
		assert.Equal(t, want, d.overWire(method+" /healthz HTTP/1.1", "Host: shop.example.com", "Content-Length: 0").status, method)
	}
	for name, lines := range map[string][]string{
		"in a header":            {"X-HTTP-Method-Override: GET"},
		"no origin":              {"Access-Control-Request-Method: PUT"},
		"no method":              {"Origin: https://a.example"},
		"an origin twice":        {"Origin: https://a.example", "Origin: https://b.example", "Access-Control-Request-Method: PUT"},
		"an alias":               {"Origin: https://a.example", "Access_Control_Request_Method: PUT"},
		"for another's hostname": {"Origin: https://a.example", "X-Forwarded-Host: open.example.com"},
	} {
		assert.Equal(t, http.StatusUnauthorized, d.overWire(append([]string{"OPTIONS / HTTP/1.1", "Host: shop.example.com"}, lines...)...).status, name)
	}
}

func TestTheHostOfAnAbsoluteTargetIsTheOneThatCounts(t *testing.T) {
	d := townBehindAProxy(t)
	got := d.overWire("GET http://shop.example.com/ HTTP/1.1", "Host: open.example.com")
	assert.Equal(t, http.StatusUnauthorized, got.status)
	got = d.overWire("GET http://open.example.com/ HTTP/1.1", "Host: shop.example.com")
	assert.Equal(t, http.StatusOK, got.status)
	assert.Equal(t, []string{"Host: open.example.com"}, headersLike(got.body, "Host"), "and the app behind sees no other")
	got = d.overWire("GET / HTTP/1.1", "Host: shop.example.com", "X-Forwarded-Host: open.example.com", "Forwarded: host=open.example.com")
	assert.Equal(t, http.StatusUnauthorized, got.status)
}
