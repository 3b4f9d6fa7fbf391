package main

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/mirror/kube/kubetest"
)

func TestPodThatNeverSawTheAPIServerIsAliveAndNotReady(t *testing.T) {
	pod := runPod(t, kubeconfigOfADeadServer(t), cluster)
	assert.Equal(t, http.StatusOK, pod.status(t, pod.probe(pod.container.LivenessProbe)))
	assert.Equal(t, http.StatusServiceUnavailable, pod.status(t, pod.probe(pod.container.ReadinessProbe)))
	assert.Equal(t, http.StatusOK, pod.status(t, pod.probe(pod.container.StartupProbe)), "nor is it killed while it starts")
}

func TestMetricsAreWhereTheAnnotationsSay(t *testing.T) {
	annotations := readDeployment(t, cluster).Spec.Template.Annotations
	require.Equal(t, "true", annotations["prometheus.io/scrape"])
	require.Equal(t, "9090", annotations["prometheus.io/port"])

	pod := runPod(t, kubeconfigOfADeadServer(t), cluster)
	health := pod.addresses["health"]
	assert.Equal(t, http.StatusOK, pod.status(t, question{address: health, host: health, path: annotations["prometheus.io/path"]}))
}

// kubeconfigOfADeadServer names an address where connections are refused.
func kubeconfigOfADeadServer(tb testing.TB) string {
	tb.Helper()
	c := kubetest.Shared(tb)
	return c.KubeconfigVia(tb, c.Admin(), freeAddress(tb))
}
