package kube

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/authz-bridge/authz-bridge/mirror"
)

func TestProbeAsksForNoByteOfTheRegistry(t *testing.T) {
	b := newBench(t)
	b.pace = brisk()
	document := strings.Repeat("x", 300_000)
	b.cluster.PutSecret(t, b.team, registryName, map[string]string{"registry.yaml": document})
	answers := make(chan []byte, 1000)
	config := b.cluster.Admin()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(request *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(request)
			if err != nil || !isProbe(request) {
				return response, err
			}
			body, err := io.ReadAll(response.Body)
			response.Body.Close()
			response.Body = io.NopCloser(bytes.NewReader(body))
			answers <- body
			return response, err
		})
	})
	seen := &tap{}
	b.start(t, seen.on(config), b.shopScope())
	first := string(<-answers)
	b.await(t, "the registry is known", func() bool { return b.registry != nil })
	b.stop()

	assert.Less(t, len(first), 10_000)
	assert.NotContains(t, first, `"data"`)
	assert.Contains(t, first, `"kind":"PartialObjectMetadataList"`)
	asked := seen.requests(isProbe)[0]
	assert.Equal(t, "/api/v1/namespaces/"+b.team+"/secrets", asked.URL.Path)
	assert.Equal(t, url.Values{"fieldSelector": {"metadata.name=" + registryName}}, asked.URL.Query(),
		"without a resource version no cache may answer")
}

func TestProbeSaysInWordsWhatAnsweredIt(t *testing.T) {
	const html = "<html><body>Welcome, t0ken!</body></html>"
	const unversioned = "the answer to a list has no resource version; is it an API server?"
	b := newBench(t)
	b.pace = brisk()
	for name, test := range map[string]struct {
		code       int
		kind, body string
		detail     string
	}{
		"a web page":                       {code: 200, kind: "text/html", body: html, detail: unversioned},
		"nothing":                          {code: 200, kind: "application/json", detail: unversioned},
		"a list without a version":         {code: 200, kind: "application/json", body: `{"kind":"List","metadata":{},"items":[]}`, detail: unversioned},
		"something that is no list at all": {code: 200, kind: "application/json", body: `[1]`, detail: unversioned},
		"a gateway's error page":           {code: 502, kind: "text/html", body: html, detail: "the server answered 502 InternalError"},
		"a redirect to a login":            {code: 404, kind: "text/html", body: html, detail: "the server answered 404 NotFound"},
	} {
		t.Run(name, func(t *testing.T) {
			b.recorder = newRecorder()
			faults := &tap{}
			faults.answerProbes(test.code, test.kind, test.body)
			b.start(t, faults.on(b.cluster.Admin()), b.shopScope())
			f := b.awaitFailure(t, b.probeTitle(), 1)
			assert.Equal(t, mirror.Failure{Kind: mirror.FailureContact, Detail: test.detail}, f)
			asOf := b.lastFresh().AsOf
			begin := time.Now()
			assert.True(t, asOf.Before(begin))

			faults.setAnswer(nil)
			b.await(t, "it recovers", func() bool { return b.recoveries[b.probeTitle()] == 1 })
			b.awaitContact(t, begin)
			b.stop()
			assert.Empty(t, b.failures[b.registryTitle()], "the watch is well")
			assert.Equal(t, 1, b.registryCalls, "a probe that got no answer renews nothing")
		})
	}
}

func TestRow10ProbeObeysRetryAfter(t *testing.T) {
	t.Parallel() // it waits, and leaves the cluster alone
	b := newBench(t)
	b.pace = brisk()
	answers := 2
	faults := &tap{}
	faults.answer = func(request *http.Request) *http.Response {
		if !isProbe(request) || answers == 0 {
			return nil
		}
		answers--
		response := page(request, http.StatusTooManyRequests, "text/plain", "")
		response.Header.Set("Retry-After", "1")
		return response
	}
	var times []time.Time
	config := faults.on(b.cluster.Admin())
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(request *http.Request) (*http.Response, error) {
			if isProbe(request) {
				times = append(times, time.Now())
			}
			return next.RoundTrip(request)
		})
	})
	b.start(t, config, b.shopScope())
	b.await(t, "it recovers", func() bool { return b.recoveries[b.probeTitle()] == 1 })
	b.stop()

	for i := range 2 {
		assert.GreaterOrEqual(t, times[i+1].Sub(times[i]), time.Second)
	}
	busy := mirror.Failure{Kind: mirror.FailureContact, Detail: "the server answered 429 TooManyRequests"}
	assert.Equal(t, []mirror.Failure{busy, busy}, b.failures[b.probeTitle()])
	assert.Empty(t, b.failures[b.registryTitle()])
}

func allowNamespaces() rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get"}}
}

func (b *bench) uid(t *testing.T, namespace string) string {
	t.Helper()
	found, err := b.cluster.AdminClient().CoreV1().Namespaces().Get(t.Context(), namespace, metav1.GetOptions{})
	require.NoError(t, err)
	return string(found.UID)
}

func TestClusterIsToldAtTheFirstContact(t *testing.T) {
	for name, test := range map[string]struct {
		rights func(t *testing.T, b *bench, user string)
		id     func(t *testing.T, b *bench) []string
	}{
		"by the namespace of every cluster": {
			func(t *testing.T, b *bench, user string) { b.cluster.Grant(t, user, "", allowNamespaces()) },
			func(t *testing.T, b *bench) []string {
				return []string{"kube-system/" + b.uid(t, metav1.NamespaceSystem)}
			},
		},
		"by that of the Registry where that one may not be seen": {
			func(t *testing.T, b *bench, user string) { b.cluster.Grant(t, user, b.team, allowNamespaces()) },
			func(t *testing.T, b *bench) []string { return []string{b.team + "/" + b.uid(t, b.team)} },
		},
		"not at all where neither may be seen": {
			func(*testing.T, *bench, string) {},
			func(*testing.T, *bench) []string { return nil },
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.pace = brisk()
			user, config := b.reader(t)
			test.rights(t, b, user)
			b.cluster.PutSecret(t, b.team, registryName, map[string]string{"registry.yaml": "one"})
			seen := &tap{}
			b.start(t, seen.on(config), Scope{Kind: ScopeNamespaces, Namespaces: []string{b.team}})
			b.await(t, "some probes are answered", func() bool { return b.registry != nil && len(b.fresh) > 5 })
			b.stop()

			assert.Equal(t, test.id(t, b), b.clusters, "once")
			assert.Empty(t, b.failures[b.probeTitle()])
			asked := seen.requests(func(r *http.Request) bool {
				return strings.HasPrefix(r.URL.Path, "/api/v1/namespaces/") && strings.Count(r.URL.Path, "/") == 4
			})
			assert.LessOrEqual(t, len(asked), 2, "nobody asks again who may not know")
		})
	}
}

func TestClusterThatCannotBeToldNowIsAskedForAgain(t *testing.T) {
	b := newBench(t)
	b.pace = brisk()
	failures := 3
	faults := &tap{}
	faults.answer = func(request *http.Request) *http.Response {
		if !strings.HasSuffix(request.URL.Path, "/"+metav1.NamespaceSystem) || failures == 0 {
			return nil
		}
		failures--
		return page(request, http.StatusInternalServerError, "text/plain", "")
	}
	b.start(t, faults.on(b.cluster.Admin()), b.shopScope())
	b.await(t, "the cluster is told", func() bool { return len(b.clusters) == 1 })
	b.stop()
	assert.Equal(t, []string{"kube-system/" + b.uid(t, metav1.NamespaceSystem)}, b.clusters)
	assert.Empty(t, b.failures[b.probeTitle()])
}

func TestProbeEndsWithItsContext(t *testing.T) {
	b := newBench(t)
	api, err := newClient(clientConfig(b.cluster.Admin()))
	require.NoError(t, err)
	defer api.close()
	r := &registry{key: shopKey("registry"), sink: b.recorder}
	p := newProber(r, api, newValidation(b.recorder), make(chan renewal, 1), defaultPace())
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { p.run(ctx); close(done) }()
	b.awaitContact(t, time.Time{})
	cancel()
	select {
	case <-done:
	case <-time.After(patience):
		assert.Fail(t, "the prober does not end")
	}
	assert.Empty(t, b.failures)
}
