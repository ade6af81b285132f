package compose_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	"github.com/edgelimit/edgelimit/app-bootstrap/internal/compose"
	"github.com/edgelimit/edgelimit/app-bootstrap/internal/config"
)

// caching is a cache on addr, for a limiter that counts in this process and whose
// limits come from source.
func caching(addr, source string) []string {
	return []string{
		"app.cache.redis.enabled=true", "app.cache.redis.role=cache", "app.cache.redis.command-timeout=10s", "app.cache.redis.endpoint=redis://" + addr,
		"app.inbound-web.rate-limit.mode=local", "app.inbound-web.limits-source.url=" + source,
		"app.inbound-web.rate-limit.limits.tenant=9", "app.inbound-web.rate-limit.limits.user=9",
		"app.inbound-web.rate-limit.limits.key=9", "app.inbound-web.rate-limit.limits.anonymous=9",
	}
}

// No configuration of a cache stands in for what a limiter needs.
func TestNew_noLimiterIsBuiltFromACache(t *testing.T) {
	for _, row := range []struct {
		missing   string
		overrides []string
	}{
		{"app.rate-limit.redis.endpoint", []string{"app.rate-limit.enabled=true", "app.rate-limit.redis.endpoint="}},
		{"app.inbound-web.rate-limit.redis-url", []string{"app.inbound-web.rate-limit.mode=redis"}},
	} {
		_, report := config.Load(config.Sources{
			File: []byte(limits), Overrides: append(caching("127.0.0.1:2", "http://127.0.0.1:1"), row.overrides...),
			Environ: []string{"EDGELIMIT_HMAC_SECRET=" + strings.Repeat("s", 32)},
		})
		if len(report.Problems) != 1 || report.Problems[0].Key != row.missing || !strings.Contains(report.Problems[0].Message, "is missing") {
			t.Errorf("got %v, want %s to be missing", report.Problems, row.missing)
		}
	}
}

// A server is the same under another name: here, behind a link.
func TestNew_refusesACacheThatIsALimitersServerUnderAnotherName(t *testing.T) {
	server := redistest.Start(t)
	alias := redistest.NewLink(t, server.Addr()).Addr()
	coordination := []string{"app.rate-limit.enabled=true", "app.rate-limit.redis.endpoint=redis://" + server.Addr() + "/2"}
	inbound := []string{"app.inbound-web.rate-limit.mode=redis", "app.inbound-web.rate-limit.redis-url=redis://" + server.Addr() + "/2"}
	for _, row := range []struct {
		sentence  string
		overrides []string
		refusal   string // "" is none
	}{
		{"the coordination database", append(coordination, "app.cache.redis.endpoint=redis://"+alias+"/2"), "is the coordination Redis under another name"},
		{"another database of the coordination server", append(coordination, "app.cache.redis.endpoint=redis://"+alias+"/3"), ""},
		{"the inbound-web limiter's database", append(inbound, "app.cache.redis.endpoint=redis://"+alias+"/2"), "is the inbound-web limiter's server under another name"},
		{"another database of the inbound-web limiter's server", append(inbound, "app.cache.redis.endpoint=redis://"+alias+"/3"), "is the inbound-web limiter's server under another name"},
		{"a server of its own", append(append(coordination, inbound...), "app.cache.redis.endpoint=redis://"+redistest.Start(t).Addr()), ""},
		{"a server that is away", append(append(coordination, inbound...), "app.cache.redis.endpoint=redis://127.0.0.1:1"), ""},
	} {
		t.Run(row.sentence, func(t *testing.T) {
			app, err := compose.New(t.Context(), load(t, append(caching(alias, "http://127.0.0.1:1"), row.overrides...)...), quiet())
			if err == nil {
				closeApp(t, app)
			}
			if row.refusal == "" && err != nil || row.refusal != "" && (err == nil || !strings.Contains(err.Error(), row.refusal)) {
				t.Errorf("got %v, want %q", err, row.refusal)
			}
		})
	}
}

// lines is a log that says which lines it has.
type lines chan string

func (l lines) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}

// has waits for a line with text in it.
func (l lines) has(t *testing.T, text string) {
	t.Helper()
	for end := time.After(patience); ; {
		select {
		case line := <-l:
			if strings.Contains(line, text) {
				return
			}
		case <-end:
			t.Fatalf("no line says %q", text)
		}
	}
}

func TestRun_comparesTheCacheOnceEveryServerIsThere(t *testing.T) {
	for _, row := range []struct{ sentence, away string }{
		{"the cache was away at start", "cache"}, {"the limiter was away at start", "limiter"},
	} {
		t.Run(row.sentence, func(t *testing.T) {
			server := redistest.Start(t)
			cache, limiter := redistest.NewLink(t, server.Addr()), redistest.NewLink(t, server.Addr())
			away := map[string]*redistest.Link{"cache": cache, "limiter": limiter}[row.away]
			away.Refuse()
			log := make(lines, 1000)
			run(t, slog.New(slog.NewTextHandler(log, nil)), append(caching(cache.Addr(), "http://127.0.0.1:1"),
				"app.rate-limit.enabled=true", "app.rate-limit.redis.endpoint=redis://"+limiter.Addr())...)
			log.has(t, "not every Redis is there")
			away.Heal()
			log.has(t, "level=ERROR msg=\"the cache is not apart from a limiter")
		})
	}
}

// A dead cache shows, and the gateway is ready all the same.
func TestRun_aDeadCacheShowsAndLeavesTheGatewayReady(t *testing.T) {
	log := make(lines, 10_000)
	app := run(t, slog.New(slog.NewTextHandler(log, nil)), append(caching("127.0.0.1:2", "http://127.0.0.1:1"),
		"app.server.trusted-proxies=[127.0.0.1]", "app.inbound-web.identity.tenant-header=X-T")...)
	for tenant := range 10 {
		ask(t, "http://"+app.Addr(), "X-T", fmt.Sprint("tenant-", tenant))
	}
	log.has(t, `level=WARN msg="cache breaker" from=closed to=open`)
	if _, shown := ask(t, "http://"+app.AdminAddr()+"/metrics"); !strings.Contains(shown, `edgelimit_cache_breaker_state{state="closed"} 0`) {
		t.Error("the metrics do not show that the breaker is open")
	}
	if code, said := ask(t, "http://"+app.AdminAddr()+"/readyz"); code != http.StatusOK {
		t.Errorf("readiness is %d, want 200: %s", code, said)
	}
}

// ask is the answer to a GET with these headers, names and values by turns.
func ask(t *testing.T, url string, headers ...string) (code int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	read, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(read)
}

func TestNew_limitsComeFromTheSourceThroughTheCache(t *testing.T) {
	var asked atomic.Int64
	source := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, `{"tenant": 7, "users": {"ann": 3}}`)
	}))
	defer source.Close()
	behind := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer behind.Close()
	server := redistest.Start(t)
	overrides := append(caching(server.Addr(), source.URL), "app.rate-limit.enabled=false", "app.gateway.upstream="+behind.URL,
		"app.server.trusted-proxies=[127.0.0.1]", "app.inbound-web.identity.tenant-header=X-T", "app.inbound-web.identity.user-header=X-U")
	first, second := serveApp(t, overrides...), serveApp(t, overrides...)
	for _, row := range []struct{ addr, tenant, user, limit string }{
		{first, "acme", "", "7"}, {first, "acme", "ann", "3"}, {second, "acme", "", "7"}, {second, "acme", "bob", "7"}, {second, "", "", "9"},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+row.addr, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-T", row.tenant)
		r.Header.Set("X-U", row.user)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if got := answer.Header.Get("X-RateLimit-Limit"); got != row.limit {
			t.Errorf("%+v: got the limit %s (%d)", row, got, answer.StatusCode)
		}
	}
	if got := asked.Load(); got != 1 {
		t.Errorf("the source was asked %d times, want once for both processes", got)
	}
}

// closeApp runs app for no time, which closes it.
func closeApp(t *testing.T, app *compose.App) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := app.Run(ctx); err != nil {
		t.Errorf("got %v after a stop, want nil", err)
	}
}

// serveApp serves until the test ends, and is the address.
func serveApp(t *testing.T, overrides ...string) string {
	t.Helper()
	return run(t, quiet(), overrides...).Addr()
}

// run runs an app until the test ends.
func run(t *testing.T, logger *slog.Logger, overrides ...string) *compose.App {
	t.Helper()
	app, err := compose.New(t.Context(), load(t, overrides...), logger)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("got %v after a stop, want nil", err)
		}
	})
	return app
}
