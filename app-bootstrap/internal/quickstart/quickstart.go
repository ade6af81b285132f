// Package quickstart is the embedded default: a Redis in this process, a demo
// upstream, and the gateway in front of it, composed as in production. State is
// gone when it ends.
package quickstart

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/edgelimit/edgelimit/app-bootstrap/internal/compose"
	"github.com/edgelimit/edgelimit/app-bootstrap/internal/config"
)

// sample is the configuration, but for addresses and the secret.
//
//go:embed sample.yaml
var sample []byte

// The ports that are taken if they are free.
const (
	gatewayPort = 8080
	adminPort   = 9090
	portsTried  = 100
)

const clockEvery = 10 * time.Millisecond

// Run serves until ctx ends, and prints what to try.
func Run(ctx context.Context, out io.Writer, logger *slog.Logger) error {
	embedded, err := startRedis(ctx)
	if err != nil {
		return err
	}
	defer embedded.Close()
	upstream, err := startUpstream()
	if err != nil {
		return err
	}
	defer upstream.Close()

	app, err := startGateway(ctx, embedded.Addr(), "http://"+upstream.Addr, logger)
	if err != nil {
		return err
	}
	printSession(out, app.Addr(), app.AdminAddr())
	return app.Run(ctx)
}

// startRedis starts a Redis in this process, whose keys expire as time passes.
func startRedis(ctx context.Context) (*miniredis.Miniredis, error) {
	embedded, err := miniredis.Run()
	if err != nil {
		return nil, fmt.Errorf("start the embedded Redis: %w", err)
	}
	go func() {
		tick := time.NewTicker(clockEvery)
		defer tick.Stop()
		for last := time.Now(); ; {
			select {
			case <-ctx.Done():
				return
			case now := <-tick.C:
				embedded.FastForward(now.Sub(last))
				last = now
			}
		}
	}()
	return embedded, nil
}

// startUpstream starts the service that is protected here.
func startUpstream() (*http.Server, error) {
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the demo upstream: %w", err)
	}
	server := &http.Server{Addr: socket.Addr().String(), ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(map[string]string{"message": "hello from the upstream", "path": r.URL.Path})
		})}
	go func() { _ = server.Serve(socket) }()
	return server, nil
}

// startGateway starts it on free ports, and again if another process takes one of
// them first.
func startGateway(ctx context.Context, redisAddr, upstream string, logger *slog.Logger) (*compose.App, error) {
	for attempt := 1; ; attempt++ {
		loaded, err := load(redisAddr, upstream)
		if err != nil {
			return nil, err
		}
		app, err := compose.New(ctx, loaded, logger)
		if !errors.Is(err, syscall.EADDRINUSE) || attempt == portsTried {
			return app, err
		}
	}
}

func load(redisAddr, upstream string) (config.Config, error) {
	gateway, err := freeAddr(gatewayPort)
	if err != nil {
		return config.Config{}, err
	}
	operators, err := freeAddr(adminPort)
	if err != nil {
		return config.Config{}, err
	}
	loaded, report := config.Load(config.Sources{
		File: sample, FileName: "sample.yaml",
		Overrides: []string{
			"app.server.listen=" + gateway,
			"app.server.admin-listen=" + operators,
			"app.gateway.upstream=" + upstream,
			"app.rate-limit.redis.endpoint=redis://" + redisAddr + "/0",
		},
		Environ: []string{"EDGELIMIT_HMAC_SECRET=" + rand.Text() + rand.Text()},
	})
	return loaded, report.Err()
}

// freeAddr is the first loopback address from port on that can be listened on.
func freeAddr(port int) (string, error) {
	for p := port; p < port+portsTried; p++ {
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(p))
		socket, err := net.Listen("tcp", addr)
		if err != nil {
			continue
		}
		if err := socket.Close(); err != nil {
			return "", fmt.Errorf("look for a free port: %w", err)
		}
		return addr, nil
	}
	return "", errors.New("no free loopback port from " + strconv.Itoa(port) + " on")
}

func printSession(out io.Writer, gateway, operators string) {
	fmt.Fprintf(out, `Edgelimit is running, with a Redis of its own and a demo upstream. Try:

  curl -i http://%[1]s/
  for i in 1 2 3 4 5 6 7; do curl -s -o /dev/null -w '%%{http_code}\n' http://%[1]s/; done
  curl -s http://%[2]s/v1/rate-limit/evaluate -H 'Content-Type: application/json' -d '{"subject":"alice","cost":2}'
  curl -s http://%[2]s/readyz
  curl -s http://%[2]s/metrics | grep ^edgelimit_

Ctrl-C ends it.
`, gateway, operators)
}
