package redistest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports are drawn from below the ranges that Linux, macOS and Windows give to outgoing connections, so that a port
// stays free while its server is down or its link refuses. A cluster node takes the port 10,000 above its own too,
// which is then below those ranges and is nobody's own.
const (
	lowestPort   = 12000
	portCount    = 10000
	portAttempts = 50
)

func listenLoopback() (net.Listener, error) {
	var refused error
	for range portAttempts {
		port := strconv.Itoa(lowestPort + rand.IntN(portCount))
		listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", port))
		if err == nil {
			return listener, nil
		}
		refused = err
	}
	return nil, fmt.Errorf("find a free loopback port in %d attempts: %w", portAttempts, refused)
}

// FreeAddr is a loopback host:port that nobody listens on; nothing holds it.
func FreeAddr() (string, error) {
	listener, err := listenLoopback()
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

func taken(addr string) bool {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return true
	}
	_ = listener.Close()
	return false
}
