package kube

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.uber.org/zap"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

func TestShutGateLetsNothingThrough(t *testing.T) {
	r := newRecorder()
	g := &gate{sink: r, logger: zap.NewNop()}
	state := map[snapshot.Key]snapshot.SecretState{shopKey("a"): snapshot.Absent()}
	all := func() {
		g.Registry(nil)
		g.Secrets(state)
		g.Fresh(mirror.Freshness{})
		g.Cluster("uid")
		g.Failed("watch", mirror.Failure{})
		g.Recovered("watch")
		g.Resynced("watch")
	}
	calls := func() int {
		return r.registryCalls + r.secretCalls + len(r.fresh) + len(r.clusters) + len(r.failures["watch"]) + r.recoveries["watch"] + r.resyncs["watch"]
	}
	all()
	assert.Equal(t, 7, calls())
	g.shut()
	all()
	assert.Equal(t, 7, calls())
}

// within is a Sink whose Registry does something.
type within struct {
	*recorder
	do func()
}

func (w within) Registry(*snapshot.Secret) { w.do() }

func TestGateIsShutWhenNoCallIsUnderWay(t *testing.T) {
	isShut := make(chan struct{})
	g := &gate{logger: zap.NewNop()}
	g.sink = within{newRecorder(), func() {
		go func() { g.shut(); close(isShut) }()
		for g.mu.TryRLock() { // until it waits
			g.mu.RUnlock()
			runtime.Gosched()
		}
		select {
		case <-isShut:
			assert.Fail(t, "shut while a call is under way")
		default:
		}
	}}
	g.Registry(nil)
	<-isShut
}
