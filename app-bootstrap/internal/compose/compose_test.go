package compose_test

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/edgelimit/edgelimit/app-bootstrap/internal/compose"
	"github.com/edgelimit/edgelimit/app-bootstrap/internal/config"
)

const patience = 30 * time.Second

// limits is a whole configuration, but for whether it is on.
const limits = `
app:
  server: {listen: "127.0.0.1:0", admin-listen: "127.0.0.1:0"}
  gateway: {upstream: "http://127.0.0.1:1"}
  rate-limit:
    provider: redis
    failure-policy: fail-closed
    default-policy: api
    policies: [{id: api, revision: 1, algorithm: fixed-window, limit: 10, window: 1h}]
    redis: {role: coordination, endpoint: "redis://127.0.0.1:1/0"}
`

func load(t *testing.T, overrides ...string) config.Config {
	t.Helper()
	c, report := config.Load(config.Sources{
		File: []byte(limits), Overrides: overrides,
		Environ: []string{"EDGELIMIT_HMAC_SECRET=" + strings.Repeat("s", 32)},
	})
	if err := report.Err(); err != nil {
		t.Fatal(err)
	}
	return c
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// goroutines is how many there are once those of the tests before have ended: the
// same number for a while.
func goroutines() int {
	n := runtime.NumGoroutine()
	for same := 0; same < 50; same++ {
		time.Sleep(time.Millisecond)
		if now := runtime.NumGoroutine(); now != n {
			n, same = now, 0
		}
	}
	return n
}

// settled waits until as many goroutines run, and no other number.
func settled(t *testing.T, want int, when string) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for runtime.NumGoroutine() != want {
		if time.Now().After(deadline) {
			var stacks strings.Builder
			_ = pprof.Lookup("goroutine").WriteTo(&stacks, 1)
			t.Fatalf("%s: got %d goroutines, want %d:\n%s", when, runtime.NumGoroutine(), want, stacks.String())
		}
		time.Sleep(time.Millisecond)
	}
}

func TestNew_off_startsNothing(t *testing.T) {
	before := goroutines()
	app, err := compose.New(t.Context(), load(t, "app.rate-limit.enabled=false"), quiet())
	if err != nil {
		t.Fatal(err)
	}
	settled(t, before, "composed")
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx) }()
	// The two servers, and the test's own goroutine that runs them.
	settled(t, before+3, "serving")
	stop()
	if err := <-ended; err != nil {
		t.Errorf("got %v after a stop, want nil", err)
	}
	settled(t, before, "ended")
}

func TestNew_on_leavesNothingBehind(t *testing.T) {
	redis := miniredis.RunT(t)
	before := goroutines()
	c := load(t, "app.rate-limit.enabled=true", "app.rate-limit.redis.endpoint=redis://"+redis.Addr()+"/0",
		"app.rate-limit.redis.command-timeout=5s", "app.rate-limit.redis.admission-wait=5s") // the machine's noise must not decide
	app, err := compose.New(t.Context(), c, quiet())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx) }()
	answered, err := http.Get("http://" + app.AdminAddr() + "/v1/rate-limit/authorize")
	if err != nil {
		t.Fatal(err)
	}
	if _ = answered.Body.Close(); answered.StatusCode != http.StatusOK {
		t.Errorf("got %d, want 200", answered.StatusCode)
	}
	http.DefaultClient.CloseIdleConnections()
	stop()
	if err := <-ended; err != nil {
		t.Errorf("got %v after a stop, want nil", err)
	}
	settled(t, before, "ended")
}

func TestNew_anErrorLeavesNothingBehind(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	redis := miniredis.RunT(t)
	before := goroutines()
	c := load(t, "app.rate-limit.enabled=true", "app.rate-limit.redis.endpoint=redis://"+redis.Addr()+"/0",
		"app.server.admin-listen="+taken.Addr().String())
	if app, err := compose.New(t.Context(), c, quiet()); err == nil || app != nil || !strings.Contains(err.Error(), "app.server.admin-listen") {
		t.Errorf("got %v, %v, want an error that names the key", app, err)
	}
	settled(t, before, "refused")
}

func TestNew_aRedisThatIsAwayIsNoError(t *testing.T) {
	c := load(t, "app.rate-limit.enabled=true")
	ctx, stop := context.WithCancel(t.Context())
	app, err := compose.New(ctx, c, quiet())
	if err != nil {
		t.Fatal(err)
	}
	stop()
	if err := app.Run(ctx); err != nil {
		t.Errorf("got %v, want nil", err)
	}
}

// silent is an address that accepts and never answers.
func silent(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener.Addr().String()
}

func TestNew_stoppedWhileItWaitsForRedis_endsWithoutAnError(t *testing.T) {
	c := load(t, "app.rate-limit.enabled=true", "app.rate-limit.redis.dial-timeout=1m",
		"app.rate-limit.redis.endpoint=redis://"+silent(t)+"/0")
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	app, err := compose.New(ctx, c, quiet())
	if err != nil {
		t.Fatalf("got %v, want a program that only has to end", err)
	}
	if err := app.Run(ctx); err != nil {
		t.Errorf("got %v, want nil", err)
	}
}

func TestNew_aPasswordIsInNoError(t *testing.T) {
	redis := miniredis.RunT(t)
	redis.RequireAuth("the right one")
	path := t.TempDir() + "/password"
	if err := os.WriteFile(path, []byte("planted-password\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := load(t, "app.rate-limit.enabled=true", "app.rate-limit.redis.endpoint=redis://"+redis.Addr()+"/0",
		"app.rate-limit.redis.password-file="+path)
	_, err := compose.New(t.Context(), c, quiet())
	if err == nil || !strings.Contains(err.Error(), "app.rate-limit.redis.endpoint") || strings.Contains(err.Error(), "planted-password") {
		t.Errorf("got %v, want an error that names the key and no password", err)
	}
}
