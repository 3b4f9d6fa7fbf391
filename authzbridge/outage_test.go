package authzbridge_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/mirror/kube/kubetest"
)

func TestTheLastSnapshotServesWhileTheAPIServerIsDown(t *testing.T) {
	w := newTown(t)
	w.secret("shop", someToken())
	w.registry(document(app("shop", "shop.example.com"), app("late", "late.example.com")))
	d := open(t, w.option())
	d.becomes("shop.example.com", http.StatusOK)

	require.NoError(t, w.KillAPIServer())
	eventually(t, func() bool {
		require.Equal(t, http.StatusOK, d.status("shop.example.com"))
		require.Equal(t, http.StatusServiceUnavailable, d.status("late.example.com"))
		require.Equal(t, http.StatusForbidden, d.status("unknown.example.com"))
		for _, c := range d.bridge().Degraded {
			if c.Type == "ContactLost" {
				return true
			}
		}
		return false
	}, "nobody notices that the API server is down")
	assert.True(t, d.bridge().Ready, "an outage does not take the replica out of service")
	assert.Equal(t, int64(1), d.metric(`authz_bridge_degraded{reason="ContactLost"}`))

	require.NoError(t, w.StartAPIServer())
	w.secret("late", someToken())
	w.DeleteSecret(t, w.namespace, "shop")
	d.becomes("late.example.com", http.StatusOK)
	d.becomes("shop.example.com", http.StatusServiceUnavailable)
	d.degraded("ContactLost", false)
}

func TestAReplicaThatStartsDuringAnOutageServesWhenItIsOver(t *testing.T) {
	w := newTown(t)
	w.secret("shop", someToken())
	w.registry(document(app("shop", "shop.example.com")))
	require.NoError(t, w.KillAPIServer())
	d := open(t, w.option())

	begin := time.Now()
	assert.Equal(t, http.StatusServiceUnavailable, d.status("shop.example.com"))
	assert.GreaterOrEqual(t, time.Since(begin), 2*time.Second, "the request is held")
	status, body := d.get(d.admin, "/authz_bridge/ready")
	assert.Equal(t, http.StatusServiceUnavailable, status)
	assert.Contains(t, body, "not read yet")
	assert.Equal(t, "unsynced", d.bridge().State)

	require.NoError(t, w.StartAPIServer())
	d.becomes("shop.example.com", http.StatusOK)
}

func TestTheLastSnapshotServesWhileTheConnectionIsFrozenForAMinute(t *testing.T) {
	w := newTown(t)
	proxy, err := kubetest.NewProxy(w.Address())
	require.NoError(t, err)
	defer func() { require.NoError(t, proxy.Close()) }()
	w.secret("shop", someToken())
	w.registry(document(app("shop", "shop.example.com"), app("late", "late.example.com")))
	d := open(t, w.optionVia(w.KubeconfigVia(t, w.Admin(), proxy.Address()), ""))
	d.becomes("shop.example.com", http.StatusOK)

	proxy.Freeze()
	w.secret("late", someToken())
	w.DeleteSecret(t, w.namespace, "shop")
	t.Log("frozen for a minute")
	thaw := time.After(time.Minute)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for frozen := true; frozen; {
		select {
		case <-thaw:
			frozen = false
		case <-tick.C:
			require.Equal(t, http.StatusOK, d.status("shop.example.com"))
			require.Equal(t, http.StatusServiceUnavailable, d.status("late.example.com"))
		}
	}

	proxy.Pass()
	d.becomes("late.example.com", http.StatusOK)
	d.becomes("shop.example.com", http.StatusServiceUnavailable)
}
