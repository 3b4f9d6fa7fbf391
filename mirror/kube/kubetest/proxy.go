package kubetest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
)

type proxyMode int

const (
	proxyPasses proxyMode = iota
	proxyCuts
	proxyFreezes
)

// Proxy passes TCP connections on to a target, until it is told to cut or to
// freeze them. It knows nothing of what they carry. Its methods may be called
// by several goroutines.
type Proxy struct {
	target   string
	listener net.Listener
	ctx      context.Context // ends with Close
	cancel   context.CancelFunc
	work     sync.WaitGroup

	mu       sync.Mutex // guards the rest
	mode     proxyMode
	thawed   chan struct{} // closed unless the mode is freeze
	pairs    map[*proxyPair]struct{}
	accepted int
}

// NewProxy starts a Proxy on a free loopback port that passes connections on to
// the target (host:port). The caller closes it.
func NewProxy(target string) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("proxy to %s: %w", target, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &Proxy{
		target:   target,
		listener: listener,
		ctx:      ctx,
		cancel:   cancel,
		thawed:   make(chan struct{}),
		pairs:    map[*proxyPair]struct{}{},
	}
	close(p.thawed)
	p.work.Go(p.accept)
	return p, nil
}

// Address is the host:port that the Proxy listens on.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// Accepted counts the connections that clients have opened so far, those that
// were cut at once included.
func (p *Proxy) Accepted() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.accepted
}

// Open counts the connections that are open now, frozen ones included.
func (p *Proxy) Open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.pairs)
}

// Pass lets everything through. Frozen connections go on where they were.
func (p *Proxy) Pass() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.setMode(proxyPasses)
}

// Cut resets all connections, and each new one as soon as it is open.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.setMode(proxyCuts)
	for pair := range p.pairs {
		pair.reset()
	}
}

// Freeze keeps connections open while no byte and no end of a stream passes
// either way. New connections are accepted and hang.
func (p *Proxy) Freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.setMode(proxyFreezes)
}

// Close resets all connections, stops listening and returns when nothing of the
// Proxy runs any more. It may be called more than once.
func (p *Proxy) Close() error {
	err := p.listener.Close()
	p.Cut()
	p.cancel()
	p.work.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func (p *Proxy) setMode(mode proxyMode) {
	if mode == proxyFreezes && p.mode != proxyFreezes {
		p.thawed = make(chan struct{})
	}
	if mode != proxyFreezes && p.mode == proxyFreezes {
		close(p.thawed)
	}
	p.mode = mode
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		if pair := p.admit(client); pair != nil {
			p.work.Go(func() { p.serve(pair) })
		}
	}
}

// admit returns nil for a connection that it has reset.
func (p *Proxy) admit(client net.Conn) *proxyPair {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.accepted++
	pair := &proxyPair{client: client}
	if p.mode == proxyCuts {
		pair.reset()
		return nil
	}
	p.pairs[pair] = struct{}{}
	return pair
}

// awaitThaw returns false when the pair was cut or the Proxy closed meanwhile.
func (p *Proxy) awaitThaw(pair *proxyPair) bool {
	for {
		p.mu.Lock()
		mode, thawed := p.mode, p.thawed
		p.mu.Unlock()
		if mode != proxyFreezes {
			return !pair.isDone()
		}
		select {
		case <-thawed:
		case <-p.ctx.Done():
			return false
		}
	}
}

func (p *Proxy) serve(pair *proxyPair) {
	defer p.forget(pair)
	if !p.awaitThaw(pair) {
		return // reset by Cut
	}
	var dialer net.Dialer
	server, err := dialer.DialContext(p.ctx, "tcp", p.target)
	if err != nil {
		pair.reset()
		return
	}
	if !pair.connect(server) {
		return
	}
	var pumps sync.WaitGroup
	pumps.Go(func() { p.pump(pair, server, pair.client) })
	pumps.Go(func() { p.pump(pair, pair.client, server) })
	pumps.Wait()
}

func (p *Proxy) forget(pair *proxyPair) {
	pair.close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.pairs, pair)
}

// pump copies until its source ends, and passes that end on. An error on either
// side ends both.
func (p *Proxy) pump(pair *proxyPair, to, from net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, readErr := from.Read(buffer)
		if !p.awaitThaw(pair) {
			return
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			pair.reset()
			return
		}
		if readErr != nil {
			pair.endOfStream(to, readErr)
			return
		}
	}
}
