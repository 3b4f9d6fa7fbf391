package kube

import (
	"slices"
	"sync"
	"time"

	"github.com/authz-bridge/authz-bridge/mirror"
)

// mostProbes bounds the probes that a watch has yet to catch up with. The oldest
// stay: they are the next to be reached.
const mostProbes = 8

// validation knows as of when each watch has brought everything. A watch says
// nothing while nothing happens, and a bookmark proves that the API server is there
// and not that its data is. So a probe asks for the revision of the data, and a
// watch that has come to that revision is as fresh as the probe.
type validation struct {
	sink mirror.Sink

	mu      sync.Mutex // guards the rest, and all progress; held while the Sink is told, to keep order
	watches map[*progress]struct{}
	ages    ages // of those that count
	contact time.Time
}

// progress is how far one watch has come.
type progress struct {
	*validation
	title  string
	isPart func() bool // something is open through it; nil: always

	version string    // up to which the watch has brought everything; empty for none
	asOf    time.Time // zero until it has brought everything once
	place   int       // in the heap of ages
	probes  []probed  // that it has not come to, oldest first
}

type probed struct {
	at       time.Time // before it was sent
	revision string
}

func newValidation(sink mirror.Sink) *validation {
	return &validation{sink: sink, watches: make(map[*progress]struct{})}
}

// add takes one more watch into account, once that has brought everything.
func (v *validation) add(title string) *progress {
	v.mu.Lock()
	defer v.mu.Unlock()
	p := &progress{validation: v, title: title, place: nowhere}
	v.watches[p] = struct{}{}
	return p
}

// remove takes a watch that there is no more out of account, whatever it still
// brings.
func (p *progress) remove() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.isThere() {
		return
	}
	delete(p.watches, p)
	p.ages.remove(p)
	p.tell()
}

func (p *progress) isThere() bool {
	_, there := p.watches[p]
	return there
}

// synced takes that a watch has brought everything that was there when it was asked
// for, or later.
func (p *progress) synced(asked time.Time, version string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.isThere() {
		return
	}
	p.advance(asked)
	p.come(version)
	p.tell()
}

// reached takes that a watch has brought everything up to a version.
func (p *progress) reached(version string) {
	if version == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.isThere() {
		return
	}
	p.come(version)
	p.tell()
}

func (p *progress) come(version string) {
	p.version, p.contact = version, time.Now()
	for len(p.probes) > 0 && !isNewer(p.probes[0].revision, version) {
		p.advance(p.probes[0].at)
		p.probes = p.probes[1:]
	}
	p.rank()
}

func (p *progress) advance(asOf time.Time) {
	if asOf.After(p.asOf) {
		p.asOf = asOf
	}
}

// rank puts a watch where it belongs by its age. One that has come to count since is
// there from now on.
func (p *progress) rank() {
	if p.counts() {
		p.ages.aged(p)
	} else {
		p.ages.remove(p)
	}
}

// versions returns how far the watches have come. Those that have not begun are left
// out.
func (v *validation) versions() map[*progress]string {
	v.mu.Lock()
	defer v.mu.Unlock()
	versions := make(map[*progress]string, len(v.watches))
	for p := range v.watches {
		if p.version != "" {
			versions[p] = p.version
		}
	}
	return versions
}

// probed takes the revision of the data at a time.
func (v *validation) probed(at time.Time, revision string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.contact = time.Now()
	for p := range v.watches {
		switch {
		case p.version != "" && !isNewer(revision, p.version):
			p.advance(at)
		case len(p.probes) < mostProbes:
			p.probes = append(p.probes, probed{at, revision})
		}
		p.rank()
	}
	v.tell()
}

// late returns the watches that have not come to a probe that was sent before. A list
// takes as long as it takes.
func (v *validation) late(before time.Time) []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	var late []string
	for p := range v.watches {
		if p.version != "" && len(p.probes) > 0 && p.probes[0].at.Before(before) {
			late = append(late, p.title)
		}
	}
	slices.Sort(late)
	return late
}

// asked takes that everything is asked for anew.
func (p *progress) asked() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.version, p.probes = "", nil
}

// counts reports whether what is served is as old as the watch. One by which nothing
// is open keeps its Apps closed, however old it is: whoever may leave a Secret out and
// take the rights to see it away must not close the Apps of others in the end.
func (p *progress) counts() bool {
	return !p.asOf.IsZero() && (p.isPart == nil || p.isPart())
}

// interrupted forgets what the watch has yet to come to. While it fails that takes
// as long as it takes.
func (p *progress) interrupted() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.probes = nil
}

// renewed takes that all watches start anew, which may take long.
func (v *validation) renewed() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for p := range v.watches {
		p.probes = nil
	}
}

// restart forgets how far the watches have come, but not as of when.
func (v *validation) restart() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for p := range v.watches {
		p.version, p.probes = "", nil
	}
}

// tell tells the age of the oldest watch that counts.
func (v *validation) tell() {
	f := mirror.Freshness{Contact: v.contact}
	if oldest := v.oldest(); oldest != nil {
		f.AsOf, f.Oldest = oldest.asOf, oldest.title
	}
	v.sink.Fresh(f)
}

// oldest returns the oldest watch that counts; nil for none. Those that have ceased to
// are left out until rank finds that they count again.
func (v *validation) oldest() *progress {
	for len(v.ages) > 0 {
		if v.ages[0].counts() {
			return v.ages[0]
		}
		v.ages.remove(v.ages[0])
	}
	return nil
}
