package mirror_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

// world is a Mirror with the Apps View, its scripted Source, and everything that
// it tells.
type world struct {
	t        *testing.T
	mirror   *mirror.Mirror
	source   *scripted
	apps     snapshot.Slot
	observed *observed
	logs     *observer.ObservedLogs
}

// option changes what a Mirror is made of.
type option func(*mirror.Options)

func maxAge(d time.Duration) option { return func(o *mirror.Options) { o.MaxAge = d } }

// inWorld runs a test in virtual time with a Mirror that is started and has
// nothing to do. It fails if a goroutine is left when the Mirror has stopped.
func inWorld(t *testing.T, test func(*testing.T, *world), options ...option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options...)
		w.start()
		test(t, w)
	})
}

// newWorld leaves the Mirror for the test to start.
func newWorld(t *testing.T, options ...option) *world {
	t.Helper()
	w := newBareWorld(t, options...)
	w.apps = w.register(snapshot.NewAppsBuilder())
	return w
}

// newBareWorld leaves the Builders to the test as well.
func newBareWorld(t *testing.T, options ...option) *world {
	t.Helper()
	core, logs := observer.New(zapcore.DebugLevel)
	w := &world{t: t, source: newScripted(), observed: newObserved(), logs: logs}
	o := mirror.Options{
		Registry: registryKey,
		Source:   w.source,
		Logger:   zap.New(core),
		Observer: w.observed,
	}
	for _, change := range options {
		change(&o)
	}
	m, err := mirror.New(o)
	require.NoError(t, err)
	w.mirror = m
	t.Cleanup(m.Stop)
	return w
}

func (w *world) start() {
	w.t.Helper()
	require.NoError(w.t, w.mirror.Start())
	<-w.source.running
}

func (w *world) register(b snapshot.Builder) snapshot.Slot {
	w.t.Helper()
	slot, err := w.mirror.Register(b)
	require.NoError(w.t, err)
	return slot
}

// tell tells a Registry, and waits until the loop has nothing left to do now.
func (w *world) tell(secret *snapshot.Secret) {
	w.source.sink.Registry(secret)
	synctest.Wait()
}

// put changes a Secret, and waits until the loop has nothing left to do now.
func (w *world) put(name string, state snapshot.SecretState) {
	w.source.put(key(name), state)
	synctest.Wait()
}

// validate tells that everything is right as of now.
func (w *world) validate() {
	w.fresh(mirror.Freshness{Contact: time.Now(), AsOf: time.Now(), Oldest: watch})
}

// keepValidating tells every 10 s for so long that everything is right.
func (w *world) keepValidating(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		time.Sleep(min(10*time.Second, time.Until(end)))
		w.validate()
	}
}

// fresh tells how old things are, and waits until the Mirror has taken it in.
func (w *world) fresh(f mirror.Freshness) {
	w.source.sink.Fresh(f)
	synctest.Wait()
}

// serve brings the Mirror to an idle state in which the Apps are open.
func (w *world) serve(names ...string) {
	entries := make([]string, len(names))
	for i, name := range names {
		entries[i] = app(name)
		w.put(name, token(name, "1"))
	}
	w.tell(registry("1", entries...))
	w.idle()
	for _, name := range names {
		require.Equal(w.t, "allowed", w.reason(name))
	}
}

// idle lets the longest gap after a build pass.
func (w *world) idle() { pass(time.Second) }

// pass lets virtual time pass, and waits until all that is due has been done.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// view returns the Apps in service.
func (w *world) view() *snapshot.Apps {
	w.t.Helper()
	apps, ok := snapshot.ViewAt[*snapshot.Apps](w.mirror.Current(), w.apps)
	require.True(w.t, ok, "there are no Apps to look into")
	return apps
}

// reason is what a request for the App's hostname is answered with.
func (w *world) reason(app string) string {
	decider := snapshot.Decider{Apps: w.apps, Now: time.Now}
	return decider.Decide(w.mirror.Current(), snapshot.Request{Host: host(app)}).Reason.String()
}

// version is the version of the App's Secret in service.
func (w *world) version(app string) string {
	w.t.Helper()
	a, _ := w.view().Lookup(host(app))
	require.NotNil(w.t, a, "there is no App %s", app)
	return a.SecretVersion
}

func (w *world) generation() uint64 { return w.mirror.Current().Generation() }

// age is how old what is served is now, and of which part.
func (w *world) age() (time.Duration, string) {
	st := w.mirror.Status()
	return st.Age(time.Now()), st.Oldest
}

// assertAge asks for both.
func (w *world) assertAge(age time.Duration, oldest string) {
	w.t.Helper()
	got, of := w.age()
	assert.Equal(w.t, age, got)
	assert.Equal(w.t, oldest, of)
}

func (w *world) reasons() []string {
	_, reasons := w.mirror.Ready()
	return reasons
}

// condition returns the one condition of its type and subject.
func (w *world) condition(kind mirror.ConditionType, subject string) (mirror.Condition, bool) {
	for _, c := range w.mirror.Status().Conditions {
		if c.Type == kind && c.Subject == subject {
			return c, true
		}
	}
	return mirror.Condition{}, false
}

// observed counts what the Observer is told.
type observed struct {
	mu          sync.Mutex // guards the fields below
	durations   []float64
	buildFailed map[string]int
	resynced    int
	failed      map[mirror.FailureKind]int
}

func newObserved() *observed {
	return &observed{buildFailed: make(map[string]int), failed: make(map[mirror.FailureKind]int)}
}

func (o *observed) Rebuilt(seconds float64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.durations = append(o.durations, seconds)
}

func (o *observed) BuildFailed(builder string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.buildFailed[builder]++
}

func (o *observed) Resynced() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.resynced++
}

func (o *observed) SourceFailed(kind mirror.FailureKind) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failed[kind]++
}
