package kube

import (
	"testing"
	"testing/synctest"

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
		g.Failed("watch", mirror.Failure{})
		g.Recovered("watch")
		g.Resynced("watch")
	}
	calls := func() int {
		return r.registryCalls + r.secretCalls + len(r.failures["watch"]) + r.recoveries["watch"] + r.resyncs["watch"]
	}
	all()
	assert.Equal(t, 5, calls())
	g.shut()
	all()
	assert.Equal(t, 5, calls())
}

// slow is a Sink whose Registry takes until it is released.
type slow struct {
	*recorder
	release chan struct{}
}

func (s slow) Registry(*snapshot.Secret) { <-s.release }

func TestGateIsShutWhenNoCallIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := slow{newRecorder(), make(chan struct{})}
		g := &gate{sink: sink, logger: zap.NewNop()}
		go g.Registry(nil)
		synctest.Wait()
		isShut := make(chan struct{})
		go func() { g.shut(); close(isShut) }()
		synctest.Wait()
		select {
		case <-isShut:
			assert.Fail(t, "shut while a call is under way")
		default:
		}
		close(sink.release)
		<-isShut
	})
}
