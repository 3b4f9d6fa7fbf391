package authzbridge_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/authz-bridge/authz-bridge/authzbridge/command"
	"github.com/authz-bridge/authz-bridge/mirror"
)

// county is a town whose Apps have their Secrets in three namespaces, and the Roles
// that `caddy authz-bridge rbac` prints for it.
type county struct {
	*town
	hosts map[string]string // namespace/name of each Secret, by the App's hostname
	roles []rbacv1.Role     // as they were printed
	file  string            // with the Registry
}

const bridgeAccount = "bridge"

func newCounty(t *testing.T) *county {
	t.Helper()
	w := newTown(t)
	c := &county{town: w, hosts: make(map[string]string)}
	var entries []string
	for i, namespace := range []string{w.namespace, w.Namespace(t, "suburb"), w.Namespace(t, "village")} {
		for _, name := range []string{"one", "two"}[:1+i%2] {
			app, host := fmt.Sprintf("%s-%d", name, i), fmt.Sprintf("%s-%d.example.com", name, i)
			w.PutSecret(t, namespace, name, clients("the-key"))
			entries = append(entries, fmt.Sprintf("name: %s\nhostnames: [%s]\nsecretRef: {namespace: %s, name: %s, key: token}%s", app, host, namespace, name, byKey))
			c.hosts[host] = namespace + "/" + name
		}
	}
	text := document(entries...)
	w.registry(text)
	c.file = filepath.Join(t.TempDir(), "registry.yaml")
	require.NoError(t, os.WriteFile(c.file, []byte(text), 0o600))
	token := w.ServiceAccountToken(t, w.namespace, bridgeAccount)
	w.scope, w.kubeconfig = "scope referenced", w.Kubeconfig(t, w.TokenUser(token))
	return c
}

// print runs the command, applies what it prints and keeps the Roles.
func (c *county) print(t *testing.T) {
	t.Helper()
	var out, errs bytes.Buffer
	code := command.Run([]string{"rbac", c.file, "--registry", c.namespace + "/registry", "--service-account", c.namespace + "/" + bridgeAccount}, &out, &errs)
	require.Equal(t, command.ExitFine, code, errs.String())
	assert.Empty(t, errs.String())
	require.NoError(t, c.Apply(t.Context(), out.Bytes(), false))
	for document := range strings.SplitSeq(out.String(), "\n---\n") {
		var role rbacv1.Role
		require.NoError(t, yaml.Unmarshal([]byte(document), &role))
		if role.Kind == "Role" {
			c.roles = append(c.roles, role)
		}
	}
	require.Len(t, c.roles, 3)
}

// missing is a right that was taken away.
type missing struct {
	words   string
	verb    string
	secrets []string // namespace/name
	roles   []rbacv1.Role
}

// without returns every way to take one right away.
func (c *county) without() []missing {
	var all []missing
	change := func(words, verb string, i int, secrets []string, alter func(*rbacv1.Role)) {
		roles := make([]rbacv1.Role, len(c.roles))
		for j := range c.roles {
			roles[j] = *c.roles[j].DeepCopy()
		}
		alter(&roles[i])
		m := missing{words: words, verb: verb, roles: roles}
		for _, name := range secrets {
			m.secrets = append(m.secrets, roles[i].Namespace+"/"+name)
		}
		all = append(all, m)
	}
	for i := range c.roles {
		rule := c.roles[i].Rules[0]
		for n, name := range rule.ResourceNames {
			change("the name "+name, "list", i, []string{name}, func(role *rbacv1.Role) {
				// No name at all would stand for every name.
				if role.Rules[0].ResourceNames = slices.Delete(role.Rules[0].ResourceNames, n, n+1); len(role.Rules[0].ResourceNames) == 0 {
					role.Rules = nil
				}
			})
		}
		for n, verb := range rule.Verbs {
			change("the verb "+verb, verb, i, rule.ResourceNames, func(role *rbacv1.Role) {
				role.Rules[0].Verbs = slices.Delete(role.Rules[0].Verbs, n, n+1)
			})
		}
		change("all verbs", "watch", i, rule.ResourceNames, func(role *rbacv1.Role) { role.Rules = nil })
	}
	return all
}

// have gives the account these Roles, and waits until the API server goes by it.
func (c *county) have(t *testing.T, roles []rbacv1.Role, verb string, secrets []string, want bool) {
	t.Helper()
	for i := range roles {
		text, err := yaml.Marshal(&roles[i])
		require.NoError(t, err)
		require.NoError(t, c.Apply(t.Context(), text, false))
	}
	for _, secret := range secrets {
		namespace, name, _ := strings.Cut(secret, "/")
		eventually(t, func() bool { return c.may(t, verb, namespace, name) == want }, "the rights never change: %s %s", verb, secret)
	}
}

func (c *county) may(t *testing.T, verb, namespace, name string) bool {
	t.Helper()
	review, err := c.AdminClient().AuthorizationV1().SubjectAccessReviews().Create(context.Background(), &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User:               "system:serviceaccount:" + c.namespace + ":" + bridgeAccount,
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: verb, Resource: "secrets", Name: name},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	return review.Status.Allowed
}

func TestThePrintedRolesAreEnoughAndEachOfThemIsNeeded(t *testing.T) {
	c := newCounty(t)
	c.print(t)
	c.have(t, c.roles, "watch", []string{c.namespace + "/registry"}, true)
	for _, secret := range c.hosts {
		c.have(t, nil, "watch", []string{secret}, true)
	}
	d := open(t, c.option())
	for host := range c.hosts {
		d.becomes(host, http.StatusUnauthorized)
		assert.Equal(t, http.StatusOK, d.send(host, asKey("the-key")).status, host)
	}
	st := d.bridge()
	assert.True(t, st.Ready)
	assert.Empty(t, st.Degraded)
	assert.Equal(t, 4, st.Secrets.Present)

	for _, m := range c.without() {
		t.Run(m.words+" of "+strings.Join(m.secrets, ","), func(t *testing.T) {
			require.NoError(t, caddy.Stop())
			c.have(t, m.roles, m.verb, m.secrets, false)
			require.NoError(t, d.load())
			c.notices(t, d, m)
			c.have(t, c.roles, m.verb, m.secrets, true)
		})
	}
}

// notices asserts that what is missing is named, and costs nobody else anything.
func (c *county) notices(t *testing.T, d *door, m missing) {
	t.Helper()
	registry := c.namespace + "/registry"
	if slices.Contains(m.secrets, registry) {
		// Everything depends on it, so nothing else need be told.
		eventually(t, func() bool { return strings.Contains(d.forbidden(), registry) }, "nothing names %s", registry)
		return
	}
	for host, secret := range c.hosts {
		// An API server that streams what is there asks for list only when it cannot.
		if !slices.Contains(m.secrets, secret) || m.verb == "list" && m.words == "the verb list" {
			d.becomes(host, http.StatusUnauthorized)
			continue
		}
		d.becomes(host, http.StatusServiceUnavailable)
		eventually(t, func() bool { return strings.Contains(d.forbidden(), "secret_forbidden: secret "+secret) }, "nothing names %s", secret)
	}
}

// forbidden is all that is said of what may not be read.
func (d *door) forbidden() string {
	d.tb.Helper()
	st := d.bridge()
	var all []string
	for _, c := range st.Degraded {
		if c.Type == mirror.Forbidden {
			all = append(all, c.Subject+": "+c.Message)
		}
	}
	for _, app := range st.Apps.NotServing {
		all = append(all, app.Reason+": "+app.Detail)
	}
	return strings.Join(all, "\n")
}
