package files

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/authz-bridge/authz-bridge/mirror"
)

// failEvery is how often a failure that goes on is told again. The second time
// comes with the next look: only then does lost contact count.
const failEvery = 10 * time.Second

// maxFailures bounds what is told at once, besides that there is more.
const maxFailures = 100

// These are what is watched as a whole. They are told whatever else is wrong.
const (
	watchDirectory = "directory"
	watchRegistry  = "registry"
	watchOthers    = "others"
)

// failures is what the Sink was told of what is wrong, by watch.
type failures struct{ told map[string]*failing }

type failing struct {
	failure mirror.Failure
	times   int
	last    time.Time
}

// tell reports what is wrong now, and what is not any more.
func (f *failures) tell(sink mirror.Sink, now time.Time, current map[string]mirror.Failure) {
	if f.told == nil {
		f.told = make(map[string]*failing)
	}
	current = f.limit(current)
	for watch := range f.told {
		if _, still := current[watch]; !still {
			delete(f.told, watch)
			sink.Recovered(watch)
		}
	}
	for watch, failure := range current {
		old := f.told[watch]
		if old == nil || old.failure != failure {
			old = &failing{failure: failure}
			f.told[watch] = old
		}
		if old.times < 2 || now.Sub(old.last) >= failEvery {
			old.times, old.last = old.times+1, now
			sink.Failed(watch, failure)
		}
	}
}

// limit leaves the least important failures out, and says how many.
func (f *failures) limit(current map[string]mirror.Failure) map[string]mirror.Failure {
	more := len(current) - maxFailures
	if more <= 0 {
		return current
	}
	watches := slices.SortedFunc(maps.Keys(current), func(a, b string) int {
		return cmp.Or(cmp.Compare(f.rank(a, current[a]), f.rank(b, current[b])), cmp.Compare(a, b))
	})
	limited := make(map[string]mirror.Failure, maxFailures+1)
	for _, watch := range watches[:maxFailures] {
		limited[watch] = current[watch]
	}
	limited[watchOthers] = mirror.Failure{
		Kind:   current[watches[maxFailures]].Kind, // no other left out is more important
		Detail: fmt.Sprintf("%d more failures are left out; correct those that are told", more),
	}
	return limited
}

// rank sorts by importance. What was told stays told, so that nothing counts as
// recovered only because something else fails.
func (f *failures) rank(watch string, failure mirror.Failure) int {
	switch {
	case watch == watchDirectory, watch == watchRegistry:
		return 0
	case failure.Kind == mirror.FailureContact:
		return 1
	case f.told[watch] != nil:
		return 2
	}
	return 3
}
