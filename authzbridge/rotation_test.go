package authzbridge_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// rotation is an App whose credential is replaced while callers use it.
type rotation struct {
	app       string            // its name says what is special
	namespace string            // of its Secret; empty for that of the Registry
	secretKey string            // key of secretRef; empty for any
	kind      corev1.SecretType // empty for Opaque
	anyOf     string            // in YAML's flow style
	carry     carrier
	old       caller
	fresh     caller
	wrong     []string // credentials that are never right
	// before, during and after are the Secret's data: the old credential alone, both,
	// the fresh one alone. There is no during where a format holds one value.
	before, during, after map[string]string
}

// caller is a credential, and who it belongs to.
type caller struct{ credential, identity string }

// carrier puts a credential where a request carries it.
type carrier func(credential string) http.Header

// inHeader is for a header with a scheme, or with none.
func inHeader(name, scheme string) carrier {
	return func(credential string) http.Header {
		if scheme != "" {
			credential = scheme + " " + credential
		}
		return http.Header{http.CanonicalHeaderKey(name): {credential}}
	}
}

func inCookie(name string) carrier {
	return func(credential string) http.Header { return http.Header{"Cookie": {name + "=" + credential}} }
}

// asBasic takes "user:password".
func asBasic(credential string) http.Header {
	return http.Header{"Authorization": {"Basic " + base64.StdEncoding.EncodeToString([]byte(credential))}}
}

func asBearer(credential string) http.Header {
	return http.Header{"Authorization": {"Bearer " + credential}}
}

func (r *rotation) host() string { return r.app + ".example.com" }

func (r *rotation) entry() string {
	ref := "name: " + r.app
	if r.namespace != "" {
		ref += ", namespace: " + r.namespace
	}
	if r.secretKey != "" {
		ref += ", key: " + r.secretKey
	}
	return fmt.Sprintf("name: %s\nhostnames: [%s]\nsecretRef: {%s}\nanyOf: %s", r.app, r.host(), ref, r.anyOf)
}

func (r *rotation) put(w *town, data map[string]string) {
	w.tb.Helper()
	if r.namespace != "" {
		w = w.in(r.namespace)
	}
	w.alter(r.app, func(secret *corev1.Secret) {
		secret.Type, secret.Data = r.kind, bytesOf(data)
	})
}

// rotated is a rotation under test.
type rotated struct {
	*rotation
	t *testing.T
	d *door
}

func allRotations(t *testing.T) []rotation {
	t.Helper()
	return slices.Concat(keyRotations(), passwordRotations(), tokenRotations(t))
}

func TestEveryCredentialIsAcceptedRefusedAndRotatedLive(t *testing.T) {
	rotateAll(t, newTown(t), allRotations(t))
}

func rotateAll(t *testing.T, w *town, all []rotation) {
	t.Helper()
	entries := make([]string, len(all))
	for i := range all {
		all[i].put(w, all[i].before)
		entries[i] = all[i].entry()
	}
	w.registry(document(entries...))
	d := keyed(t, w)
	d.becomes(all[0].host(), http.StatusUnauthorized)
	eventually(t, func() bool { return len(d.bridge().Apps.NotServing) == 0 }, "some App never serves")

	for i := range all {
		t.Run(all[i].app, func(t *testing.T) {
			r := rotated{&all[i], t, d}
			r.accepts(r.old)
			r.refuses(append(r.wrong, r.fresh.credential)...)
			if r.during != nil {
				r.put(w, r.during)
				r.becomesValid(r.fresh, r.old)
				r.accepts(r.old)
				r.refuses(r.wrong...)
				r.put(w, r.after)
				r.becomesInvalid(r.old, r.fresh)
			} else {
				r.put(w, r.after)
				r.becomesInvalid(r.old)
			}
			r.accepts(r.fresh)
			r.refuses(append(r.wrong, r.old.credential)...)
		})
	}
}

func (r rotated) send(h http.Header) answer {
	r.t.Helper()
	got, err := r.d.trySend(r.host(), h)
	require.NoError(r.t, err)
	return got
}

// accepts asks for the identity too, and that nothing of the credential goes on.
func (r rotated) accepts(c caller) {
	r.t.Helper()
	got := r.send(r.carry(c.credential))
	assert.Equal(r.t, http.StatusOK, got.status)
	assert.Equal(r.t, fmt.Sprintf("%s %s [] [] [] []", r.app, c.identity), got.body)
}

// refuses asks without a credential as well.
func (r rotated) refuses(credentials ...string) {
	r.t.Helper()
	headers := []http.Header{nil, r.carry("")}
	for _, credential := range credentials {
		headers = append(headers, r.carry(credential))
	}
	for _, h := range headers {
		got := r.send(h)
		assert.Equal(r.t, http.StatusUnauthorized, got.status, h)
		assert.NotEmpty(r.t, got.header["Www-Authenticate"], h)
	}
}

// becomesValid waits for a credential; others are accepted all the time.
func (r rotated) becomesValid(c caller, others ...caller) {
	r.t.Helper()
	r.becomes(c, http.StatusOK, http.StatusUnauthorized, others)
}

// becomesInvalid is the opposite of becomesValid.
func (r rotated) becomesInvalid(c caller, others ...caller) {
	r.t.Helper()
	r.becomes(c, http.StatusUnauthorized, http.StatusOK, others)
}

func (r rotated) becomes(c caller, status, until int, others []caller) {
	r.t.Helper()
	eventually(r.t, func() bool {
		for _, other := range others {
			r.accepts(other)
		}
		got := r.send(r.carry(c.credential)).status
		require.Contains(r.t, []int{status, until}, got)
		return got == status
	}, "%s is never answered %d", r.app, status)
}
