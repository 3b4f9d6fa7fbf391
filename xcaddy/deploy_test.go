package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/authz-bridge/authz-bridge/mirror/kube/kubetest"
)

func TestAPIServerAcceptsEachOverlay(t *testing.T) {
	c := kubetest.Shared(t)
	for _, dir := range append(overlays(), "monitoring") {
		t.Run(dir, func(t *testing.T) {
			applyNamespaces(t, c, cluster)
			apply(t, c, []byte("{apiVersion: v1, kind: Namespace, metadata: {name: monitoring}}"))
			assert.NoError(t, c.Apply(t.Context(), build(t, dir), true))
		})
	}
	t.Run("example", func(t *testing.T) {
		for _, name := range []string{"registry.yaml", "app-secret.yaml"} {
			assert.NoError(t, c.Apply(t.Context(), readManifest(t, filepath.Join("example", name)), true), name)
		}
	})
}

func TestNoFileIsLeftOutOfItsKustomization(t *testing.T) {
	for _, dir := range append(overlays(), "base", "monitoring") {
		var kustomization struct {
			Resources          []string
			Patches            []struct{ Path string }
			ConfigMapGenerator []struct{ Files []string }
		}
		require.NoError(t, yaml.Unmarshal(readManifest(t, filepath.Join(dir, "kustomization.yaml")), &kustomization))
		named := slices.Concat(kustomization.Resources, []string{"kustomization.yaml"})
		for _, patch := range kustomization.Patches {
			named = append(named, patch.Path)
		}
		for _, generator := range kustomization.ConfigMapGenerator {
			for _, file := range generator.Files {
				named = append(named, file[strings.Index(file, "=")+1:])
			}
		}
		entries, err := os.ReadDir(filepath.Join("deploy", dir))
		require.NoError(t, err)
		for _, entry := range entries {
			assert.Contains(t, named, entry.Name(), "in %s", dir)
		}
	}
}

func TestAnOverlayOfYourOwnSetsTheImageAndTheCaddyfile(t *testing.T) {
	fields := regexp.MustCompile(`(?m)^#   (.+)$`).FindAllStringSubmatch(string(readManifest(t, "base/kustomization.yaml")), -1)
	require.Len(t, fields, 2, "as the comment says")
	own := t.TempDir()
	below, err := filepath.Rel(own, deployed(t, leastPrivilege))
	require.NoError(t, err)
	for name, text := range map[string]string{
		"kustomization.yaml": "resources: [" + below + "]\n" + fields[0][1] + "\n" + fields[1][1] + "\n",
		"Caddyfile":          "# mine\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(own, name), []byte(text), 0o600))
	}
	manifests := kustomize(t, own)
	assert.Equal(t, "# mine\n", decode[corev1.ConfigMap](t, manifests, "ConfigMap").Data["Caddyfile"])
	pod := decode[appsv1.Deployment](t, manifests, "Deployment").Spec.Template.Spec
	assert.Equal(t, "registry.example.com/authz-bridge:v1", pod.Containers[0].Image)
	before := readDeployment(t, leastPrivilege).Spec.Template.Spec
	assert.Equal(t, before.Containers[0].Env, pod.Containers[0].Env)
	assert.NotEqual(t, before.Volumes[0].ConfigMap.Name, pod.Volumes[0].ConfigMap.Name, "another name rolls the Pods")
}

func TestPodsUnderRestrictedPodSecurity(t *testing.T) {
	c := kubetest.Shared(t)
	applyNamespaces(t, c, cluster)
	apply(t, c, documents(build(t, cluster), "ServiceAccount")...)
	stored, err := c.AdminClient().CoreV1().Namespaces().Get(t.Context(), namespace, metav1.GetOptions{})
	require.NoError(t, err)
	for _, mode := range []string{"enforce", "audit", "warn"} {
		require.Equal(t, "restricted", stored.Labels["pod-security.kubernetes.io/"+mode])
	}

	tests := []struct {
		name    string
		overlay string
		change  func(*corev1.PodSpec)
		refused string // empty: admitted
	}{
		{name: "as deployed by cluster", overlay: cluster},
		{name: "as deployed by namespaces", overlay: namespaces},
		{name: "as deployed by least-privilege", overlay: leastPrivilege},
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
			if test.overlay == "" {
				test.overlay = cluster
			}
			pod := podOf(t, test.overlay)
			if test.change != nil {
				test.change(&pod.Spec)
			}
			_, err := c.AdminClient().CoreV1().Pods(namespace).
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
func podOf(tb testing.TB, overlay string) *corev1.Pod {
	tb.Helper()
	template := readDeployment(tb, overlay).Spec.Template
	template.Name = "authz-bridge-0"
	return &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
}

func TestPodWritesOnlyToItsVolumes(t *testing.T) {
	pod := readDeployment(t, cluster).Spec.Template.Spec
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
	deployment := readDeployment(t, cluster).Spec
	assert.Equal(t, int32(2), *deployment.Replicas)
	assert.Zero(t, deployment.Strategy.RollingUpdate.MaxUnavailable.IntValue())

	options := adaptedHTTPApp(t, readCaddyfile(t, cluster))
	end := time.Duration(options.ShutdownDelay) + time.Duration(options.GracePeriod)
	assert.Positive(t, options.ShutdownDelay, "endpoints need a while to forget the Pod")
	assert.Less(t, end, time.Duration(*deployment.Template.Spec.TerminationGracePeriodSeconds)*time.Second)
}

func TestDrainsTakeOneReplicaAtATime(t *testing.T) {
	budget := read[policyv1.PodDisruptionBudget](t, cluster, "PodDisruptionBudget").Spec
	deployment := readDeployment(t, cluster).Spec
	assert.Equal(t, deployment.Selector, budget.Selector)
	assert.Less(t, budget.MaxUnavailable.IntVal, *deployment.Replicas)
	assert.Equal(t, policyv1.AlwaysAllow, *budget.UnhealthyPodEvictionPolicy)
}

func TestServiceSendsToThePodsSitePort(t *testing.T) {
	service := read[corev1.Service](t, cluster, "Service")
	template := readDeployment(t, cluster).Spec.Template
	for key, value := range service.Spec.Selector {
		assert.Equal(t, value, template.Labels[key], "label %s", key)
	}
	require.Len(t, service.Spec.Ports, 1, "health and metrics are not published")
	assert.Equal(t, int32(8080), containerPort(t, service.Spec.Ports[0].TargetPort.StrVal))
}

func containerPort(tb testing.TB, name string) int32 {
	tb.Helper()
	ports := readDeployment(tb, cluster).Spec.Template.Spec.Containers[0].Ports
	i := slices.IndexFunc(ports, func(port corev1.ContainerPort) bool { return port.Name == name })
	require.GreaterOrEqual(tb, i, 0, "port %s of %v", name, ports)
	return ports[i].ContainerPort
}

func TestNetworkPolicyLetsAnybodyInToTheSiteAlone(t *testing.T) {
	policy := read[networkingv1.NetworkPolicy](t, cluster, "NetworkPolicy").Spec
	assert.Equal(t, *readDeployment(t, cluster).Spec.Selector, policy.PodSelector)
	assert.ElementsMatch(t, []networkingv1.PolicyType{"Ingress", "Egress"}, policy.PolicyTypes)

	peers := make(map[int32][]networkingv1.NetworkPolicyPeer)
	for _, rule := range policy.Ingress {
		require.Len(t, rule.Ports, 1)
		peers[containerPort(t, rule.Ports[0].Port.StrVal)] = rule.From
	}
	require.Len(t, peers, 2)
	assert.Empty(t, peers[8080], "anybody")
	require.Len(t, peers[9090], 1)
	assert.Equal(t, map[string]string{"kubernetes.io/metadata.name": "monitoring"}, peers[9090][0].NamespaceSelector.MatchLabels)

	require.Len(t, policy.Egress, 3)
	assert.Equal(t, []networkingv1.NetworkPolicyPeer{{NamespaceSelector: new(metav1.LabelSelector)}}, policy.Egress[0].To)
	assert.Empty(t, policy.Egress[0].Ports, "the apps behind")
	for _, anywhere := range policy.Egress[1:] {
		assert.Empty(t, anywhere.To)
	}
	assert.Equal(t, []string{"UDP 53", "TCP 53"}, portsOf(policy.Egress[1]), "DNS, also on the node")
	assert.Equal(t, []string{"TCP 443", "TCP 6443"}, portsOf(policy.Egress[2]), "the API server")
}

func portsOf(rule networkingv1.NetworkPolicyEgressRule) (all []string) {
	for _, port := range rule.Ports {
		protocol := corev1.ProtocolTCP // the API's default
		if port.Protocol != nil {
			protocol = *port.Protocol
		}
		all = append(all, string(protocol)+" "+port.Port.String())
	}
	return all
}

func TestMonitoringIsWhereTheNetworkPolicyExpectsPrometheus(t *testing.T) {
	manifests := documents(build(t, "monitoring"), "ConfigMap")
	require.Len(t, manifests, 2)
	for _, manifest := range manifests {
		var configMap corev1.ConfigMap
		require.NoError(t, yaml.UnmarshalStrict(manifest, &configMap))
		assert.Equal(t, "monitoring", configMap.Namespace, configMap.Name)
	}
}
