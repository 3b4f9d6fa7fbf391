//go:build unix

package cache_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/mirror/cache"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

const (
	childWrites = "writes without end"

	kills = 200
	// longestLife is how long a child may write: a few Stores under the race
	// detector.
	longestLife = 100 * time.Millisecond
	// longestWrite is how long it may go on once it writes its file.
	longestWrite = 3 * time.Millisecond
)

func init() { children[childWrites] = writeWithoutEnd }

// writeWithoutEnd starts as a process does, and says the generation that it
// loaded, and each one that is stored.
func writeWithoutEnd(dir string) error {
	c, err := childCache(dir)
	if err != nil {
		return err
	}
	found, err := c.Load()
	if err != nil && !errors.Is(err, mirror.ErrNoCache) {
		return err
	}
	at, err := generationOf(found)
	if err != nil {
		return err
	}
	say(strconv.Itoa(at))
	for {
		at++
		if err := c.Store(generation(at)); err != nil {
			return err
		}
		say(strconv.Itoa(at))
	}
}

// crowd is how many Secrets a generation has.
const crowd = 200

// generation has its number in every part, and some size.
func generation(number int) mirror.Contents {
	n := strconv.Itoa(number)
	contents := mirror.Contents{Cluster: n, Validated: noon, Secrets: make(map[snapshot.Key]snapshot.SecretState)}
	contents.Registry = secret(registryKey, map[string][]byte{"n": []byte(n)})
	for i := range crowd {
		key := snapshot.Key{Namespace: "town", Name: strconv.Itoa(i)}
		contents.Secrets[key] = snapshot.Present(secret(key, map[string][]byte{"n": []byte(n), "token": value(number + i)}))
	}
	return contents
}

// generationOf returns the number of a generation that is whole, 0 of nothing.
func generationOf(c mirror.Contents) (int, error) {
	if c.Cluster == "" {
		return 0, nil
	}
	if n, _ := c.Registry.Value("n"); n != c.Cluster || len(c.Secrets) != crowd {
		return 0, fmt.Errorf("generation %s has a Registry of %q and %d Secrets", c.Cluster, n, len(c.Secrets))
	}
	for key, state := range c.Secrets {
		if n, _ := state.Secret.Value("n"); n != c.Cluster {
			return 0, fmt.Errorf("generation %s has a Secret %s of %q", c.Cluster, key, n)
		}
	}
	return strconv.Atoi(c.Cluster)
}

func TestRow20AKillAtAnyMomentLeavesAWholeFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	known, torn := 0, 0 // the last generation that was stored; files left half written
	for i := range kills {
		aim := anyMoment
		if i%2 == 1 {
			aim = amidWrite(t, dir)
		}
		known = killOne(t, dir, known, aim)
		if _, err := os.Lstat(filepath.Join(dir, cache.TempName)); err == nil {
			torn++
		}
	}
	t.Logf("%d kills, %d of them in the midst of a write, %d generations", kills, torn, known)
	require.Positive(t, known, "no child ever stored anything")
	require.Positive(t, torn, "no child was ever killed in the midst of a write")

	c := newCache(t, options(dir))
	require.NoError(t, c.Store(shop()))
	require.NoFileExists(t, filepath.Join(dir, cache.TempName))
}

// An aim returns when it is time to kill, or when the test ends. The clock is all
// that decides: a process is killed whatever it does.
type aim func(ctx context.Context)

func anyMoment(ctx context.Context) { wait(ctx, rand.N(longestLife)) }

// amidWrite aims at the few moments in which a file is half written.
func amidWrite(t *testing.T, dir string) aim {
	t.Helper()
	temp := filepath.Join(dir, cache.TempName)
	require.NoError(t, os.RemoveAll(temp), "the one that the kill before this left")
	return func(ctx context.Context) {
		for ctx.Err() == nil {
			if _, err := os.Lstat(temp); err == nil {
				break
			}
			runtime.Gosched()
		}
		wait(ctx, rand.N(longestWrite))
	}
}

func wait(ctx context.Context, long time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(long):
	}
}

// killOne kills a child at a random moment of its writing, and returns the
// generation that is stored then.
func killOne(t *testing.T, dir string, known int, due aim) int {
	t.Helper()
	c := startChild(t, childWrites, dir)
	require.True(t, c.lines.Scan(), "the child ended before it said what it loaded")
	require.Equal(t, strconv.Itoa(known), c.lines.Text(), "a start loads what the one before it left")

	ctx, cancel := context.WithCancel(t.Context())
	var killer sync.WaitGroup
	defer killer.Wait()
	defer cancel()
	killer.Go(func() {
		due(ctx)
		_ = c.cmd.Process.Kill()
	})
	stored := known
	for c.lines.Scan() {
		next, err := strconv.Atoi(c.lines.Text())
		require.NoError(t, err, "the child failed: %s", c.lines.Text())
		stored = next
	}
	require.NoError(t, c.lines.Err())
	require.ErrorContains(t, c.cmd.Wait(), "killed")
	return requireGeneration(t, dir, stored)
}

// requireGeneration returns the generation that is stored: the last that was
// told, or the one after it, whose word did not get out.
func requireGeneration(t *testing.T, dir string, told int) int {
	t.Helper()
	contents, err := newCache(t, options(dir)).Load()
	if told == 0 && errors.Is(err, mirror.ErrNoCache) {
		return 0
	}
	require.NoError(t, err)
	at, err := generationOf(contents)
	require.NoError(t, err)
	require.Contains(t, []int{told, told + 1}, at, "what was stored is lost")
	return at
}
