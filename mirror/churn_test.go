package mirror_test

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

// churned is a Registry in which everything says which one it is: the number of
// Apps, and the names of all hostnames but one, which wanders from App to App.
func churned(i int) *snapshot.Secret {
	entries := make([]string, appsOf(i))
	for k := range entries {
		hostnames := fmt.Sprintf(`"a%d-%d.example.com","*.a%d-%d.example.com"`, k, i, k, i)
		if k == i%len(entries) {
			hostnames += `,"front.example.com"`
		}
		entries[k] = fmt.Sprintf(`{"name":"a%d","hostnames":[%s],"secretRef":{"name":"shared"}}`, k, hostnames)
	}
	return registry(strconv.Itoa(i), entries...)
}

func appsOf(i int) int { return 1 + i%7 }

// disagreement says where the hostname index and the App set are not of one
// Registry.
func disagreement(apps *snapshot.Apps) string {
	hostnames := 0
	i := -1
	for p := range apps.Len() {
		app := apps.At(p)
		hostnames += len(app.Hostnames)
		for _, h := range app.Hostnames {
			found, reason := apps.Lookup(strings.Replace(h, "*", "x", 1))
			if found != app || reason != snapshot.ReasonAllowed {
				return fmt.Sprintf("%s is in %s, and is found in %v (%s)", h, app.Name, found, reason)
			}
			_, rest, wanders := strings.Cut(strings.TrimPrefix(h, "*."), "-")
			if !wanders {
				continue
			}
			of, err := strconv.Atoi(strings.TrimSuffix(rest, ".example.com"))
			if err != nil || i >= 0 && of != i {
				return fmt.Sprintf("%s is beside Registry %d", h, i)
			}
			i = of
		}
	}
	if apps.Len() != appsOf(i) || apps.Hostnames() != hostnames || hostnames != 2*apps.Len()+1 {
		return fmt.Sprintf("Registry %d: %d Apps, %d hostnames in them, %d in the index", i, apps.Len(), hostnames, apps.Hostnames())
	}
	return ""
}

func TestReadersNeverSeeHalfAChange(t *testing.T) {
	w := newWorld(t)
	published := make(chan struct{}, 1000)
	w.mirror.OnPublish(func(*snapshot.Snapshot) { published <- struct{}{} })
	w.start()
	w.source.cluster[key("shared")] = token("shared", "1")
	w.source.sink.Registry(churned(0))
	receive(t, published)

	stop := readers(t, w, 8)
	for i := 1; i <= 200; i++ {
		w.source.sink.Registry(churned(i))
		receive(t, published)
		_, reason := w.view().Lookup(fmt.Sprintf("a0-%d.example.com", i))
		require.Equal(t, snapshot.ReasonAllowed, reason, "Registry %d is in service", i)
	}
	stop()
	assert.Equal(t, uint64(201), w.generation())
}

// readers look at the Snapshot in service over and over until stop.
func readers(t *testing.T, w *world, n int) (stop func()) {
	var (
		running  sync.WaitGroup
		stopped  atomic.Bool
		reads    atomic.Uint64
		problems record[string]
	)
	for range n {
		running.Go(func() {
			last := uint64(0)
			for !stopped.Load() {
				s := w.mirror.Current()
				apps, ok := snapshot.ViewAt[*snapshot.Apps](s, w.apps)
				problem := "no Apps"
				if ok {
					problem = disagreement(apps)
				}
				if s.Generation() < last {
					problem = fmt.Sprintf("generation %d after %d", s.Generation(), last)
				}
				if problem != "" {
					problems.add(problem)
					return
				}
				last = s.Generation()
				reads.Add(1)
				runtime.Gosched() // else two cores are too few for anybody else
			}
		})
	}
	return func() {
		stopped.Store(true)
		running.Wait()
		assert.Empty(t, problems.list())
		assert.Greater(t, reads.Load(), uint64(10_000), "they did read")
	}
}

func receive(t *testing.T, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(20 * time.Second):
		require.Fail(t, "nothing was published")
	}
}

func TestStormOfSignalsKeepsNoMoreThanThereAreObjects(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		const objects, signals = 10, 3000
		names := make([]string, objects)
		for i := range names {
			names[i] = "app-" + strconv.Itoa(i)
		}
		w.serve(names...)
		end := make(chan struct{})
		s := newSpy("hangs")
		s.makes(func(snapshot.Objects) (any, error) { <-end; return "done", nil })
		w.register(s)
		synctest.Wait()
		rebuilds := w.mirror.Rebuilds()

		told := make([]weak.Pointer[snapshot.Secret], 0, 2*signals)
		for i := range signals {
			name := names[i%objects]
			state := value(name, strconv.Itoa(i), strings.Repeat("x", 1<<10))
			doc := registry(strconv.Itoa(i+2), app("other"))
			told = append(told, weak.Make(state.Secret), weak.Make(doc))
			w.source.sink.Registry(doc)
			w.source.sink.Secrets(map[snapshot.Key]snapshot.SecretState{key(name): state})
		}
		runtime.GC()
		kept := 0
		for _, p := range told {
			if p.Value() != nil {
				kept++
			}
		}
		assert.LessOrEqual(t, kept, objects+2, "the last state of each, the last Registry, and what the test itself may hold")

		close(end)
		w.idle()
		assert.Equal(t, rebuilds+1, w.mirror.Rebuilds())
		assert.Equal(t, "pending", w.reason("other"))
		assert.Equal(t, strconv.Itoa(signals+1), w.mirror.Status().Registry.Version)
	})
}

func TestRegisterListenAndAskWhileEverythingChanges(t *testing.T) {
	w := newWorld(t)
	w.start()
	w.source.cluster[key("shared")] = token("shared", "1")
	w.source.sink.Registry(churned(0))
	require.NotNil(t, w.mirror.Await(t.Context(), 20*time.Second))

	var all sync.WaitGroup
	slots := make([]snapshot.Slot, 20)
	each := func(f func(i int)) {
		all.Go(func() {
			for i := range slots {
				f(i)
				runtime.Gosched()
			}
		})
	}
	each(func(i int) { slots[i] = w.register(newSpy("spy-" + strconv.Itoa(i))) })
	each(func(i int) { w.source.sink.Registry(churned(i)) })
	each(func(i int) { w.source.put(key("shared"), token("shared", strconv.Itoa(i))) })
	each(func(int) { w.mirror.OnPublish(func(*snapshot.Snapshot) {})() })
	each(func(i int) { w.fail(watch, "contact", strconv.Itoa(i)) })
	each(func(int) { w.source.sink.Recovered(watch) })
	each(func(int) { w.mirror.Status() })
	all.Wait()

	require.Eventually(t, func() bool {
		for _, slot := range slots {
			if _, ok := snapshot.ViewAt[int](w.mirror.Current(), slot); !ok {
				return false
			}
		}
		return w.version19() == "19"
	}, 20*time.Second, time.Millisecond)
}

// version19 is the version of the Secret of the Registry that was told last.
func (w *world) version19() string {
	app, _ := w.view().Lookup("a0-19.example.com")
	if app == nil {
		return ""
	}
	return app.SecretVersion
}
