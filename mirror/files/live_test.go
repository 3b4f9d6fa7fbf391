package files

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

// run runs a Source until the test ends, or stop is called.
func run(t *testing.T, dir string) (src *Source, sink *recorder, stop func()) {
	t.Helper()
	src, err := New(Options{Dir: dir, Registry: registryKey, Poll: 5 * time.Millisecond})
	require.NoError(t, err)
	sink = newRecorder()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); src.Run(ctx, sink) }()
	stop = func() {
		cancel()
		select {
		case <-done:
		case <-time.After(5 * time.Second):
			t.Error("Run did not return")
		}
	}
	t.Cleanup(stop)
	return src, sink, stop
}

func TestNoVersionIsEverMixedWhileAVolumeIsSwapped(t *testing.T) {
	const swaps = 200
	for _, tt := range kubeletPlaces {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			v := newVolume(t, filepath.Join(dir, tt.mount))
			content := func(n int) map[string]string {
				value := fmt.Sprint(n)
				files := map[string]string{tt.prefix + "a": value, tt.prefix + "z": value}
				// Some keys come and go with the versions.
				files[fmt.Sprintf("%skey%d", tt.prefix, n%3)] = value
				return files
			}
			v.write(content(0))
			src, sink, _ := run(t, dir)
			var told atomic.Int64
			sink.onSecrets = func(states map[snapshot.Key]snapshot.SecretState) {
				told.Add(1)
				for key, state := range states {
					checkVersion(t, key, state)
				}
			}
			src.Reference(references(openKey))
			sink.await(t, "the first version", func() bool { return sink.value(openKey, "a") == "0" })
			for n := 1; n <= swaps; n++ {
				v.write(content(n))
			}
			sink.await(t, "the last version", func() bool { return sink.value(openKey, "a") == fmt.Sprint(swaps) })
			assert.Empty(t, sink.failing)
			t.Logf("%d swaps, %d versions told", swaps, told.Load())
		})
	}
}

// checkVersion asserts that all keys of a Secret are of one version.
func checkVersion(t *testing.T, key snapshot.Key, state snapshot.SecretState) {
	if !assert.Equal(t, snapshot.SecretPresent, state.Status, "%s: %s", key, state.Detail) {
		return
	}
	assert.Equal(t, 3, state.Secret.Len(), "%v", state.Secret.Keys())
	a, _ := state.Secret.Value("a")
	for _, name := range state.Secret.Keys() {
		value, _ := state.Secret.Value(name)
		assert.Equal(t, a, value, "key %s", name)
	}
}

func TestNoHalfOfAFileIsEverToldWhileItIsRewritten(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "two.yaml")
	text := func(n int) string {
		return manifestOf(openKey, "token", fmt.Sprint(n)) + "---\n" + manifestOf(otherKey, "token", fmt.Sprint(n))
	}
	require.NoError(t, os.WriteFile(path, []byte(text(0)), 0o600))
	src, sink, _ := run(t, dir)
	src.Reference(references(openKey, otherKey))
	sink.await(t, "the first content", func() bool { return sink.value(otherKey, "token") == "0" })
	sink.onSecrets = func(states map[snapshot.Key]snapshot.SecretState) {
		if assert.Len(t, states, 2) && assert.NotNil(t, states[openKey].Secret) && assert.NotNil(t, states[otherKey].Secret) {
			a, _ := states[openKey].Secret.Value("token")
			b, _ := states[otherKey].Secret.Value("token")
			assert.Equal(t, a, b)
		}
	}
	for n := 1; n <= 200; n++ {
		whole := text(n)
		w, err := os.Create(path)
		require.NoError(t, err)
		for _, part := range []string{whole[:len(whole)/2+2], whole[len(whole)/2+2:]} {
			_, err = w.WriteString(part)
			require.NoError(t, err)
		}
		require.NoError(t, w.Close())
	}
	sink.await(t, "the last content", func() bool { return sink.value(otherKey, "token") == "200" })
}

func TestRunReturnsAndLeavesNoGoroutine(t *testing.T) {
	dir := t.TempDir()
	// The bubble ends only when every goroutine that began in it has.
	synctest.Test(t, func(t *testing.T) {
		src, err := New(Options{Dir: dir, Registry: registryKey})
		require.NoError(t, err)
		sink := newRecorder()
		ctx, cancel := context.WithCancel(t.Context())
		go src.Run(ctx, sink)
		src.Reference(references(openKey))
		synctest.Wait()
		assert.Equal(t, snapshot.SecretAbsent, sink.state(openKey).Status)

		begin := time.Now()
		src.Reference(references(otherKey))
		synctest.Wait()
		assert.Equal(t, snapshot.SecretAbsent, sink.state(otherKey).Status)
		assert.Zero(t, time.Since(begin), "what is wanted now is answered for at once")

		cancel()
		synctest.Wait()
		sink.forget()
		src.Reference(references(openKey)) // must not block
		src.Reference(references(otherKey))
		synctest.Wait()
		assert.Empty(t, sink.calls())
	})
}

func TestHowLongToPause(t *testing.T) {
	src, err := New(Options{Dir: t.TempDir(), Registry: registryKey})
	require.NoError(t, err)
	assert.Equal(t, defaultPoll, src.pause(time.Millisecond, false))
	assert.Equal(t, time.Second, src.pause(50*time.Millisecond, false), "a look costs a twentieth of the time")
	assert.Equal(t, maxPause, src.pause(time.Minute, false))
	assert.Equal(t, settleTime, src.pause(time.Millisecond, true))
	assert.Equal(t, time.Second, src.pause(50*time.Millisecond, true), "also if somebody touches a file all the time")
	assert.Equal(t, maxPause, src.pause(time.Minute, true))
}

func TestStringNamesTheDirectoryAsItWasGiven(t *testing.T) {
	t.Chdir(t.TempDir())
	src, err := New(Options{Dir: ".", Registry: registryKey})
	require.NoError(t, err)
	assert.Equal(t, "files, directory .", src.String())
	var _ mirror.Source = src
}
