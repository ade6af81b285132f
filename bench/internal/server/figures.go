package server

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Figures are what the server has counted since its start.
type Figures struct {
	CPU      time.Duration // user and system time of the process
	Commands int64         // commands run, those within scripts included
	Reads    int64         // reads of sockets that brought something: round trips, nearly
}

// Figures reads them.
func (s *Server) Figures(ctx context.Context) (Figures, error) {
	info, err := s.client.InfoMap(ctx, "cpu", "stats").Result()
	if err != nil {
		return Figures{}, fmt.Errorf("read the figures of redis-server: %w", err)
	}
	var f Figures
	for _, name := range []string{"used_cpu_user", "used_cpu_sys"} {
		seconds, err := strconv.ParseFloat(info["CPU"][name], 64)
		if err != nil {
			return Figures{}, fmt.Errorf("read %s: %w", name, err)
		}
		f.CPU += time.Duration(seconds * float64(time.Second))
	}
	if f.Commands, err = strconv.ParseInt(info["Stats"]["total_commands_processed"], 10, 64); err != nil {
		return Figures{}, fmt.Errorf("read total_commands_processed: %w", err)
	}
	if f.Reads, err = strconv.ParseInt(info["Stats"]["total_reads_processed"], 10, 64); err != nil {
		return Figures{}, fmt.Errorf("read total_reads_processed: %w", err)
	}
	return f, nil
}

// Memory is used_memory, in bytes.
func (s *Server) Memory(ctx context.Context) (int64, error) {
	return s.number(ctx, "memory", "used_memory")
}

// Clients is how many connections it has, the one that asks included.
func (s *Server) Clients(ctx context.Context) (int64, error) {
	return s.number(ctx, "clients", "connected_clients")
}

// Version is the server's version.
func (s *Server) Version(ctx context.Context) (string, error) {
	info, err := s.client.Info(ctx, "server").Result()
	return field(info, "redis_version"), err
}

// Flush removes every key; scripts stay.
func (s *Server) Flush(ctx context.Context) error {
	if err := s.client.FlushAll(ctx).Err(); err != nil {
		return fmt.Errorf("empty redis-server: %w", err)
	}
	return nil
}

// AnyKey is a key that the server holds.
func (s *Server) AnyKey(ctx context.Context) (string, error) { return s.client.RandomKey(ctx).Result() }

func (s *Server) number(ctx context.Context, section, name string) (int64, error) {
	info, err := s.client.Info(ctx, section).Result()
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(field(info, name), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", name, err)
	}
	return n, nil
}

func field(info, name string) string {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
