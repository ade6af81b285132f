package compose

import (
	"context"
	"errors"
	"log"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"strings"
	"time"
)

// drainTime is how long requests in flight may take to end after a stop.
const drainTime = 30 * time.Second

// maxHeaderBytes bounds a request's head.
const maxHeaderBytes = 64 << 10

// timeouts bound a server's reading and writing; 0 is no bound, which a gateway
// needs for bodies that stream.
type timeouts struct{ header, read, write, idle time.Duration }

var (
	mainTimeouts  = timeouts{header: 10 * time.Second, idle: 2 * time.Minute}
	adminTimeouts = timeouts{header: 10 * time.Second, read: 15 * time.Second, write: 30 * time.Second, idle: 2 * time.Minute}
)

// listener is one server on its open socket.
type listener struct {
	socket net.Listener
	server *http.Server
}

func listen(addr string, h http.Handler, t timeouts, logger *slog.Logger) (*listener, error) {
	socket, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	return &listener{socket: socket, server: &http.Server{
		Handler: h, MaxHeaderBytes: maxHeaderBytes,
		ReadHeaderTimeout: t.header, ReadTimeout: t.read, WriteTimeout: t.write, IdleTimeout: t.idle,
		ErrorLog: log.New(serverLog{logger}, "", 0),
	}}, nil
}

// serverLog takes what a server has to say: accepts that fail, handlers that
// panic. A panic's line names the client, which no log may.
type serverLog struct{ logger *slog.Logger }

var served = regexp.MustCompile(`serving \S+: `)

// Write implements io.Writer.
func (l serverLog) Write(line []byte) (int, error) {
	l.logger.Error("server", "detail", served.ReplaceAllString(strings.TrimSpace(string(line)), "serving a client: "))
	return len(line), nil
}

// Addr is where the main listener listens.
func (a *App) Addr() string { return a.main.socket.Addr().String() }

// AdminAddr is where the admin listener listens; "" if there is none.
func (a *App) AdminAddr() string {
	if a.admin == nil {
		return ""
	}
	return a.admin.socket.Addr().String()
}

// Run serves until ctx ends, then drains: not ready, no new connections, requests
// in flight answered, at most drainTime. It returns nil after a drain.
func (a *App) Run(ctx context.Context) error {
	defer a.close()
	defer a.watchCache(ctx)()
	failed := make(chan error, 2)
	for _, l := range a.listeners() {
		go func() { failed <- l.server.Serve(l.socket) }()
	}
	a.logger.Info("serving", "listen", a.Addr(), "admin-listen", a.AdminAddr(), "rate-limit", a.provider != nil, "inbound-web", a.mode.String())
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	a.logger.Info("draining")
	a.readiness.Drain()
	for _, l := range a.listeners() {
		if err := drain(l.server); err != nil {
			a.logger.Warn("connections cut after the drain time", "listen", l.socket.Addr().String())
		}
	}
	a.logger.Info("stopped")
	return nil
}

// listeners are the open ones, in the order in which they drain.
func (a *App) listeners() []*listener {
	var open []*listener
	for _, l := range []*listener{a.main, a.admin} {
		if l != nil {
			open = append(open, l)
		}
	}
	return open
}

func drain(s *http.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	err := s.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.Join(err, s.Close())
	}
	return err
}

// close ends everything, in reverse.
func (a *App) close() {
	for _, l := range a.listeners() {
		_ = l.server.Close()
		_ = l.socket.Close()
	}
	if a.source != nil {
		a.source.Close()
	}
	if a.cache != nil {
		_ = a.cache.Close()
	}
	if a.inbound != nil {
		_ = a.inbound.Close()
	}
	if a.provider != nil {
		_ = a.provider.Close()
	}
}
