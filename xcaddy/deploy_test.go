package main

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/authz-bridge/authz-bridge/mirror/kube/kubetest"
)

func TestAPIServerAcceptsEachManifest(t *testing.T) {
	cluster := kubetest.Shared(t)
	applyNamespaces(t, cluster)
	for _, name := range manifestNames(t) {
		t.Run(name, func(t *testing.T) {
			assert.NoError(t, cluster.Apply(t.Context(), readManifest(t, name), true))
		})
	}
}

func TestKustomizationListsAllButAlternativesAndExamples(t *testing.T) {
	var kustomization struct{ Resources []string }
	require.NoError(t, yaml.Unmarshal(readManifest(t, "kustomization.yaml"), &kustomization))
	unlisted := []string{"rbac-namespaces.yaml", "example-registry.yaml", "example-app-secret.yaml"}
	assert.ElementsMatch(t, manifestNames(t), append(kustomization.Resources, unlisted...))
}

func TestPodOfTheDeploymentUnderRestrictedPodSecurity(t *testing.T) {
	cluster := kubetest.Shared(t)
	applyManifests(t, cluster, "namespace.yaml", "serviceaccount.yaml")
	stored, err := cluster.AdminClient().CoreV1().Namespaces().Get(t.Context(), namespace, metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, "restricted", stored.Labels["pod-security.kubernetes.io/enforce"])

	tests := []struct {
		name    string
		change  func(*corev1.PodSpec)
		refused string // empty: admitted
	}{
		{name: "as deployed", change: func(*corev1.PodSpec) {}},
		{
			name:    "as root",
			change:  func(pod *corev1.PodSpec) { pod.SecurityContext.RunAsNonRoot = new(false) },
			refused: "runAsNonRoot",
		},
		{
			name:    "with a capability",
			change:  func(pod *corev1.PodSpec) { pod.Containers[0].SecurityContext.Capabilities.Drop = nil },
			refused: "capabilities",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			pod := podOf(t)
			test.change(&pod.Spec)
			_, err := cluster.AdminClient().CoreV1().Pods(namespace).
				Create(t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			if test.refused == "" {
				require.NoError(t, err)
				return
			}
			require.True(t, apierrors.IsForbidden(err), "%v", err)
			assert.ErrorContains(t, err, "PodSecurity")
			assert.ErrorContains(t, err, test.refused)
		})
	}
}

// podOf makes the Pod that a controller would make of the Deployment.
func podOf(tb testing.TB) *corev1.Pod {
	tb.Helper()
	template := readDeployment(tb).Spec.Template
	template.Name = "authz-bridge-0"
	return &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
}

func TestPodWritesOnlyToItsVolumes(t *testing.T) {
	pod := readDeployment(t).Spec.Template.Spec
	require.Len(t, pod.Containers, 1)
	container := pod.Containers[0]
	assert.True(t, *container.SecurityContext.ReadOnlyRootFilesystem)

	var writable []string
	for _, mount := range container.VolumeMounts {
		if !mount.ReadOnly {
			writable = append(writable, mount.MountPath)
		}
	}
	assert.ElementsMatch(t, []string{"/config", "/data"}, writable, "as the Dockerfile sets XDG_CONFIG_HOME and XDG_DATA_HOME")
}

func TestRollingUpdateKeepsEveryReplicaServing(t *testing.T) {
	deployment := readDeployment(t).Spec
	assert.Equal(t, int32(2), *deployment.Replicas)
	assert.Zero(t, deployment.Strategy.RollingUpdate.MaxUnavailable.IntValue())

	options := adaptedHTTPApp(t, readCaddyfile(t))
	end := time.Duration(options.ShutdownDelay) + time.Duration(options.GracePeriod)
	assert.Positive(t, options.ShutdownDelay, "endpoints need a while to forget the Pod")
	assert.Less(t, end, time.Duration(*deployment.Template.Spec.TerminationGracePeriodSeconds)*time.Second)
}

func TestServiceSendsToThePodsSitePort(t *testing.T) {
	service := new(corev1.Service)
	require.NoError(t, yaml.UnmarshalStrict(readManifest(t, "service.yaml"), service))
	template := readDeployment(t).Spec.Template
	for key, value := range service.Spec.Selector {
		assert.Equal(t, value, template.Labels[key], "label %s", key)
	}
	require.Len(t, service.Spec.Ports, 1, "health and metrics are not published")
	target := service.Spec.Ports[0].TargetPort.StrVal
	ports := template.Spec.Containers[0].Ports
	assert.True(t, slices.ContainsFunc(ports, func(port corev1.ContainerPort) bool {
		return port.Name == target && port.ContainerPort == 8080
	}), "port %s of %v", target, ports)
}
