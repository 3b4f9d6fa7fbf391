package files

import (
	"slices"
	"time"
)

const (
	// settleTime is how long a file must have been left alone before it counts.
	settleTime = 100 * time.Millisecond

	// heldPatience is how long a file may be held open for writing before that
	// is reported.
	heldPatience = 5 * time.Second
)

// fingerprint tells whether something on disk is what it was: two looks with equal
// fingerprints saw the same.
type fingerprint struct {
	exists bool
	place  string // that the files are in; empty if their paths tell
	files  []stamp
}

func (p fingerprint) equal(other fingerprint) bool {
	return p.exists == other.exists && p.place == other.place && slices.Equal(p.files, other.files)
}

// age returns how long the newest of the files has been left alone, by the wall
// clock.
func (p fingerprint) age(now time.Time) time.Duration {
	var newest int64
	for _, f := range p.files {
		newest = max(newest, f.modified, f.changed)
	}
	return now.Sub(time.Unix(0, newest))
}

// settler tells what has been left alone from what is being written.
type settler struct {
	last  fingerprint
	since time.Time // when last was first seen; zero before the first look
}

// settled reports whether p was seen before, and long enough ago. At the first
// look the time stamps have to do: a start should not wait for files that are
// years old.
func (s *settler) settled(p fingerprint, now time.Time) bool {
	if s.since.IsZero() {
		s.last, s.since = p, now
		return p.age(now) >= settleTime
	}
	if !s.last.equal(p) {
		s.last, s.since = p, now
		return false
	}
	return now.Sub(s.since) >= settleTime
}
