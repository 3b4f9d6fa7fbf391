package mirror_test

import (
	"context"
	"sync"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

// scripted is a Source that the test plays. It remembers what it was asked for,
// and answers at once for the Secrets that the test has put into its cluster.
type scripted struct {
	running chan struct{} // closed when Run has begun
	hang    chan struct{} // if set, Run goes on until it is closed

	mu      sync.Mutex // guards the fields below
	sink    mirror.Sink
	asked   []map[snapshot.Key]snapshot.Reference
	cluster map[snapshot.Key]snapshot.SecretState
}

func newScripted() *scripted {
	return &scripted{
		running: make(chan struct{}),
		cluster: make(map[snapshot.Key]snapshot.SecretState),
	}
}

func (s *scripted) Run(ctx context.Context, sink mirror.Sink) {
	s.mu.Lock()
	s.sink = sink
	s.mu.Unlock()
	close(s.running)
	<-ctx.Done()
	if s.hang != nil {
		<-s.hang
	}
}

func (s *scripted) Reference(refs map[snapshot.Key]snapshot.Reference) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.lastAsked()
	s.asked = append(s.asked, refs)
	answers := make(map[snapshot.Key]snapshot.SecretState)
	for key := range refs {
		state, there := s.cluster[key]
		if _, known := before[key]; there && !known {
			answers[key] = state
		}
	}
	if len(answers) > 0 {
		s.sink.Secrets(answers)
	}
}

func (s *scripted) lastAsked() map[snapshot.Key]snapshot.Reference {
	if len(s.asked) == 0 {
		return nil
	}
	return s.asked[len(s.asked)-1]
}

func (s *scripted) String() string { return "scripted" }

// put makes a Secret part of the cluster, and tells it if it is referenced.
func (s *scripted) put(key snapshot.Key, state snapshot.SecretState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cluster[key] = state
	if _, ok := s.lastAsked()[key]; ok {
		s.sink.Secrets(map[snapshot.Key]snapshot.SecretState{key: state})
	}
}
