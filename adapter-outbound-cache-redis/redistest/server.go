package redistest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// ServerVariable is the environment variable that names the server to run; unset, redis-server and then valkey-server
// are looked up on the PATH.
const ServerVariable = "EDGELIMIT_REDIS_SERVER"

const (
	startLimit    = 30 * time.Second
	stopLimit     = 10 * time.Second
	pollEvery     = 2 * time.Millisecond
	startAttempts = 5
)

var errPortTaken = errors.New("another process took the port")

// Server is one redis-server process and the address, data directory and directives that it keeps over a Restart.
// Its methods may be called from several goroutines, but those that take a tb end the test on failure and so belong
// in the test's own goroutine. There is no use for the zero value.
type Server struct {
	binary     string
	dir        string
	directives []string
	addr       string // settled once Start or Absent returns

	mu      sync.Mutex
	running *process // nil while down
}

// Start runs a redis-server of its own on a free loopback port, with its data in tb.TempDir(), and stops it at
// cleanup. It returns once the server answers PING. Without directives the server saves nothing to disk and allows
// DEBUG.
//
// Directives are further command-line arguments, such as "--maxmemory", "3mb"; they win over those defaults, but the
// port and the directory stay the package's own. What the server printed is logged if the test fails.
func Start(tb testing.TB, directives ...string) *Server {
	tb.Helper()
	s := Absent(tb, directives...)
	s.mu.Lock()
	defer s.mu.Unlock()
	for attempt := 1; ; attempt++ {
		err := s.run()
		if err == nil {
			return s
		}
		if !errors.Is(err, errPortTaken) || attempt == startAttempts {
			tb.Fatalf("start redis-server: %v", err)
		}
		if s.addr, err = FreeAddr(); err != nil {
			tb.Fatalf("start redis-server: %v", err)
		}
	}
}

// Absent returns a Server that does not run yet: dials to its address are refused until Restart starts it, with the
// given directives as for Start. The port is free when Absent returns but nothing holds it; a Restart that finds it
// taken fails the test.
func Absent(tb testing.TB, directives ...string) *Server {
	tb.Helper()
	binary, err := serverBinary()
	if err != nil {
		tb.Fatal(err)
	}
	addr, err := FreeAddr()
	if err != nil {
		tb.Fatal(err)
	}
	s := &Server{binary: binary, dir: tb.TempDir(), directives: slices.Clone(directives), addr: addr}
	tb.Cleanup(func() {
		s.Kill(tb)
		if tb.Failed() {
			tb.Logf("redis-server %s printed:\n%s", s.Addr(), s.output())
		}
	})
	return s
}

// Addr is the server's host:port. It stays the same over Kill and Restart.
func (s *Server) Addr() string { return s.addr }

// Kill ends the server by SIGKILL and waits until it is gone; nothing is saved. A server that is down stays down.
func (s *Server) Kill(tb testing.TB) {
	tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.stop(); err != nil {
		tb.Fatalf("kill redis-server %s: %v", s.addr, err)
	}
}

// Restart starts the server again on the same port, in the same directory, and waits until it answers PING, which it
// does not do while it loads a data set. A server that still runs is killed first.
func (s *Server) Restart(tb testing.TB) {
	tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := errors.Join(s.stop(), s.run()); err != nil {
		tb.Fatalf("restart redis-server %s: %v", s.addr, err)
	}
}

// Pause stops the process by SIGSTOP and returns once it stands still: the kernel goes on accepting connections and
// bytes for it, and nothing is answered before Resume. Commands sent meanwhile run after Resume.
func (s *Server) Pause(tb testing.TB) {
	tb.Helper()
	s.signal(tb, "pause", (*process).pause)
}

// Resume lets a paused server go on, by SIGCONT.
func (s *Server) Resume(tb testing.TB) {
	tb.Helper()
	s.signal(tb, "resume", (*process).resume)
}

func (s *Server) signal(tb testing.TB, verb string, send func(*process) error) {
	tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == nil {
		tb.Fatalf("%s redis-server %s: it is not running", verb, s.addr)
	}
	if err := send(s.running); err != nil {
		tb.Fatalf("%s redis-server %s: %v", verb, s.addr, err)
	}
}

func (s *Server) run() error {
	log, err := os.OpenFile(s.logPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("keep the output of redis-server: %w", err)
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(s.binary, s.arguments()...)
	cmd.Stdout, cmd.Stderr = log, log
	p, err := launch(cmd)
	if err != nil {
		return fmt.Errorf("launch %s: %w", s.binary, err)
	}
	err = s.awaitReady(p)
	if err == nil {
		s.running = p
		return nil
	}
	if p.alive.Err() != nil && taken(s.addr) {
		err = fmt.Errorf("%w: %s", errPortTaken, s.addr)
	}
	return errors.Join(err, p.kill())
}

// awaitReady asks whether the answer on the port is that of p, because a stranger may have taken the port first.
func (s *Server) awaitReady(p *process) error {
	ctx, cancel := context.WithTimeout(p.alive, startLimit)
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		pong, last := ask(ctx, s.addr, s.password(), "PING")
		if last == nil && pong == "PONG" {
			info, err := ask(ctx, s.addr, s.password(), "INFO", "server")
			if err == nil && infoField(info, "process_id") == p.id() {
				return nil
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			if p.alive.Err() != nil {
				return errors.New("redis-server ended before it answered PING")
			}
			return fmt.Errorf("redis-server did not answer PING within %v: last reply %v, last error %v",
				startLimit, pong, last)
		}
	}
}

func (s *Server) stop() error {
	if s.running == nil {
		return nil
	}
	p := s.running
	s.running = nil
	return p.kill()
}

func (s *Server) arguments() []string {
	host, port, _ := net.SplitHostPort(s.addr)
	args := []string{
		"--save", "", "--appendonly", "no", "--bind", host, "--loglevel", "warning", "--enable-debug-command", "yes",
	}
	args = append(args, s.directives...)
	return append(args, "--port", port, "--dir", s.dir)
}

func (s *Server) password() string {
	if i := slices.Index(s.directives, "--requirepass"); i >= 0 && i+1 < len(s.directives) {
		return s.directives[i+1]
	}
	return ""
}

func (s *Server) logPath() string { return filepath.Join(s.dir, "redis-server.log") }

func (s *Server) output() string {
	text, err := os.ReadFile(s.logPath())
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text))
}

func serverBinary() (string, error) {
	names := []string{"redis-server", "valkey-server"}
	if named := os.Getenv(ServerVariable); named != "" {
		names = []string{named}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s is no program here: install one, or name one by %s", strings.Join(names, " or "), ServerVariable)
}
