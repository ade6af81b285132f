package stage

import (
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// Upstream is the service that the gateways protect. It answers everything 200.
type Upstream struct {
	seen   atomic.Int64
	socket net.Listener
	server http.Server
}

// NewUpstream serves on a free port until Close.
func NewUpstream() (*Upstream, error) {
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("upstream: %w", err)
	}
	u := &Upstream{socket: socket}
	u.server = http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { u.seen.Add(1) })}
	go func() { _ = u.server.Serve(socket) }()
	return u, nil
}

// URL is its address.
func (u *Upstream) URL() string { return "http://" + u.socket.Addr().String() }

// Seen is how many requests came.
func (u *Upstream) Seen() int { return int(u.seen.Load()) }

// Close ends it.
func (u *Upstream) Close() { _ = u.server.Close() }
