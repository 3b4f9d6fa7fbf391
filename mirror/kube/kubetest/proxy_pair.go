package kubetest

import (
	"errors"
	"io"
	"net"
	"sync"
)

// proxyPair is a client's connection and the one that carries it to the target.
type proxyPair struct {
	client net.Conn

	mu     sync.Mutex // guards the rest
	server net.Conn   // nil until connected
	done   bool       // both sides are closed
}

// connect takes the server's side over. It returns false, and closes that side,
// when the pair was reset meanwhile.
func (p *proxyPair) connect(server net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done {
		server.Close()
		return false
	}
	p.server = server
	return true
}

func (p *proxyPair) isDone() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.done
}

// reset breaks both sides: each peer sees a reset, and what was on its way is lost.
func (p *proxyPair) reset() { p.end(abort) }

// close closes both sides in order.
func (p *proxyPair) close() { p.end(func(conn net.Conn) { conn.Close() }) }

func (p *proxyPair) end(side func(net.Conn)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done {
		return
	}
	p.done = true
	side(p.client)
	if p.server != nil {
		side(p.server)
	}
}

func abort(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // the kernel sends RST instead of FIN; harmless if it cannot
	}
	conn.Close()
}

// endOfStream passes the end of one direction on to its reader.
func (p *proxyPair) endOfStream(to net.Conn, cause error) {
	if !errors.Is(cause, io.EOF) {
		p.reset()
		return
	}
	if tcp, ok := to.(*net.TCPConn); ok {
		_ = tcp.CloseWrite() // fails when the peer is gone: the other pump sees that
	}
}
