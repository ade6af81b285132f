package web

import (
	"strings"
	"testing"
)

const printed = `Running 2s test @ http://127.0.0.1:1/
  1 threads and 32 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.28ms  512.00us   9.11ms   80.00%
    Req/Sec    25.03k     1.20k   27.11k    70.00%
  Latency Distribution
     50%  812.00us
     75%    1.51ms
     90%    1.90ms
     99%    1.02s 
  50032 requests in 2.00s, 6.82MB read
  Socket errors: connect 1, read 2, write 0, timeout 4
  Non-2xx or 3xx responses: 10
Requests/sec:  24981.55
Transfer/sec:      3.41MB
`

func TestParse_readsWhatWrkPrints(t *testing.T) {
	got, err := parse(printed)
	if err != nil {
		t.Fatal(err)
	}
	want := figures{perSecond: 24981.55, p50: 0.812, p99: 1020, requests: 50_032, wrong: 17}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestParse_refusesWhatIsNoReport(t *testing.T) {
	for says, text := range map[string]string{
		"nothing":                  "",
		"a rate that is no number": strings.Replace(printed, "24981.55", "many", 1),
		"no count of requests":     strings.Replace(printed, "50032 requests in", "done in", 1),
		"a time without a unit":    strings.Replace(printed, "812.00us", "812", 1),
	} {
		if got, err := parse(text); err == nil {
			t.Errorf("%s: got %+v, want an error", says, got)
		}
	}
}

func TestListening_findsTheLineThatSaysWhere(t *testing.T) {
	const output = "not JSON\n{\"msg\":\"starting\"}\n{\"msg\":\"serving\",\"listen\":\"127.0.0.1:8080\"}\n"
	if got, want := listening(output), "http://127.0.0.1:8080/"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := listening("{\"msg\":\"starting\"}\n"); got != "" {
		t.Errorf("got %q before it serves, want nothing", got)
	}
}
