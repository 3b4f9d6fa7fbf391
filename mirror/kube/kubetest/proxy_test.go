package kubetest

import (
	"bytes"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	proxyDeadline = 10 * time.Second       // for what must happen
	proxyQuiet    = 100 * time.Millisecond // for what must not
)

func TestProxyPassesBothWaysUntilBothStreamsEnd(t *testing.T) {
	proxy := startProxy(t, echoServer(t))
	conn := dialProxy(t, proxy)
	sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<16) // more than the sockets buffer
	go func() {
		_, _ = conn.Write(sent)
		_ = conn.CloseWrite()
	}()

	received, err := io.ReadAll(conn)

	require.NoError(t, err)
	assert.True(t, bytes.Equal(sent, received), "sent %d bytes, received %d", len(sent), len(received))
	assert.Equal(t, 1, proxy.Accepted())
	assert.Eventually(t, func() bool { return proxy.Open() == 0 }, proxyDeadline, time.Millisecond)
}

func TestProxyCutResetsOpenConnectionsAndNewOnes(t *testing.T) {
	proxy := startProxy(t, echoServer(t))
	open := dialProxy(t, proxy)
	assertEchoes(t, open)

	proxy.Cut()

	assertBroken(t, open)
	assertResets(t, proxy)
	assert.Eventually(t, func() bool { return proxy.Accepted() == 2 }, proxyDeadline, time.Millisecond)

	proxy.Pass()

	assertEchoes(t, dialProxy(t, proxy))
}

func TestProxyFreezeHoldsBytesUntilPass(t *testing.T) {
	proxy := startProxy(t, echoServer(t))
	open := dialProxy(t, proxy)
	assertEchoes(t, open)

	proxy.Freeze()

	fresh := dialProxy(t, proxy)
	for _, conn := range []net.Conn{open, fresh} {
		_, err := conn.Write([]byte("held"))
		require.NoError(t, err)
		assertQuiet(t, conn)
	}
	assert.Eventually(t, func() bool { return proxy.Open() == 2 }, proxyDeadline, time.Millisecond)

	proxy.Pass()

	assertReads(t, open, "held")
	assertReads(t, fresh, "held")
}

func TestProxyFreezeHoldsTheEndOfAStream(t *testing.T) {
	target, conns := acceptingServer(t)
	proxy := startProxy(t, target)
	client := dialProxy(t, proxy)
	server := <-conns

	proxy.Freeze()

	require.NoError(t, server.Close())
	assertQuiet(t, client)

	proxy.Pass()

	require.NoError(t, client.SetReadDeadline(time.Now().Add(proxyDeadline)))
	_, err := client.Read(make([]byte, 1))
	assert.ErrorIs(t, err, io.EOF)
}

func TestProxyCutEndsAFreeze(t *testing.T) {
	proxy := startProxy(t, echoServer(t))
	open := dialProxy(t, proxy)
	assertEchoes(t, open)
	proxy.Freeze()

	proxy.Cut()

	assertBroken(t, open)
	assert.Eventually(t, func() bool { return proxy.Open() == 0 }, proxyDeadline, time.Millisecond)
}

func TestProxyResetsClientsWhileTheTargetIsDown(t *testing.T) {
	ports, err := freePorts(1)
	require.NoError(t, err)
	proxy := startProxy(t, loopback(ports[0]))

	assertResets(t, proxy)
}

func TestProxyCloseEndsFrozenConnections(t *testing.T) {
	proxy := startProxy(t, echoServer(t))
	open := dialProxy(t, proxy)
	assertEchoes(t, open)
	proxy.Freeze()
	frozen := dialProxy(t, proxy)

	require.NoError(t, proxy.Close())

	assertBroken(t, open)
	assertBroken(t, frozen)
	assert.Zero(t, proxy.Open())
	assert.NoError(t, proxy.Close(), "a second time")
	_, err := net.Dial("tcp", proxy.Address())
	assert.Error(t, err)
}

func startProxy(t *testing.T, target string) *Proxy {
	t.Helper()
	proxy, err := NewProxy(target)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, proxy.Close()) })
	return proxy
}

func dialProxy(t *testing.T, proxy *Proxy) *net.TCPConn {
	t.Helper()
	conn, err := net.Dial("tcp", proxy.Address())
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	tcp, ok := conn.(*net.TCPConn)
	require.True(t, ok, "%T", conn)
	return tcp
}

// acceptingServer hands out the connections that it accepts.
func acceptingServer(t *testing.T) (address string, conns <-chan net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	accepted := make(chan net.Conn, 16)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			accepted <- conn
		}
	}()
	return listener.Addr().String(), accepted
}

func echoServer(t *testing.T) string {
	t.Helper()
	address, conns := acceptingServer(t)
	go func() {
		for {
			select {
			case conn := <-conns:
				go echo(conn)
			case <-t.Context().Done():
				return
			}
		}
	}()
	return address
}

func echo(conn net.Conn) {
	defer conn.Close()
	_, _ = io.Copy(conn, conn)
}

func assertEchoes(t *testing.T, conn net.Conn) {
	t.Helper()
	_, err := conn.Write([]byte("ping"))
	require.NoError(t, err)
	assertReads(t, conn, "ping")
}

func assertReads(t *testing.T, conn net.Conn, want string) {
	t.Helper()
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(proxyDeadline)))
	got := make([]byte, len(want))
	_, err := io.ReadFull(conn, got)
	require.NoError(t, err)
	assert.Equal(t, want, string(got))
}

func assertQuiet(t *testing.T, conn net.Conn) {
	t.Helper()
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(proxyQuiet)))
	n, err := conn.Read(make([]byte, 1))
	assert.ErrorIs(t, err, os.ErrDeadlineExceeded)
	assert.Zero(t, n)
}

// assertResets allows the reset to come before the client sees the connection open.
func assertResets(t *testing.T, proxy *Proxy) {
	t.Helper()
	conn, err := net.Dial("tcp", proxy.Address())
	if err == nil {
		defer conn.Close()
		assertBroken(t, conn)
		return
	}
	assert.ErrorIs(t, err, syscall.ECONNRESET)
}

func assertBroken(t *testing.T, conn net.Conn) {
	t.Helper()
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(proxyDeadline)))
	_, err := conn.Read(make([]byte, 1))
	require.Error(t, err)
	assert.NotErrorIs(t, err, os.ErrDeadlineExceeded)
	assert.NotErrorIs(t, err, io.EOF, "an orderly end")
}
