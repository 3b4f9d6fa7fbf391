package kube

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

func fullSecret() *corev1.Secret {
	s := secret("a", "uid", "5")
	s.Type = corev1.SecretTypeOpaque
	s.Labels = map[string]string{"team": "web"}
	s.Annotations = map[string]string{"note": "long"}
	s.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "somebody"}}
	return s
}

func TestSlimLeavesAnUnwantedSecretNothingButItsPlace(t *testing.T) {
	got := slim(fullSecret(), false)
	assert.Equal(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "a", ResourceVersion: "5",
	}}, got)
	assert.True(t, isStub(got))
}

func TestSlimKeepsOfAWantedSecretWhatIsConverted(t *testing.T) {
	full := fullSecret()
	got := slim(full, true)
	assert.Empty(t, got.Labels)
	assert.Empty(t, got.Annotations)
	assert.Empty(t, got.ManagedFields)
	assert.False(t, isStub(got))
	assert.True(t, convert(full).Equal(convert(got)))
}

func TestConvertCopiesTheBytes(t *testing.T) {
	full := fullSecret()
	got := convert(full)
	full.Data["token"][0] = 'X'
	value, _ := got.Value("token")
	assert.Equal(t, "5", value)
}

func TestTheOwnersLabelIsAllThatIsKeptOfTheLabels(t *testing.T) {
	for value, may := range map[string]bool{"true": true, "false": false, "": false, "True": false} {
		full := fullSecret()
		full.Labels[snapshot.InjectLabel] = value
		assert.Equal(t, may, convert(full).MayInject(), value)
		got := slim(full, true)
		assert.Equal(t, may, convert(got).MayInject(), value)
		assert.NotContains(t, got.Labels, "team")
	}
}
