package cache_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/cache"
	contract "github.com/edgelimit/edgelimit/shared-contract/cache"
	"github.com/edgelimit/edgelimit/shared-contract/cache/cachetest"
)

// fake is a port that answers what it is told to, and counts.
type fake struct {
	reading contract.Reading
	writing contract.Writing
	asked   int
}

func (f *fake) Get(context.Context, contract.Key) contract.Reading {
	f.asked++
	return f.reading
}

func (f *fake) Put(context.Context, contract.Key, contract.Entry) contract.Writing {
	f.asked++
	return f.writing
}

func (f *fake) PutIfAbsent(ctx context.Context, k contract.Key, e contract.Entry) contract.Writing {
	return f.Put(ctx, k, e)
}

func (f *fake) CompareAndReplace(ctx context.Context, k contract.Key, _ contract.Token, e contract.Entry) contract.Writing {
	return f.Put(ctx, k, e)
}

func (f *fake) Delete(ctx context.Context, k contract.Key) contract.Writing {
	return f.Put(ctx, k, contract.Entry{})
}

func (f *fake) fail(cause contract.Cause) {
	f.reading, f.writing = contract.Unavailable{Cause: cause}.Reading(), contract.Unavailable{Cause: cause}.Writing()
}

func (f *fake) serve() {
	f.reading, f.writing = contract.Hit{Value: []byte("v"), TTL: time.Second}.Reading(), contract.Stored{}.Writing()
}

func failOpen(t *testing.T, port contract.CachePort, probeEvery time.Duration) (*cache.FailOpen, map[contract.Cause]int) {
	t.Helper()
	told := map[contract.Cause]int{}
	f, err := cache.NewFailOpen(port, cache.FailOpenConfig{
		Failures: 3, ProbeEvery: probeEvery, OnFailure: func(c contract.Cause) { told[c]++ },
	})
	if err != nil {
		t.Fatal(err)
	}
	return f, told
}

func TestFailOpen_keepsTheContractOfACacheThatServes(t *testing.T) {
	r := newRig(t)
	cachetest.Run(t, cachetest.Harness{
		New: func(t *testing.T) contract.CachePort {
			f, _ := failOpen(t, r.cache, time.Hour)
			return f
		},
		Pass: passOn(r.server),
	})
}

func TestFailOpen_aFailureIsAMissAndIsCounted(t *testing.T) {
	for _, cause := range []contract.Cause{contract.CauseConnection, contract.CauseServer, contract.CauseState, contract.CauseUnknown} {
		port := &fake{}
		f, told := failOpen(t, port, time.Hour)
		port.fail(cause)
		if got := reading(f.Get(within(t), keyOf(t, "acme"))); got != "miss" {
			t.Errorf("%s: got %s, want miss", cause, got)
		}
		if got, want := writing(f.Put(within(t), keyOf(t, "acme"), entryOf(t, "v", time.Second))), "unavailable "+string(cause); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if told[cause] != 2 || len(told) != 1 {
			t.Errorf("%s: told of %v, want it twice", cause, told)
		}
	}
}

func TestFailOpen_aDeadCacheIsNotAskedUntilAProbe(t *testing.T) {
	port := &fake{}
	f, told := failOpen(t, port, 5*time.Millisecond)
	port.fail(contract.CauseUnknown)
	k, e := keyOf(t, "acme"), entryOf(t, "v", time.Second)
	f.Get(within(t), k)
	f.Put(within(t), k, e)
	f.Get(within(t), k)
	if f.Breaker() == "closed" || port.asked != 3 {
		t.Fatalf("got breaker %s after %d failures", f.Breaker(), port.asked)
	}
	port.serve()
	for f.Breaker() != "closed" { // each call but a probe is a miss at once
		if got := reading(f.Get(within(t), k)); got != "miss" && got != "hit v" {
			t.Fatalf("got %s, want a miss or the probe's hit", got)
		}
	}
	if got := reading(f.Get(within(t), k)); got != "hit v" {
		t.Errorf("afterwards: got %s, want hit v", got)
	}
	if told[contract.CauseUnknown] != 3 {
		t.Errorf("told of %v, want UNKNOWN 3 times", told)
	}
}

func TestFailOpen_whileOpenWritesAreUnavailableAndNothingIsAsked(t *testing.T) {
	port := &fake{}
	f, told := failOpen(t, port, time.Hour)
	port.fail(contract.CauseConnection)
	k, e := keyOf(t, "acme"), entryOf(t, "v", time.Second)
	for range 3 {
		f.Get(within(t), k)
	}
	for verb, got := range map[string]string{
		"get":           reading(f.Get(within(t), k)),
		"put":           writing(f.Put(within(t), k, e)),
		"put if absent": writing(f.PutIfAbsent(within(t), k, e)),
		"replace":       writing(f.CompareAndReplace(within(t), k, contract.NewToken(), e)),
		"delete":        writing(f.Delete(within(t), k)),
	} {
		want := "unavailable CONNECTION"
		if verb == "get" {
			want = "miss"
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", verb, got, want)
		}
	}
	if port.asked != 3 || told[contract.CauseConnection] != 8 {
		t.Errorf("asked %d times and told of %v, want 3 and CONNECTION 8 times", port.asked, told)
	}
}

func TestFailOpen_whatSaysNothingOfTheCacheDoesNotOpenIt(t *testing.T) {
	for _, cause := range []contract.Cause{contract.CauseRequest, contract.CauseDeadline, contract.CauseState} {
		port := &fake{}
		f, _ := failOpen(t, port, time.Hour)
		port.fail(cause)
		for range 10 {
			f.Get(within(t), keyOf(t, "acme"))
		}
		if f.Breaker() != "closed" || port.asked != 10 {
			t.Errorf("%s: got breaker %s after %d calls, want closed after 10", cause, f.Breaker(), port.asked)
		}
	}
}

func TestFailOpen_refusedWritesLeaveTheReads(t *testing.T) {
	port := &fake{}
	f, told := failOpen(t, port, time.Hour)
	port.fail(contract.CauseServer)
	port.reading = contract.Hit{Value: []byte("v"), TTL: time.Second}.Reading()
	for range 10 {
		f.Put(within(t), keyOf(t, "acme"), entryOf(t, "v", time.Second))
	}
	if got := reading(f.Get(within(t), keyOf(t, "acme"))); got != "hit v" || told[contract.CauseServer] != 10 {
		t.Errorf("got %s and told of %v, want hit v and SERVER 10 times", got, told)
	}
	port.fail(contract.CauseServer)
	for range 3 {
		f.Get(within(t), keyOf(t, "acme"))
	}
	if got := f.Breaker(); got != "open" {
		t.Errorf("after refused reads: got breaker %s, want open", got)
	}
}

func TestFailOpen_logsOnceThatItStopsAskingAndOnceThatItAsksAgain(t *testing.T) {
	var log strings.Builder
	port := &fake{}
	f, err := cache.NewFailOpen(port, cache.FailOpenConfig{
		Failures: 3, ProbeEvery: time.Millisecond, Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	k := keyOf(t, "acme")
	for range 2 {
		port.fail(contract.CauseUnknown)
		for failed := port.asked; port.asked < failed+5; { // the last two are probes
			f.Get(within(t), k)
		}
		port.serve()
		for f.Breaker() != "closed" {
			f.Get(within(t), k)
		}
	}
	opens := strings.Count(log.String(), `level=WARN msg="cache breaker" from=closed to=open`)
	closes := strings.Count(log.String(), `level=INFO msg="cache breaker" from=half-open to=closed`)
	if opens != 2 || closes != 2 || strings.Count(log.String(), "\n") != 4 {
		t.Errorf("got %d and %d lines of 2 outages in\n%s", opens, closes, log.String())
	}
}

func TestNewFailOpen_refusesWhatCannotWork(t *testing.T) {
	for i, c := range []cache.FailOpenConfig{{}, {Failures: 1}, {ProbeEvery: 1}, {Failures: -1, ProbeEvery: 1}} {
		if _, err := cache.NewFailOpen(&fake{}, c); err == nil {
			t.Errorf("%s: got no error", fmt.Sprint(i))
		}
	}
	if _, err := cache.NewFailOpen(nil, cache.FailOpenConfig{Failures: 1, ProbeEvery: 1}); err == nil {
		t.Error("no port: got no error")
	}
}
