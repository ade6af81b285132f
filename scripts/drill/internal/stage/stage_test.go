package stage_test

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/edgelimit/edgelimit/scripts/drill/internal/stage"
	"github.com/edgelimit/edgelimit/scripts/drill/internal/tally"
)

func TestLoad_isEvenAndKeepsEveryAnswer(t *testing.T) {
	answers := []int{200, 429, 503, 500, 302}
	var asked [2]atomic.Int64
	var urls []string
	for replica := range asked {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n := asked[replica].Add(1)
			if r.Header.Get("X-Tenant-Id") == "" || r.Header.Get("X-User-Id") == "" {
				t.Error("a request has no tenant or no user")
			}
			if replica == 1 {
				w.Header().Set("X-RateLimit-Source", "local")
			}
			w.WriteHeader(answers[int(n)%len(answers)])
		}))
		defer server.Close()
		urls = append(urls, server.URL)
	}
	load := stage.NewLoad(urls, 1000)
	if err := stage.Await(t.Context(), "enough answers", func() bool { return len(load.Samples()) >= 100 }); err != nil {
		t.Fatal(err)
	}
	samples := load.Stop()

	var results [4]int
	for _, s := range samples {
		results[s.Result]++
		if s.Local != (s.Replica == 1) {
			t.Fatalf("replica %d gave an answer with local %v", s.Replica, s.Local)
		}
		if s.Ended < s.Begun || s.Ended > load.Now() {
			t.Fatalf("a request lasted from %v to %v", s.Begun, s.Ended)
		}
	}
	for replica := range asked {
		got := len(tally.Pick(samples, func(s tally.Sample) bool { return s.Replica == replica }))
		if int64(got) != asked[replica].Load() {
			t.Errorf("%d samples of replica %d, which answered %d requests", got, replica, asked[replica].Load())
		}
	}
	if ok, failed := results[tally.Admitted], results[tally.Failed]; ok == 0 || failed < ok {
		t.Errorf("%d admitted and %d failed, want two failures for each", ok, failed)
	}
	if results[tally.Denied] == 0 || results[tally.Refused] == 0 {
		t.Errorf("%d denied, %d refused, want some of each", results[tally.Denied], results[tally.Refused])
	}
}

func TestSumOf_addsTheSeriesOfOneMetric(t *testing.T) {
	const exposition = `# HELP a_total Words.
# TYPE a_total counter
a_total{reason="connection"} 40
a_total{reason="unknown"} 2
a_total_other 7
aa_total 9
b_total 1e+03
`
	for name, want := range map[string]int{"a_total": 42, "b_total": 1000, "absent_total": 0} {
		if got, err := stage.SumOf(strings.NewReader(exposition), name); got != want || err != nil {
			t.Errorf("%s: %d, %v, want %d", name, got, err, want)
		}
	}
	if n, err := stage.SumOf(strings.NewReader("a_total many\n"), "a_total"); err == nil {
		t.Errorf("got %d of a value that is no number, want an error", n)
	}
}

func TestRedis_diesAndComesBackEmptyAtTheSamePort(t *testing.T) {
	program := cmp.Or(os.Getenv("EDGELIMIT_REDIS_SERVER"), "redis-server")
	redis, err := stage.NewRedis(t.Context(), program, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer redis.Kill()
	version, err := redis.Version()
	if err != nil || !strings.Contains(version, ".") {
		t.Errorf("version %q, %v", version, err)
	}
	addr := redis.Addr()
	redis.Kill()
	if version, err := redis.Version(); err == nil {
		t.Errorf("a dead server has version %q", version)
	}
	if err := redis.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if again, err := redis.Version(); again != version || err != nil || redis.Addr() != addr {
		t.Errorf("it came back as %q at %s, %v, want %q at %s", again, redis.Addr(), err, version, addr)
	}
}

func TestRedis_thatEndsAtOnceIsAnErrorWithItsWords(t *testing.T) {
	_, err := stage.NewRedis(t.Context(), "false", t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "it ended") {
		t.Errorf("got %v, want that it ended", err)
	}
}

func TestAwait_endsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := stage.Await(ctx, "nothing", func() bool { return false }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}
