package authzbridge_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
)

// overWire sends a request as it is written, each line of its head given, and
// returns the answer.
func (d *door) overWire(head ...string) answer {
	d.tb.Helper()
	return d.overWireWith("", head...)
}

// overWireWith is overWire with what comes after the head.
func (d *door) overWireWith(rest string, head ...string) answer {
	d.tb.Helper()
	conn, err := net.DialTimeout("tcp", d.site, patience)
	require.NoError(d.tb, err)
	defer conn.Close()
	require.NoError(d.tb, conn.SetDeadline(time.Now().Add(patience)))
	_, err = io.WriteString(conn, strings.Join(head, "\r\n")+"\r\nConnection: close\r\n\r\n"+rest)
	require.NoError(d.tb, err)
	method, _, _ := strings.Cut(head[0], " ")
	response, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	require.NoError(d.tb, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(d.tb, err)
	return answer{status: response.StatusCode, body: string(body), header: response.Header}
}
