package kubetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
)

// The marker is one more rule in each role that Grant makes: whether the API
// server allows it tells whether the role and its binding have reached its
// authorizer, which reads them through a watch.
const (
	markerGroup    = "kubetest"
	markerResource = "grants"
	markerVerb     = "hold"
)

// Grant allows the user what the rules say, in the namespace or, when that is
// empty, in the whole cluster. It returns when the API server applies the
// rules. What it returns takes them away again and returns when that applies;
// the end of the test does so too, as far as the API server still answers.
func (c *Cluster) Grant(tb testing.TB, user, namespace string, rules ...rbacv1.PolicyRule) (revoke func()) {
	tb.Helper()
	g := &grant{cluster: c, name: "kubetest-" + rand.String(10), user: user, namespace: namespace, rules: rules}
	remove := sync.OnceValue(g.remove)
	tb.Cleanup(func() {
		if err := remove(); err != nil {
			tb.Logf("kubetest: clean up: %v", err)
		}
	})
	require.NoError(tb, g.create())
	return func() {
		tb.Helper()
		require.NoError(tb, remove())
	}
}

// grant is a role and its binding, which share a name.
type grant struct {
	cluster   *Cluster
	name      string
	user      string
	namespace string // empty for the whole cluster
	rules     []rbacv1.PolicyRule
}

func (g *grant) create() error {
	ctx, cancel := callContext()
	defer cancel()
	create := g.createInNamespace
	if g.namespace == "" {
		create = g.createInCluster
	}
	err := create(ctx)
	if err == nil {
		err = g.await(ctx, func(held bool, _ string) bool { return held })
	}
	if err != nil {
		return fmt.Errorf("grant %s to %s: %w", g.name, g.user, err)
	}
	return nil
}

func (g *grant) createInNamespace(ctx context.Context) error {
	rbac := g.cluster.client.RbacV1()
	role := &rbacv1.Role{ObjectMeta: g.meta(), Rules: g.allRules()}
	if _, err := rbac.Roles(g.namespace).Create(ctx, role, metav1.CreateOptions{}); err != nil {
		return err
	}
	binding := &rbacv1.RoleBinding{ObjectMeta: g.meta(), Subjects: g.subjects(), RoleRef: g.roleRef("Role")}
	_, err := rbac.RoleBindings(g.namespace).Create(ctx, binding, metav1.CreateOptions{})
	return err
}

func (g *grant) createInCluster(ctx context.Context) error {
	rbac := g.cluster.client.RbacV1()
	role := &rbacv1.ClusterRole{ObjectMeta: g.meta(), Rules: g.allRules()}
	if _, err := rbac.ClusterRoles().Create(ctx, role, metav1.CreateOptions{}); err != nil {
		return err
	}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: g.meta(), Subjects: g.subjects(), RoleRef: g.roleRef("ClusterRole")}
	_, err := rbac.ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{})
	return err
}

func (g *grant) remove() error {
	ctx, cancel := callContext()
	defer cancel()
	err := g.delete(ctx)
	if err == nil {
		// Another grant may allow the marker too, by a rule with "*".
		err = g.await(ctx, func(held bool, reason string) bool { return !held || !strings.Contains(reason, g.name) })
	}
	if err != nil {
		return fmt.Errorf("revoke %s from %s: %w", g.name, g.user, err)
	}
	return nil
}

func (g *grant) delete(ctx context.Context) error {
	rbac := g.cluster.client.RbacV1()
	if g.namespace == "" {
		return errors.Join(
			rbac.ClusterRoleBindings().Delete(ctx, g.name, metav1.DeleteOptions{}),
			rbac.ClusterRoles().Delete(ctx, g.name, metav1.DeleteOptions{}))
	}
	return errors.Join(
		rbac.RoleBindings(g.namespace).Delete(ctx, g.name, metav1.DeleteOptions{}),
		rbac.Roles(g.namespace).Delete(ctx, g.name, metav1.DeleteOptions{}))
}

// await asks the API server for the marker until the answer is the one wanted.
func (g *grant) await(ctx context.Context, wanted func(held bool, reason string) bool) error {
	reviews := g.cluster.client.AuthorizationV1().SubjectAccessReviews()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		review, err := reviews.Create(ctx, g.review(), metav1.CreateOptions{})
		if err != nil {
			return err
		}
		if wanted(review.Status.Allowed, review.Status.Reason) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the API server does not apply it: %w", ctx.Err())
		case <-ticker.C:
		}
	}
}

func (g *grant) review() *authorizationv1.SubjectAccessReview {
	return &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: g.user,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: g.namespace,
			Group:     markerGroup,
			Resource:  markerResource,
			Verb:      markerVerb,
			Name:      g.name,
		},
	}}
}

func (g *grant) allRules() []rbacv1.PolicyRule {
	marker := rbacv1.PolicyRule{
		APIGroups:     []string{markerGroup},
		Resources:     []string{markerResource},
		Verbs:         []string{markerVerb},
		ResourceNames: []string{g.name},
	}
	return append([]rbacv1.PolicyRule{marker}, g.rules...)
}

func (g *grant) meta() metav1.ObjectMeta { return metav1.ObjectMeta{Name: g.name} }

func (g *grant) subjects() []rbacv1.Subject {
	return []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: g.user}}
}

func (g *grant) roleRef(kind string) rbacv1.RoleRef {
	return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: g.name}
}
