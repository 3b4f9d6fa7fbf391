package kube

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func (b *bench) awaitRenewal(t *testing.T) {
	t.Helper()
	b.await(t, "all watches start over", func() bool {
		return b.resyncs[b.registryTitle()] >= 1 && b.resyncs[b.shopTitle()] >= 1
	})
}

func TestRow5NewsUndelivered(t *testing.T) {
	for name, test := range map[string]struct {
		before, after string
	}{
		"the registry is changed": {"one", "two"},
		"the registry is created": {"", "two"},
		"the registry is deleted": {"one", ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBrisk(t)
			if test.before == "" {
				b.cluster.DeleteSecret(t, b.team, registryName)
			}
			faults := &tap{}
			b.startWith(t, faults.on(b.cluster.Admin()), "clients")

			faults.stall(b.team)
			faults.stall(b.shop)
			b.put(t, "clients", "two")
			if test.after == "" {
				b.cluster.DeleteSecret(t, b.team, registryName)
			} else {
				b.putRegistry(t, test.after)
			}
			b.awaitRenewal(t)
			b.await(t, "the news is told", func() bool {
				if b.registry == nil {
					return test.after == ""
				}
				text, _ := b.registry.Value("registry.yaml")
				return text == test.after
			})
			b.awaitValue(t, b.key("clients"), "two")
			b.stop()
			assert.Empty(t, b.failures, "the watches took themselves for well")
		})
	}
}

func TestRow5WatchThatNothingComesFromIsRenewed(t *testing.T) {
	b := newBrisk(t)
	b.pace.late = time.Second
	faults := &tap{}
	b.startWith(t, faults.on(b.cluster.Admin()), "clients")
	faults.stall(b.shop)
	stalled := time.Now()
	b.put(t, "clients", "two")

	b.awaitRenewal(t)
	assert.GreaterOrEqual(t, time.Since(stalled), b.pace.late)
	b.awaitValue(t, b.key("clients"), "two")
	b.awaitAsOf(t, stalled)
}
