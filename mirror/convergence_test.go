package mirror_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

// flaky builds Apps as ever, and fails before or after it at random.
type flaky struct {
	snapshot.AppsBuilder
	random *rand.Rand
	calm   bool // guarded by the order of events: set before the last change is told
}

func (f *flaky) Name() string { return "flaky" }

func (f *flaky) Build(o snapshot.Objects) (any, error) {
	if f.calm {
		return f.AppsBuilder.Build(o)
	}
	switch f.random.IntN(4) {
	case 0:
		return nil, errors.New("before")
	case 1:
		panic("before")
	}
	view, err := f.AppsBuilder.Build(o)
	if f.random.IntN(4) == 0 {
		return nil, errors.New("after")
	}
	return view, err
}

// history plays random events against a Mirror.
type history struct {
	*world
	random   *rand.Rand
	flaky    *flaky
	slot     snapshot.Slot
	versions int
	good     *snapshot.Secret // the last good Registry
	unread   bool             // the last one is malformed, so that before it may be passed over
}

func (h *history) nextVersion() string {
	h.versions++
	return strconv.Itoa(h.versions)
}

func (h *history) step() {
	switch h.random.IntN(10) {
	case 0:
		h.good, h.unread = nil, false
		h.source.sink.Registry(nil)
	case 1:
		h.unread = true
		h.source.sink.Registry(document("uid-1", h.nextVersion(), "version: 2"))
	case 2, 3, 4:
		h.tellRegistry()
	case 5:
		time.Sleep(time.Duration(h.random.IntN(30)) * time.Millisecond)
	case 6:
		pass(time.Second)
	default:
		h.source.put(key("app-"+strconv.Itoa(h.random.IntN(6))), h.anyState())
	}
}

func (h *history) tellRegistry() {
	var entries []string
	for i := range 6 {
		name := "app-" + strconv.Itoa(i)
		switch h.random.IntN(4) {
		case 0:
		case 1:
			entries = append(entries, fmt.Sprintf(`{"name":%q,"hostnames":[%q],"secretRef":{"name":%q,"key":"token"}}`, name, host(name), name))
		default:
			entries = append(entries, app(name))
		}
	}
	h.good, h.unread = registry(h.nextVersion(), entries...), false
	h.source.sink.Registry(h.good)
}

// tellSomethingNew changes as little as it can to have every Builder called.
func (h *history) tellSomethingNew() {
	if h.good != nil && !h.unread {
		for i := range 6 {
			name := "app-" + strconv.Itoa(i)
			if app, _ := h.view().Lookup(host(name)); app != nil {
				h.source.put(key(name), token(name, h.nextVersion()))
				return
			}
		}
	}
	h.tellRegistry()
}

func (h *history) anyState() snapshot.SecretState {
	switch h.random.IntN(4) {
	case 0:
		return snapshot.Absent()
	case 1:
		return snapshot.Forbidden("no")
	}
	name := "app-" + strconv.Itoa(h.random.IntN(6))
	return value(name, h.nextVersion(), []string{"", "bytes"}[h.random.IntN(2)])
}

// fresh is what a Mirror shows that starts now.
func (h *history) fresh() []string {
	reg := snapshot.AbsentRegistry(registryKey)
	if h.good != nil {
		var err error
		reg, err = snapshot.ParseRegistry(h.good)
		require.NoError(h.t, err)
	}
	view, err := snapshot.NewAppsBuilder().Build(snapshot.NewObjects(time.Now(), reg, h.source.cluster))
	require.NoError(h.t, err)
	apps, ok := view.(*snapshot.Apps)
	require.True(h.t, ok)
	return describe(apps)
}

func describe(apps *snapshot.Apps) []string {
	all := []string{fmt.Sprintf("present: %t", apps.RegistryPresent())}
	for i := range apps.Len() {
		a := apps.At(i)
		all = append(all, fmt.Sprintf("%s: %s, version %q, %s", a.Name, a.Reason, a.SecretVersion, a.Detail))
	}
	return all
}

func TestEveryHistoryEndsLikeAFreshStart(t *testing.T) {
	for seed := range uint64(100) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				random := rand.New(rand.NewPCG(seed, 0))
				h := &history{world: w, random: random, flaky: &flaky{random: rand.New(rand.NewPCG(seed, 1))}}
				h.slot = w.register(h.flaky)
				w.source.sink.Registry(nil)
				for range 60 {
					h.step()
				}
				pass(3 * time.Second)
				if !h.unread {
					assert.Equal(t, h.fresh(), describe(w.view()))
				}

				h.flaky.calm = true
				h.tellSomethingNew()
				pass(3 * time.Second)
				assert.Equal(t, h.fresh(), describe(w.view()))
				other, ok := snapshot.ViewAt[*snapshot.Apps](w.mirror.Current(), h.slot)
				require.True(t, ok)
				assert.Equal(t, h.fresh(), describe(other), "the Builder that failed lost nothing")
				assert.Empty(t, w.mirror.Status().Conditions)
			})
		})
	}
}
