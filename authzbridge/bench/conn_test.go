package bench

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// conn is one keep-alive connection. It knows as much of HTTP as it takes to read
// what Caddy answers, so that the load costs little beside what is measured.
type conn struct {
	net.Conn

	in *bufio.Reader
}

func dial(address string) (*conn, error) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, in: bufio.NewReader(c)}, nil
}

// ask sends a request and returns the status of the answer.
func (c *conn) ask(request []byte) (status int, err error) {
	if _, err := c.Write(request); err != nil {
		return 0, err
	}
	return readAnswer(c.in)
}

var contentLength = []byte("Content-Length:")

func readAnswer(in *bufio.Reader) (status int, err error) {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	if len(line) < 12 {
		return 0, fmt.Errorf("status line %q", line)
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, err
	}
	length := -1
	for {
		if line, err = in.ReadSlice('\n'); err != nil {
			return 0, err
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			break
		}
		if value, ok := bytes.CutPrefix(line, contentLength); ok {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return 0, err
			}
		}
	}
	if length < 0 {
		return 0, errors.New("an answer without Content-Length cannot be read here")
	}
	_, err = in.Discard(length)
	return status, err
}

// newRequest writes a GET with more header lines.
func newRequest(host string, headers ...string) []byte {
	lines := append([]string{"GET / HTTP/1.1", "Host: " + host, "User-Agent: bench", "Accept: */*"}, headers...)
	return []byte(strings.Join(lines, "\r\n") + "\r\n\r\n")
}

// awaitStatus asks again and again, over new connections where need be, until the
// status comes, and returns the connection.
func awaitStatus(t *testing.T, address string, request []byte, want int, pause time.Duration) *conn {
	t.Helper()
	over := time.Now().Add(patience)
	var c *conn
	for {
		status, err := 0, error(nil)
		if c == nil {
			c, err = dial(address)
		}
		if err == nil {
			status, err = c.ask(request)
		}
		if err == nil && status == want {
			return c
		}
		if err != nil && c != nil {
			c.Close()
			c = nil
		}
		require.True(t, time.Now().Before(over), "never answered %d, but %d %v", want, status, err)
		<-time.After(pause)
	}
}

func TestAnswersAreReadOneAfterAnother(t *testing.T) {
	in := bufio.NewReader(strings.NewReader("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok" +
		"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n" +
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"))
	for _, want := range []int{200, 503} {
		status, err := readAnswer(in)
		require.NoError(t, err)
		assert.Equal(t, want, status)
	}
	_, err := readAnswer(in)
	assert.ErrorContains(t, err, "without Content-Length")
}
