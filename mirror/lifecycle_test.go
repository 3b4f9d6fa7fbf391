package mirror_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

func TestNewRefusesWhatCannotWork(t *testing.T) {
	for name, c := range map[string]struct {
		options mirror.Options
		want    string
	}{
		"no source": {
			mirror.Options{Registry: registryKey},
			"mirror: no source",
		},
		"no registry": {
			mirror.Options{Source: newScripted()},
			"mirror: registry is not the namespace and name of a Secret",
		},
		"registry without a namespace": {
			mirror.Options{Source: newScripted(), Registry: snapshot.Key{Name: "registry"}},
			"mirror: registry is not the namespace and name of a Secret",
		},
		"registry with a name of another form": {
			mirror.Options{Source: newScripted(), Registry: snapshot.Key{Namespace: "bridge", Name: "a/b"}},
			"mirror: registry is not the namespace and name of a Secret",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := mirror.New(c.options)
			assert.EqualError(t, err, c.want)
			assert.Nil(t, m)
		})
	}
}

func TestNewDoesNothingYet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		pass(time.Hour)
		assert.Nil(t, w.source.sink)
		assert.Nil(t, w.mirror.Current())
		assert.Equal(t, []string{notRead}, w.reasons())
	})
}

func TestMirrorWithoutLoggerAndObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newScripted()
		m, err := mirror.New(mirror.Options{Registry: registryKey, Source: source})
		require.NoError(t, err)
		defer m.Stop()
		bad := newSpy("bad")
		bad.panics("no")
		_, err = m.Register(bad)
		require.NoError(t, err)
		require.NoError(t, m.Start())
		<-source.running
		source.sink.Failed("a", mirror.Failure{Kind: mirror.FailureForbidden})
		source.sink.Resynced("a")
		source.sink.Registry(nil)
		synctest.Wait()

		assert.NotNil(t, m.Current())
	})
}

func TestStartIsOnlyOnce(t *testing.T) {
	const want = "mirror: started or stopped before; make a new one"
	t.Run("twice", func(t *testing.T) {
		inWorld(t, func(t *testing.T, w *world) {
			assert.EqualError(t, w.mirror.Start(), want)
			w.serve("shop")
		})
	})
	t.Run("after Stop", func(t *testing.T) {
		inWorld(t, func(t *testing.T, w *world) {
			w.mirror.Stop()
			assert.EqualError(t, w.mirror.Start(), want)
		})
	})
	t.Run("after Stop before Start", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.mirror.Stop()
			assert.EqualError(t, w.mirror.Start(), want)
			synctest.Wait()
			assert.Nil(t, w.source.sink, "the Source was not run")
		})
	})
}

func TestStopIsImmediateWhenNothingHangs(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.serve("shop")
		current := w.mirror.Current()
		begin := time.Now()
		w.mirror.Stop()
		w.mirror.Stop()

		assert.Zero(t, time.Since(begin))
		assert.Same(t, current, w.mirror.Current(), "the last Snapshot stays readable")
		assert.Equal(t, "allowed", w.reason("shop"))
		assert.Zero(t, w.logs.FilterMessage("mirror still stopping").Len())
	})
}

func TestStopInTheGapIsImmediate(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.register(newSpy("slow").takes(time.Second))
		w.tell(nil)
		pass(time.Second)
		require.NotNil(t, w.mirror.Current(), "the gap begins")
		begin := time.Now()
		w.mirror.Stop()
		assert.Zero(t, time.Since(begin))
	})
}

func TestStopGivesUpOnWhatHangs(t *testing.T) {
	for name, c := range map[string]struct{ hang func(*world, chan struct{}) }{
		"a Source": {func(w *world, end chan struct{}) {
			w.source.hang = end
			w.start()
		}},
		"a Builder": {func(w *world, end chan struct{}) {
			s := newSpy("hangs")
			s.makes(func(snapshot.Objects) (any, error) { <-end; return "late", nil })
			w.register(s)
			w.start()
			w.tell(nil)
		}},
		"a listener": {func(w *world, end chan struct{}) {
			w.mirror.OnPublish(func(*snapshot.Snapshot) { <-end })
			w.start()
			w.tell(nil)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				end := make(chan struct{})
				c.hang(w, end)
				begin := time.Now()
				w.mirror.Stop()
				assert.Equal(t, 2*time.Second, time.Since(begin))
				w.mirror.Stop()
				assert.Equal(t, 2*time.Second, time.Since(begin), "the second does not wait again")
				assert.Equal(t, 1, w.logs.FilterMessage("mirror still stopping").Len())

				current, rebuilds := w.mirror.Current(), w.mirror.Rebuilds()
				close(end)
				pass(time.Minute)
				assert.Same(t, current, w.mirror.Current(), "nothing is published after Stop")
				assert.Equal(t, rebuilds, w.mirror.Rebuilds())
			})
		})
	}
}

func TestBuildThatOutlivesStopTellsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		end := make(chan struct{})
		s := newSpy("hangs")
		w.register(s)
		w.start()
		w.serve("shop")
		s.makes(func(snapshot.Objects) (any, error) { <-end; return "late", nil })
		var told record[uint64]
		w.mirror.OnPublish(func(s *snapshot.Snapshot) { told.add(s.Generation()) })
		w.put("shop", token("shop", "2"))
		w.mirror.Stop()
		close(end)
		pass(time.Minute)

		assert.Zero(t, told.len())
		assert.Equal(t, "1", w.version("shop"))
	})
}

func TestSourceThatTellsAfterStop(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.serve("shop")
		rebuilds := w.mirror.Rebuilds()
		w.mirror.Stop()
		for range 100 { // select does not prefer the end to a signal
			w.tell(nil)
			w.put("shop", snapshot.Absent())
			w.fail(watch, mirror.FailureContact, "no")
			w.source.sink.Recovered(watch)
			w.source.sink.Resynced(watch)
			pass(time.Second)
		}
		_, err := w.mirror.Register(newSpy("late"))
		require.NoError(t, err)
		pass(time.Hour)

		assert.Equal(t, "allowed", w.reason("shop"))
		assert.Equal(t, rebuilds, w.mirror.Rebuilds())
	})
}

func TestNewsAtTheMomentOfStopAreNotBuilt(t *testing.T) {
	for range 50 { // select chooses at random
		inWorld(t, func(t *testing.T, w *world) {
			w.serve("shop")
			w.put("shop", token("shop", "2")) // the gap begins
			rebuilds := w.mirror.Rebuilds()
			w.source.put(key("shop"), token("shop", "3"))
			w.mirror.Stop()
			assert.Equal(t, rebuilds, w.mirror.Rebuilds())
		})
	}
}

func TestStopByAListener(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.mirror.OnPublish(func(*snapshot.Snapshot) { w.mirror.Stop() })
		w.tell(nil)
		pass(2 * time.Second)

		assert.NotNil(t, w.mirror.Current())
		assert.Equal(t, 1, w.logs.FilterMessage("mirror still stopping").Len(), "it waits for itself in vain, but not for ever")
	})
}

func TestStopByManyAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.source.hang = make(chan struct{})
		defer close(w.source.hang)
		w.start()
		begin := time.Now()
		var ended record[time.Duration]
		for range 10 {
			go func() {
				w.mirror.Stop()
				ended.add(time.Since(begin))
			}()
		}
		pass(2 * time.Second)

		assert.Equal(t, append(make([]time.Duration, 9), 2*time.Second), ended.list(), "one waits, and holds nobody up")
	})
}
