package authzbridge_test

import (
	"io"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// switchboard is one address with one server or another behind it.
type switchboard struct {
	listener net.Listener
	serving  sync.WaitGroup

	mu     sync.Mutex // guards the fields below
	target string     // empty for nobody
	conns  map[net.Conn]struct{}
}

func newSwitchboard(t *testing.T) *switchboard {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &switchboard{listener: listener, conns: make(map[net.Conn]struct{})}
	s.serving.Go(s.accept)
	t.Cleanup(func() {
		listener.Close()
		s.connect("")
		s.serving.Wait()
	})
	return s
}

func (s *switchboard) address() string { return s.listener.Addr().String() }

// connect ends all connections, and takes those that come to another target.
func (s *switchboard) connect(target string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.target = target
	for conn := range s.conns {
		conn.Close()
	}
}

func (s *switchboard) accept() {
	for {
		client, err := s.listener.Accept()
		if err != nil {
			return // closed
		}
		s.serving.Go(func() { s.serve(client) })
	}
}

func (s *switchboard) serve(client net.Conn) {
	defer client.Close()
	server := s.admit(client)
	if server == nil {
		return
	}
	defer s.forget(client, server)
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(client, server)
		client.Close()
	})
	_, _ = io.Copy(server, client)
	server.Close()
	back.Wait()
}

// admit returns nil if there is nobody behind.
func (s *switchboard) admit(client net.Conn) net.Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.target == "" {
		return nil
	}
	server, err := net.Dial("tcp", s.target)
	if err != nil {
		return nil
	}
	s.conns[client], s.conns[server] = struct{}{}, struct{}{}
	return server
}

func (s *switchboard) forget(conns ...net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, conn := range conns {
		delete(s.conns, conn)
	}
}
