package authzbridge_test

import (
	"context"
	"io"
	"net/http"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// slowHash is bcrypt of cost 12.
const slowHash = "$2a$12$IyUo8rXVh7WmIUlXV9SqiuLJ2qMr0jr9tjeOU6R0scQTC9fBbFhQy"

// flood are wrong passwords for an App that come over many connections at once.
type flood struct {
	host, word string // the passwords begin with the word
	size       int64

	sent                        atomic.Int64
	refused, overloaded, others atomic.Int64 // answers: 401, 503, any other or none
	stop                        context.CancelFunc
	done                        sync.WaitGroup
}

// startFlood sends so many wrong passwords over 64 connections, and returns once one
// was sent away. What does not come to its turn waits until the end.
func startFlood(d *door, host, word string, size int64) *flood {
	d.tb.Helper()
	const connections = 64
	f := &flood{host: host, word: word, size: size}
	var ctx context.Context
	ctx, f.stop = context.WithCancel(d.tb.Context())
	transport := &http.Transport{MaxConnsPerHost: connections, MaxIdleConnsPerHost: connections}
	d.tb.Cleanup(func() {
		f.end()
		transport.CloseIdleConnections()
	})
	for range connections {
		f.done.Go(func() {
			for n := f.sent.Add(1); n <= f.size && ctx.Err() == nil; n = f.sent.Add(1) {
				f.count(ctx, f.ask(ctx, transport, "http://"+d.site+"/", f.word+"-"+strconv.FormatInt(n, 10)))
			}
		})
	}
	eventually(d.tb, func() bool { return f.overloaded.Load() > 0 }, "nobody is ever sent away")
	return f
}

// end sends no more, and waits for no answer.
func (f *flood) end() {
	f.stop()
	f.done.Wait()
}

// over reports whether all has been sent.
func (f *flood) over() bool { return f.sent.Load() >= f.size }

// ask returns the status, or 0 if there is no answer.
func (f *flood) ask(ctx context.Context, transport http.RoundTripper, url, password string) int {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0
	}
	r.Host = f.host
	r.SetBasicAuth("alice", password)
	response, err := transport.RoundTrip(r)
	if err != nil {
		return 0
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return 0
	}
	return response.StatusCode
}

func (f *flood) count(ctx context.Context, status int) {
	switch {
	case status == http.StatusUnauthorized:
		f.refused.Add(1)
	case status == http.StatusServiceUnavailable:
		f.overloaded.Add(1)
	case ctx.Err() == nil:
		f.others.Add(1)
	}
}

// bystander is somebody who asks again and again while there is a flood.
type bystander struct {
	host, path       string
	header           http.Header
	answered, failed int64 // read after the flood
}

// ask goes on while there is a flood, and asks a hundred times at least.
func (b *bystander) ask(d *door, f *flood) {
	for b.answered < 100 || !f.over() {
		got, err := d.trySendTo(b.path, b.host, b.header)
		if b.answered++; err != nil || got.status != http.StatusOK {
			b.failed++
			return
		}
	}
}

func TestAFloodOfWrongPasswordsDelaysNobodyElse(t *testing.T) {
	w := newTown(t)
	w.secret("flooded", clients("alice:"+slowHash))
	w.secret("keys", clients("the-key"))
	w.secret("known", clients(passwordLine(t, "alice", "pw")))
	w.secret("fresh", clients(passwordLine(t, "alice", "pw")))
	const byPassword = "\nanyOf: [{basic: {}}]"
	w.registry(document(
		app("flooded", "flooded.example.com")+byPassword,
		app("keys", "keys.example.com")+byKey+"\npublic: [{path: /healthz}]",
		app("known", "known.example.com")+byPassword,
		app("fresh", "fresh.example.com")+byPassword,
	))
	d := open(t, w.option())
	d.becomes("fresh.example.com", http.StatusUnauthorized)
	require.Equal(t, http.StatusOK, d.send("known.example.com", asBasic("alice:pw")).status)

	before := d.hashes()
	first := startFlood(d, "flooded.example.com", "wrong", 3000)
	answered := askMeanwhile(d, first, []*bystander{
		{host: "keys.example.com", path: "/", header: http.Header{"X-Api-Key": {"the-key"}}},
		{host: "keys.example.com", path: "/healthz"},
		{host: "known.example.com", path: "/", header: asBasic("alice:pw")},
	})
	hashes := d.hashes() - before
	assert.Less(t, hashes*20, answered, "those who need no hash wait for none")

	t.Log("a right password that is not known yet has its turn before what has waited longer")
	second := startFlood(d, "flooded.example.com", "wrong", 500)
	atOnce := int64(max(1, runtime.GOMAXPROCS(0)/2))
	cost, status := d.hashesFor("fresh.example.com", "alice:pw")
	assert.Equal(t, http.StatusOK, status)
	assert.LessOrEqual(t, cost, 2*atOnce+2, "hashes until then: those that were begun, its own, and those beside it")

	eventually(t, func() bool { return first.refused.Load()+second.refused.Load() > 0 }, "no wrong password is ever refused")
	first.end()
	second.end()
	assert.Zero(t, first.others.Load()+second.others.Load(), "answers to the flood that are neither 401 nor 503")
	overloaded, refused := first.overloaded.Load()+second.overloaded.Load(), first.refused.Load()+second.refused.Load()
	assert.Greater(t, overloaded, first.size/2)
	assert.GreaterOrEqual(t, d.metric(`authz_bridge_decisions_total{app="flooded",reason="overloaded"}`), overloaded)
	assert.GreaterOrEqual(t, d.metric(`authz_bridge_decisions_total{app="flooded",reason="credentials_invalid"}`), refused)
	t.Logf("%d refused, %d sent away; meanwhile %d others answered, and %d hashes", refused, overloaded, answered, hashes)
}

// askMeanwhile has everybody ask while there is a flood, and returns how many answers
// there were.
func askMeanwhile(d *door, f *flood, all []*bystander) (answered int64) {
	d.tb.Helper()
	var asking sync.WaitGroup
	for _, b := range all {
		asking.Go(func() { b.ask(d, f) })
	}
	asking.Wait()
	for _, b := range all {
		assert.Zero(d.tb, b.failed, b.host+b.path)
		answered += b.answered
	}
	return answered
}
