package bench

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// connections is how many callers there are, each of whom waits for its answer.
const connections = 16

// load is callers of one site, who stay connected.
type load struct {
	requests [][]byte
	conns    []*conn
}

// pace is what a load was answered in.
type pace struct {
	rate     float64 // answers a second
	p50, p99 time.Duration
}

// newLoad connects once the site answers the first of the requests.
func newLoad(t *testing.T, address string, requests [][]byte) *load {
	t.Helper()
	l := &load{requests: requests}
	awaitStatus(t, address, requests[0], http.StatusOK, 10*time.Millisecond).Close()
	for range connections {
		c, err := dial(address)
		require.NoError(t, err)
		l.conns = append(l.conns, c)
	}
	t.Cleanup(func() {
		for _, c := range l.conns {
			c.Close()
		}
	})
	return l
}

// all asks each request once.
func (l *load) all() error {
	for _, request := range l.requests {
		if err := askAllowed(l.conns[0], request); err != nil {
			return err
		}
	}
	return nil
}

// run asks as fast as the answers come. Each answer must be that the request is allowed.
func (l *load) run(d time.Duration) (pace, error) {
	times := make([][]time.Duration, len(l.conns))
	errs := make([]error, len(l.conns))
	var running sync.WaitGroup
	begin := time.Now()
	for i, c := range l.conns {
		running.Go(func() { times[i], errs[i] = l.askFor(c, begin.Add(d)) })
	}
	running.Wait()
	took := time.Since(begin)
	all := joined(times)
	if err := errors.Join(errs...); err != nil || len(all) == 0 {
		return pace{}, fmt.Errorf("%d answers: %w", len(all), err)
	}
	return pace{float64(len(all)) / took.Seconds(), quantile(all, 0.5), quantile(all, 0.99)}, nil
}

func (l *load) askFor(c *conn, end time.Time) (times []time.Duration, err error) {
	at := rand.IntN(len(l.requests))
	for now := time.Now(); now.Before(end); {
		if err := askAllowed(c, l.requests[at]); err != nil {
			return times, err
		}
		next := time.Now()
		times = append(times, next.Sub(now))
		now = next
		if at++; at == len(l.requests) {
			at = 0
		}
	}
	return times, nil
}

func askAllowed(c *conn, request []byte) error {
	status, err := c.ask(request)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("answered %d", status)
	}
	return err
}

// timetable is calls at a fixed rate, whatever becomes of those before.
type timetable struct {
	rate    int // calls a second
	calls   int
	workers int
}

// run makes the calls and returns how long each took, from when it was due where
// the workers were late.
func (p timetable) run(call func(worker, n int) error) ([]time.Duration, error) {
	times := make([][]time.Duration, p.workers)
	errs := make([]error, p.workers)
	var running sync.WaitGroup
	var next atomic.Int64
	begin := time.Now()
	for w := range p.workers {
		running.Go(func() {
			for n := int(next.Add(1)) - 1; n < p.calls && errs[w] == nil; n = int(next.Add(1)) - 1 {
				due := begin.Add(time.Duration(n) * time.Second / time.Duration(p.rate))
				if wait := time.Until(due); wait > 0 {
					<-time.After(wait)
					due = time.Now() // a timer that is late is not the callee's fault
				}
				errs[w] = call(w, n)
				times[w] = append(times[w], time.Since(due))
			}
		})
	}
	running.Wait()
	return joined(times), errors.Join(errs...)
}

func joined[T any](lists [][]T) (all []T) {
	for _, list := range lists {
		all = append(all, list...)
	}
	return all
}
