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
	ages    ages // of those that have brought everything once
	contact time.Time
}

// progress is how far one watch has come.
type progress struct {
	*validation
	title  string
	isPart func() bool // of what is served; nil: always

	version string    // up to which the watch has brought everything; empty for none
	asOf    time.Time // zero until it has brought everything once
	place   int       // in the heap of ages
	probes  []probed  // that it has not come to, oldest first
	removed bool
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
	if p.removed {
		return
	}
	p.removed = true
	delete(p.watches, p)
	p.ages.remove(p)
	p.tell()
}

// synced takes that a watch has brought everything that was there when it was asked
// for, or later.
func (p *progress) synced(asked time.Time, version string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.removed {
		return
	}
	p.version, p.probes = version, nil
	p.advance(asked)
	p.contact = time.Now()
	p.tell()
}

// reached takes that a watch has brought everything up to a version.
func (p *progress) reached(version string) {
	if version == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.removed {
		return
	}
	p.version, p.contact = version, time.Now()
	for len(p.probes) > 0 && !isNewer(p.probes[0].revision, version) {
		p.advance(p.probes[0].at)
		p.probes = p.probes[1:]
	}
	p.tell()
}

func (p *progress) advance(asOf time.Time) {
	if asOf.After(p.asOf) {
		p.asOf = asOf
		p.ages.aged(p)
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
		case p.version == "":
		case !isNewer(revision, p.version):
			p.advance(at)
		case len(p.probes) < mostProbes:
			p.probes = append(p.probes, probed{at, revision})
		}
	}
	v.tell()
}

// late returns the watches that have not come to a probe that was sent before.
func (v *validation) late(before time.Time) []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	var late []string
	for p := range v.watches {
		if len(p.probes) > 0 && p.probes[0].at.Before(before) {
			late = append(late, p.title)
		}
	}
	slices.Sort(late)
	return late
}

// asked takes that everything is asked for anew, which takes as long as it takes.
func (p *progress) asked() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.version, p.probes = "", nil
}

// counts reports whether what is served is as old as the watch. One that has never
// brought anything keeps its Apps closed, and one that nothing refers to any more,
// as when its namespace was deleted, is no part.
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

// oldest returns the oldest watch that counts; nil for none. Watches that may count
// or not are few.
func (v *validation) oldest() *progress {
	if len(v.ages) > 0 && v.ages[0].counts() {
		return v.ages[0]
	}
	var oldest *progress
	for _, p := range v.ages {
		if p.counts() && (oldest == nil || p.asOf.Before(oldest.asOf)) {
			oldest = p
		}
	}
	return oldest
}
