package server

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/edgelimit/edgelimit/bench/internal/child"
)

// ProgramVariable is the environment variable that names the redis-server to run;
// unset, it is looked up on the PATH.
const ProgramVariable = "EDGELIMIT_REDIS_SERVER"

const startAttempts = 5

// patience is for the longest answer: that to the removal of millions of keys, on a
// machine that is busy.
const patience = 2 * time.Minute

// Server is a running redis-server.
type Server struct {
	addr    string
	process *child.Child
	client  *redis.Client
}

// Start runs a server, its files in folder, and returns once it answers. A port
// that another program was quicker to take is given up for another one. Close it
// when done.
func Start(ctx context.Context, folder string) (*Server, error) {
	program, err := find()
	if err != nil {
		return nil, err
	}
	var failed error
	for range startAttempts {
		s, err := launch(ctx, program, folder)
		if err == nil {
			return s, nil
		}
		failed = err
		if ctx.Err() != nil {
			break
		}
	}
	return nil, fmt.Errorf("start redis-server: %w", failed)
}

func find() (string, error) {
	name := os.Getenv(ProgramVariable)
	if name == "" {
		name = "redis-server"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("install redis-server, or name one by %s: %w", ProgramVariable, err)
	}
	return path, nil
}

func launch(ctx context.Context, program, folder string) (*Server, error) {
	port := strconv.Itoa(12000 + rand.IntN(20000))
	process, err := child.Start(filepath.Join(folder, "redis-server.log"), nil, program,
		"--bind", "127.0.0.1", "--port", port, "--dir", folder, "--save", "", "--appendonly", "no", "--loglevel", "warning")
	if err != nil {
		return nil, err
	}
	addr := net.JoinHostPort("127.0.0.1", port)
	s := &Server{addr: addr, process: process, client: redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, ReadTimeout: patience})}
	err = process.Await(ctx, func() bool {
		info, err := s.client.Info(ctx, "server").Result() // of this process, not of a stranger on its port
		return err == nil && field(info, "process_id") == strconv.Itoa(process.ID())
	})
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Addr is its host:port.
func (s *Server) Addr() string { return s.addr }

// Close ends the server.
func (s *Server) Close() error {
	err := s.client.Close()
	s.process.Kill()
	return err
}
