package bench

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	// changeRate is how many Secrets change in a second, askRate how many requests
	// come to either Caddy.
	changeRate = 1000
	askRate    = 500

	// leastRate is what the machine must manage to write for the figures to count.
	leastRate = 950

	// newsPatience is how long after a write was answered its key may still be wrong.
	newsPatience = 2 * time.Second
)

// storm changes the keys of half of the Apps in turn, and knows which answers are
// right meanwhile.
type storm struct {
	hall  *hall
	apps  int
	turns []turn // of the Apps that change

	wrong atomic.Int64
	first atomic.Pointer[string] // of the wrong answers, in words
}

// turn is how far one App has come: the numbers of its keys.
type turn struct {
	mu    sync.Mutex // guards all
	begun int        // is being written
	known int        // was written
	since time.Time  // then
}

func (t *turn) now() (begun, known int, since time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.begun, t.known, t.since
}

// measureChurn loads two Caddys alike, of which one has the bridge, first while
// nothing changes.
func measureChurn(t *testing.T, b *bench) {
	s := &storm{hall: newHall(t), apps: 10_000, turns: make([]turn, 5000)}
	w := town{size: s.apps, kinds: []kind{byAPIKey()}}
	s.hall.settle(t, w)
	c, other := newConfig(t, s.hall.option("")), newConfig(t, "")
	site, bareSite := c.site(authorized), other.site(bare)
	d := startCaddy(t, c)
	startCaddy(t, other)
	d.awaitServing(w.size)
	asked := newLoad(t, site, w.requests(0))
	bareLoad := newLoad(t, bareSite, asked.requests)

	quiet := s.watch(t, d, asked, bareLoad, time.Duration(b.pick(15, 3))*time.Second)
	seconds := b.pick(30, 6)
	changed := make(chan weather)
	go func() { changed <- s.rage(t, seconds*changeRate) }()
	windy := s.watch(t, d, asked, bareLoad, time.Duration(seconds)*time.Second)
	changes := <-changed
	require.NoError(t, changes.err)
	settled := s.awaitLast(t, asked.conns[0], changes.end)
	s.report(b, quiet, windy, changes, settled)
}

func (s *storm) report(b *bench, quiet, windy sight, changes weather, settled time.Duration) {
	b.atLeast("Secret changes a second", count(leastRate), count(changes.rate),
		fmt.Sprintf("%s were asked for; 10,000 Apps, %d requests/s", count(changeRate).text, askRate))
	const what = "processor that the changes cost the bridge, of one core"
	cost := share(windy.cpu - quiet.cpu)
	whole := fmt.Sprintf("the process: %s, quiet %s", share(windy.cpu).text, share(quiet.cpu).text)
	if changes.rate < leastRate {
		b.tellMore(what, cost.text, whole+"; too few changes for the bound of 35 %")
	} else {
		b.atMost(what, share(0.35), cost, whole)
	}
	remark := fmt.Sprintf("of %s", count(windy.asked+quiet.asked).text)
	if first := s.first.Load(); first != nil {
		remark += ", the first: " + *first
	}
	b.atMost("wrong answers", count(0), count(s.wrong.Load()), remark)
	b.tellMore("the last state is served after", duration(settled).text, "until all 5,000 keys that changed were asked for and right; those of before are refused")
	ours := (windy.p99 - windy.bareP99) - (quiet.p99 - quiet.bareP99)
	b.tellMore("p99 of requests under changes", duration(windy.p99).text,
		fmt.Sprintf("quiet %s; a Caddy without the bridge meanwhile %s, quiet %s; so ours: %s", duration(quiet.p99).text,
			duration(windy.bareP99).text, duration(quiet.bareP99).text, duration(max(ours, 0)).text))
}

// sight is what was seen of the processes for a while.
type sight struct {
	cpu          float64 // cores that the bridge's process took
	asked        int
	p99, bareP99 time.Duration
}

func (s *storm) watch(t *testing.T, d *caddy, asked, bareLoad *load, length time.Duration) sight {
	t.Helper()
	schedule := timetable{rate: askRate, calls: int(length.Seconds() * askRate), workers: connections}
	var bareTimes []time.Duration
	var bareErr error
	var running sync.WaitGroup
	cpu, begin := d.cpu(), time.Now()
	running.Go(func() {
		bareTimes, bareErr = schedule.run(func(worker, n int) error {
			return askAllowed(bareLoad.conns[worker], bareLoad.requests[n%len(bareLoad.requests)])
		})
	})
	times, err := schedule.run(func(worker, _ int) error { return s.ask(asked.conns[worker]) })
	took := (d.cpu() - cpu) / time.Since(begin).Seconds()
	running.Wait()
	require.NoError(t, err)
	require.NoError(t, bareErr)
	return sight{took, len(times), quantile(times, 0.99), quantile(bareTimes, 0.99)}
}

// ask asks something whose answer is known.
func (s *storm) ask(c *conn) error {
	if rand.IntN(2) == 0 {
		name := appName(len(s.turns) + rand.IntN(s.apps-len(s.turns)))
		if rand.IntN(2) == 0 {
			return s.expect(c, name, firstKey(name), http.StatusOK, "an App that does not change")
		}
		return s.expect(c, name, "wrong", http.StatusUnauthorized, "a wrong key")
	}
	i := rand.IntN(len(s.turns))
	_, known, _ := s.turns[i].now()
	if rand.IntN(2) == 0 && known > 1 {
		return s.expect(c, appName(i), keyNumber(i, known-2), http.StatusUnauthorized, "a key of before")
	}
	return s.askLatest(c, i)
}

// askLatest takes no more than two answers for possible, and only one if the key was
// there for long enough before and still is afterwards.
func (s *storm) askLatest(c *conn, i int) error {
	begun, known, since := s.turns[i].now()
	old := time.Since(since) > newsPatience
	status, err := c.ask(newRequest(host(appName(i)), keyHeader(keyNumber(i, known))))
	if err != nil {
		return err
	}
	later, _, _ := s.turns[i].now()
	mustBeRight := old && begun == known && later == known
	if status != http.StatusOK && (mustBeRight || status != http.StatusUnauthorized) {
		s.note(fmt.Sprintf("the latest key is answered %d", status))
	}
	return nil
}

func (s *storm) expect(c *conn, app, key string, want int, what string) error {
	status, err := c.ask(newRequest(host(app), keyHeader(key)))
	if err == nil && status != want {
		s.note(fmt.Sprintf("%s is answered %d", what, status))
	}
	return err
}

func (s *storm) note(what string) {
	s.wrong.Add(1)
	s.first.CompareAndSwap(nil, &what)
}

// keyNumber returns the key of an App after so many changes.
func keyNumber(i, changes int) string {
	if changes == 0 {
		return firstKey(appName(i))
	}
	return fmt.Sprintf("key-%d-of-%s", changes, appName(i))
}

// weather is how the changes went.
type weather struct {
	rate float64 // changes a second
	end  time.Time
	err  error
}

// rage changes one App after the other.
func (s *storm) rage(t *testing.T, changes int) weather {
	begin := time.Now()
	schedule := timetable{rate: changeRate, calls: changes, workers: writers}
	_, err := schedule.run(func(_, n int) error {
		i := n % len(s.turns)
		number := n/len(s.turns) + 1
		s.turns[i].begin(number)
		err := s.hall.rotate(t.Context(), appName(i), keyNumber(i, number))
		s.turns[i].end(number)
		return err
	})
	end := time.Now()
	return weather{float64(changes) / end.Sub(begin).Seconds(), end, err}
}

func (t *turn) begin(number int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.begun = number
}

func (t *turn) end(number int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.known, t.since = number, time.Now()
}

// awaitLast waits until the last key of every App that changed is right, and
// returns how long that was after the changes. No key of before is right then.
func (s *storm) awaitLast(t *testing.T, c *conn, end time.Time) time.Duration {
	t.Helper()
	for i := range s.turns {
		_, known, _ := s.turns[i].now()
		untilAnswered(t, c, newRequest(host(appName(i)), keyHeader(keyNumber(i, known))), http.StatusOK)
	}
	took := time.Since(end)
	for i := range s.turns {
		if _, known, _ := s.turns[i].now(); known > 0 {
			require.NoError(t, s.expect(c, appName(i), keyNumber(i, known-1), http.StatusUnauthorized, "the key before the last"))
		}
	}
	return took
}
