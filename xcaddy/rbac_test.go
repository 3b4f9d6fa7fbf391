package main

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/authz-bridge/authz-bridge/mirror/kube/kubetest"
)

const (
	rightsTimeout = 30 * time.Second // the API server's authorizer reads roles through a watch
	rightsPoll    = 20 * time.Millisecond
)

// asAccount returns a client with the token of a service account.
func asAccount(tb testing.TB, c *kubetest.Cluster, name string) kubernetes.Interface {
	tb.Helper()
	token := c.ServiceAccountToken(tb, namespace, name)
	client, err := kubernetes.NewForConfig(c.TokenUser(token))
	require.NoError(tb, err)
	return client
}

// The rights of the manifests, one by one.
var (
	readSecrets = authorizationv1.ResourceRule{Verbs: []string{"get", "list", "watch"}, APIGroups: []string{""}, Resources: []string{"secrets"}}

	// tellClusters lets the cache notice that it is another cluster's.
	tellClusters = authorizationv1.ResourceRule{
		Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"namespaces"}, ResourceNames: []string{"kube-system"},
	}
)

// readSecret is the least that lets one Secret be watched.
func readSecret(name string) authorizationv1.ResourceRule {
	return authorizationv1.ResourceRule{
		Verbs: []string{"list", "watch"}, APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{name},
	}
}

// assertRights asks the API server for all that the account may do and another
// account may not, once the roles have reached its authorizer.
func assertRights(tb testing.TB, c *kubetest.Cluster, want []authorizationv1.ResourceRule, namespaces ...string) {
	tb.Helper()
	account := asAccount(tb, c, serviceAccount)
	bystander := asAccount(tb, c, "bystander")
	for _, name := range namespaces {
		everyone := rules(tb, bystander, name)
		var own []authorizationv1.ResourceRule
		require.Eventually(tb, func() bool {
			own = without(rules(tb, account, name), everyone)
			return len(own) >= len(want)
		}, rightsTimeout, rightsPoll, "no right in namespace %s", name)
		assert.ElementsMatch(tb, want, own, "namespace %s", name)
	}
}

func rules(tb testing.TB, account kubernetes.Interface, namespace string) []authorizationv1.ResourceRule {
	tb.Helper()
	review := &authorizationv1.SelfSubjectRulesReview{
		Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace},
	}
	review, err := account.AuthorizationV1().SelfSubjectRulesReviews().Create(tb.Context(), review, metav1.CreateOptions{})
	if assert.NoError(tb, err) {
		assert.False(tb, review.Status.Incomplete)
		return review.Status.ResourceRules
	}
	return nil
}

func without(all, removed []authorizationv1.ResourceRule) []authorizationv1.ResourceRule {
	return slices.DeleteFunc(slices.Clone(all), func(rule authorizationv1.ResourceRule) bool {
		return slices.ContainsFunc(removed, func(r authorizationv1.ResourceRule) bool {
			return r.String() == rule.String()
		})
	})
}

func assertListsAndWatches(tb testing.TB, account kubernetes.Interface, namespace string) {
	tb.Helper()
	secrets := account.CoreV1().Secrets(namespace)
	list, err := secrets.List(tb.Context(), metav1.ListOptions{})
	require.NoError(tb, err)
	watch, err := secrets.Watch(tb.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	require.NoError(tb, err)
	watch.Stop()
}

func assertForbidsAllElse(tb testing.TB, account kubernetes.Interface, namespace string) {
	tb.Helper()
	ctx := tb.Context()
	secrets := account.CoreV1().Secrets(namespace)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "clients"}}
	attempts := map[string]func() error{
		"create a Secret": func() error {
			_, err := secrets.Create(ctx, secret, metav1.CreateOptions{})
			return err
		},
		"update a Secret": func() error {
			_, err := secrets.Update(ctx, secret, metav1.UpdateOptions{})
			return err
		},
		"delete a Secret": func() error {
			return secrets.Delete(ctx, secret.Name, metav1.DeleteOptions{})
		},
		"list ConfigMaps": func() error {
			_, err := account.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{})
			return err
		},
		"list Pods": func() error {
			_, err := account.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
			return err
		},
	}
	for name, attempt := range attempts {
		err := attempt()
		assert.True(tb, apierrors.IsForbidden(err), "%s in %s: %v", name, namespace, err)
	}
}
