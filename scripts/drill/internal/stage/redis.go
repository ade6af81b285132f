package stage

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"time"
)

// Redis is a redis-server that keeps nothing on disk, and its address over deaths.
type Redis struct {
	program, folder, port string
	running               *process
}

// NewRedis starts a server with its files in folder and waits until it answers. A
// port that another program was quicker to take is given up for another one.
func NewRedis(ctx context.Context, program, folder string) (*Redis, error) {
	var failed error
	for range 5 {
		port, err := quietPort()
		if err != nil {
			return nil, err
		}
		r := &Redis{program: program, folder: folder, port: port}
		if failed = r.Start(ctx); failed == nil {
			return r, nil
		}
		r.Kill()
		if ctx.Err() != nil {
			break
		}
	}
	return nil, failed
}

// Addr is its host:port.
func (r *Redis) Addr() string { return net.JoinHostPort("127.0.0.1", r.port) }

// Start runs it, empty, and waits until it answers.
func (r *Redis) Start(ctx context.Context) error {
	p, err := launch(nil, r.program, "--bind", "127.0.0.1", "--port", r.port, "--dir", r.folder,
		"--save", "", "--appendonly", "no", "--loglevel", "warning")
	if err != nil {
		return err
	}
	r.running = p
	err = p.await(ctx, "an answer of redis-server", func() bool {
		info, err := r.info() // of this process, not of a stranger on its port
		return err == nil && field(info, "process_id") == strconv.Itoa(p.cmd.Process.Pid)
	})
	if err != nil {
		return fmt.Errorf("redis-server %s: %w", r.Addr(), err)
	}
	return nil
}

// Kill ends it by SIGKILL and waits until it is reaped. A dead one stays dead.
func (r *Redis) Kill() {
	if r.running != nil {
		r.running.kill()
		r.running = nil
	}
}

// Version is the server's version.
func (r *Redis) Version() (string, error) {
	info, err := r.info()
	return field(info, "redis_version"), err
}

// info is the server's answer to INFO.
func (r *Redis) info() (string, error) {
	conn, err := net.DialTimeout("tcp", r.Addr(), time.Second)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return "", err
	}
	if _, err := io.WriteString(conn, "INFO server\r\n"); err != nil {
		return "", err
	}
	lines := bufio.NewReader(conn)
	head, err := lines.ReadString('\n')
	if err != nil {
		return "", err
	}
	size, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(head, "$")))
	if err != nil || size < 0 || size > 1<<20 {
		return "", fmt.Errorf("redis-server answered %q", head)
	}
	info := make([]byte, size)
	_, err = io.ReadFull(lines, info)
	return string(info), err
}

func field(info, name string) string {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// quietPort is a free port below those that systems give to outgoing connections,
// which could take it while its server is dead.
func quietPort() (string, error) {
	var refused error
	for range 50 {
		port := strconv.Itoa(12000 + rand.IntN(20000))
		listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", port))
		if err == nil {
			return port, listener.Close()
		}
		refused = err
	}
	return "", fmt.Errorf("find a free port: %w", refused)
}
