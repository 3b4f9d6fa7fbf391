package kubetest

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// The range lies below the ephemeral ports of Linux and macOS: no outgoing
// connection takes a server's port while that server is down.
const (
	firstPort = 20000
	lastPort  = 32000
)

// freePorts returns different loopback ports that nobody listens on now.
// Another process may take one before it is used; the caller retries then.
func freePorts(count int) ([]int, error) {
	var ports []int
	var listeners []net.Listener
	defer func() {
		for _, listener := range listeners {
			listener.Close()
		}
	}()
	for tries := 0; len(ports) < count; tries++ {
		if tries == 100*count {
			return nil, fmt.Errorf("no free port on 127.0.0.1 between %d and %d", firstPort, lastPort)
		}
		port := firstPort + rand.IntN(lastPort-firstPort)
		listener, err := net.Listen("tcp", loopback(port))
		if err != nil {
			continue
		}
		listeners = append(listeners, listener)
		ports = append(ports, port)
	}
	return ports, nil
}

func loopback(port int) string {
	return fmt.Sprintf("127.0.0.1:%d", port)
}
