package kube

import (
	"errors"
	"math"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/authz-bridge/authz-bridge/mirror"
)

func TestFailuresAreTold(t *testing.T) {
	resource := schema.GroupResource{Resource: "secrets"}
	foreign := func(code int) error {
		return apierrors.NewGenericServerResponse(code, http.MethodGet, resource, "", "Authorization: Bearer s3cret", 0, true)
	}
	lost := apierrors.NewClientErrorReporter(500, http.MethodGet, string(causeDecoding)).AsObject(errors.New("client connection lost"))
	tests := map[string]struct {
		err    error
		kind   mirror.FailureKind
		detail string
	}{
		"credential not accepted":      {apierrors.NewUnauthorized("no"), mirror.FailureUnauthorized, unauthorizedDetail},
		"permission missing":           {apierrors.NewForbidden(resource, "", errRefused), mirror.FailureForbidden, "may not"},
		"no connection, without URL":   {&url.Error{Op: "Get", URL: "https://host/?x=y", Err: errRefused}, mirror.FailureContact, "connection refused"},
		"server in trouble":            {apierrors.NewInternalError(errRefused), mirror.FailureContact, "the server answered 500 InternalError: Internal error occurred: connection refused"},
		"server busy":                  {apierrors.NewTooManyRequests("later", 1), mirror.FailureContact, "the server answered 429 TooManyRequests: later"},
		"connection lost in a stream":  {apierrors.FromObject(lost), mirror.FailureContact, "client connection lost"},
		"a proxy's answer, not quoted": {foreign(502), mirror.FailureContact, "the server answered 502 InternalError"},
		"a proxy's 403, not quoted":    {foreign(403), mirror.FailureForbidden, "may not"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, mirror.Failure{Kind: test.kind, Detail: test.detail}, classify(test.err, "may not"))
		})
	}
}

func TestServersMayAskForABoundedDelayOnly(t *testing.T) {
	assert.Zero(t, retryAfter(errRefused))
	assert.Equal(t, 7*time.Second, retryAfter(apierrors.NewTooManyRequests("later", 7)))
	for _, seconds := range []int{31_536_000, math.MaxInt32} {
		assert.Equal(t, 30*time.Second, retryAfter(apierrors.NewTooManyRequests("later", seconds)))
	}
}

func TestLongErrorsAreShortened(t *testing.T) {
	got := classify(errors.New(strings.Repeat("x", 5000)), "")
	assert.Len(t, got.Detail, maxDetail+len("..."))
}

func TestOnlyTheServersOwn404MeansThatASecretIsAbsent(t *testing.T) {
	resource := schema.GroupResource{Resource: "secrets"}
	assert.True(t, isSecretNotFound(apierrors.NewNotFound(resource, "a")))
	assert.False(t, isSecretNotFound(apierrors.NewGenericServerResponse(404, http.MethodGet, resource, "a", "404 page not found", 0, true)))
	assert.False(t, isSecretNotFound(errRefused))
}

func TestMissingPermissionIsNamedWithItsFix(t *testing.T) {
	scope := Scope{Kind: ScopeNamespaces, Namespaces: []string{"shop"}}
	assert.Equal(t,
		"may not watch secrets in namespace shop; bind a Role in that namespace that allows get, list and watch on secrets",
		scope.targets()[0].denied("watch"))
	assert.Equal(t,
		"may not list secrets in all namespaces; bind a ClusterRole that allows get, list and watch on secrets, or use scope namespaces",
		Scope{Kind: ScopeCluster}.targets()[0].denied("list"))
	assert.Equal(t,
		"may not watch secret shop/registry; bind a Role in namespace shop that allows list and watch on secrets with resourceNames registry",
		registryTarget(shopKey("registry")).denied("watch"))
}
