package server

import (
	"context"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/log"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

// Label is on every container that a lane starts, with the value of RunVariable, so that what a killed run left can
// be found.
const (
	Label       = "edgelimit.lane"
	RunVariable = "EDGELIMIT_LANE"
)

const (
	engineLimit = 60 * time.Second
	readyLimit  = 30 * time.Second
	pollEvery   = 5 * time.Millisecond
	askEngine   = 200 // polls without an answer

	publishAttempts = 5
)

// boxed is a Server in a container of its own, on a port of this machine's that stays the same over a Restart.
type boxed struct {
	redistest.Witness
	id     string
	engine *testcontainers.DockerClient
	box    *testcontainers.DockerContainer
}

func startContainer(tb testing.TB, image string, directives []string) Server {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), engineLimit)
	defer cancel()
	addr, box := publish(ctx, tb, image, append(plainDirectives(), directives...))
	engine, err := testcontainers.NewDockerClientWithOpts(ctx)
	if err != nil {
		tb.Fatalf("reach the container engine: %v", err)
	}
	tb.Cleanup(func() { _ = engine.Close() })
	c := &boxed{Witness: redistest.Witness{Addr: addr, Password: passwordIn(directives)}, id: box.GetContainerID(), engine: engine, box: box}
	c.awaitReady(tb)
	return c
}

// publish runs a container on a free port of this machine's. Nothing holds the port until then, so another one may have
// taken it: then it tries again.
func publish(ctx context.Context, tb testing.TB, image string, args []string) (string, *testcontainers.DockerContainer) {
	tb.Helper()
	for attempt := 1; ; attempt++ {
		addr, err := redistest.FreeAddr()
		if err != nil {
			tb.Fatal(err)
		}
		box, err := testcontainers.Run(ctx, image,
			testcontainers.WithEntrypoint("redis-server"), testcontainers.WithCmd(args...),
			testcontainers.WithExposedPorts(port), testcontainers.WithHostConfigModifier(publishedAt(addr)),
			testcontainers.WithLabels(map[string]string{Label: os.Getenv(RunVariable)}), testcontainers.WithLogger(log.TestLogger(tb)))
		testcontainers.CleanupContainer(tb, box)
		if err == nil {
			return addr, box
		}
		if attempt == publishAttempts || !strings.Contains(err.Error(), "port is already allocated") && !strings.Contains(err.Error(), "address already in use") {
			tb.Fatalf("start a container of %s: %v", image, err)
		}
	}
}

// plainDirectives are of every server in a container. The image's own entry point is not used: it may change the user,
// and with it who may write where.
func plainDirectives() []string {
	return []string{"--save", "", "--appendonly", "no", "--bind", "0.0.0.0", "--protected-mode", "no",
		"--loglevel", "warning", "--enable-debug-command", "yes", "--dir", "/tmp"}
}

// port is where a server listens within its container.
const port = "6379/tcp"

// publishedAt gives the port the same address at every start, where the engine would choose another one.
func publishedAt(addr string) func(*container.HostConfig) {
	host, number, _ := net.SplitHostPort(addr)
	binding := network.PortBinding{HostIP: netip.MustParseAddr(host), HostPort: number}
	return func(c *container.HostConfig) {
		c.PortBindings = network.PortMap{network.MustParsePort(port): {binding}}
	}
}

func passwordIn(directives []string) string {
	for i, word := range directives {
		if word == "--requirepass" && i+1 < len(directives) {
			return directives[i+1]
		}
	}
	return ""
}

// Addr is the server's host:port.
func (c *boxed) Addr() string { return c.Witness.Addr }

// Kill ends the server by SIGKILL.
func (c *boxed) Kill(tb testing.TB) {
	tb.Helper()
	c.signal(tb, "KILL")
	c.await(tb, "end", func(ctx context.Context) bool {
		state, err := c.box.State(ctx)
		return err == nil && !state.Running
	})
}

// Restart starts the container again.
func (c *boxed) Restart(tb testing.TB) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), engineLimit)
	defer cancel()
	if state, err := c.box.State(ctx); err == nil && state.Running {
		c.Kill(tb)
	}
	if err := c.box.Start(ctx); err != nil {
		tb.Fatalf("restart the container: %v", err)
	}
	c.awaitReady(tb)
}

// Pause stops the server by SIGSTOP.
func (c *boxed) Pause(tb testing.TB) {
	tb.Helper()
	c.signal(tb, "STOP")
}

// Resume lets a paused server go on.
func (c *boxed) Resume(tb testing.TB) {
	tb.Helper()
	c.signal(tb, "CONT")
}

func (c *boxed) signal(tb testing.TB, name string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), engineLimit)
	defer cancel()
	if _, err := c.engine.ContainerKill(ctx, c.id, client.ContainerKillOptions{Signal: name}); err != nil {
		tb.Fatalf("send SIG%s to the container: %v", name, err)
	}
}

func (c *boxed) awaitReady(tb testing.TB) {
	tb.Helper()
	silent := 0
	c.await(tb, "answer PING", func(ctx context.Context) bool {
		pong, err := c.Ask(ctx, "PING")
		if silent++; err != nil && silent%askEngine == 0 {
			c.demandRunning(ctx, tb)
		}
		return err == nil && pong == "PONG"
	})
}

// demandRunning fails with what the server printed once it has ended.
func (c *boxed) demandRunning(ctx context.Context, tb testing.TB) {
	tb.Helper()
	state, err := c.box.State(ctx)
	if err != nil || state.Running {
		return
	}
	printed := []byte("nothing")
	if log, err := c.box.Logs(ctx); err == nil {
		printed, _ = io.ReadAll(log)
		_ = log.Close()
	}
	tb.Fatalf("the server ended; it printed:\n%s", printed)
}

func (c *boxed) await(tb testing.TB, what string, holds func(ctx context.Context) bool) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), readyLimit)
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for !holds(ctx) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			tb.Fatalf("the container did not %s within %v", what, readyLimit)
		}
	}
}
