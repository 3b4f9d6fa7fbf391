package kube

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

// requests counts what the API server was asked for Secrets, in this process of it.
func (b *bench) requests(t *testing.T) map[string]int {
	t.Helper()
	text, err := b.cluster.AdminClient().CoreV1().RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	require.NoError(t, err)
	counted := make(map[string]int)
	line := regexp.MustCompile(`(?m)^apiserver_request_total\{([^}]*)\} (\S+)$`)
	verb, secrets := regexp.MustCompile(`verb="(\w+)"`), regexp.MustCompile(`resource="secrets"`)
	for _, match := range line.FindAllStringSubmatch(string(text), -1) {
		if !secrets.MatchString(match[1]) {
			continue
		}
		n, err := strconv.ParseFloat(match[2], 64)
		require.NoError(t, err)
		counted[verb.FindStringSubmatch(match[1])[1]] += int(n)
	}
	return counted
}

// The replicas of one deployment meet an API server that has just started.
func TestRow25FiftyReplicasComeBackAtOnceWithoutAStormOfLists(t *testing.T) {
	const replicas, soon = 50, 10 * time.Second
	b := newBench(t)
	document := `{"version":1,"apps":[{"name":"shop","hostnames":["shop.example.com"],"secretRef":{"namespace":"` + b.shop + `","name":"clients"}}]}`
	b.cluster.PutSecret(t, b.team, registryName, map[string]string{"registry.json": document})
	b.put(t, "clients", "one")
	fleet := make([]*served, replicas)
	for i := range fleet {
		fleet[i] = serve(t, b)
	}
	for _, s := range fleet {
		s.await(t, "shop.example.com", snapshot.ReasonAllowed)
	}

	require.NoError(t, b.cluster.KillAPIServer())
	require.NoError(t, b.cluster.StartAPIServer())
	begin := time.Now()
	b.delete(t, "clients")
	for _, s := range fleet {
		s.await(t, "shop.example.com", snapshot.ReasonSecretAbsent)
	}
	took := time.Since(begin)
	counted := b.requests(t)
	t.Logf("%d replicas right after %v; the API server was asked %v for Secrets", replicas, took.Round(time.Millisecond), counted)
	assert.Less(t, took, soon, "all are right soon")
	// Each may probe, which is a list of one without its bytes; watches begin with what
	// is there, and are counted when they end.
	assert.LessOrEqual(t, counted["LIST"], 2*replicas, fmt.Sprint(counted))
}
