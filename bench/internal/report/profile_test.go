package report_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/bench/internal/ablation"
	"github.com/edgelimit/edgelimit/bench/internal/contender"
	"github.com/edgelimit/edgelimit/bench/internal/cputime"
	"github.com/edgelimit/edgelimit/bench/internal/finding"
	"github.com/edgelimit/edgelimit/bench/internal/footprint"
	"github.com/edgelimit/edgelimit/bench/internal/race"
	"github.com/edgelimit/edgelimit/bench/internal/report"
)

// profile is of figures that are easy to work with by head. A caller alone waits 100
// µs for the token bucket, 50 of them for its script, and 80 for redis_rate.
func profile() report.Profile {
	result := func(name string, perSecond, cpu, scripts, given float64) race.Result {
		return race.Result{Name: name, Path: contender.Allowed, Figures: race.Figures{PerSecond: perSecond, P99: 0.2, CPU: cpu, Scripts: scripts, Given: given}}
	}
	cost := func(name string, script, cpu float64) ablation.Cost {
		return ablation.Cost{Name: name, Script: script, CPU: cpu, Within: map[string]float64{"get": 0.5, "set": 1.5}}
	}
	p := report.Profile{
		Run: report.Run{Date: "today", Command: "make profile", Redis: "7", Machine: "m", Load: "0", Rounds: 5, Slice: time.Second},
		Findings: finding.Findings{
			Decisions: []finding.Heat{
				{Race: race.Race{Callers: 1, Subjects: 10_000}, Results: []race.Result{result(contender.TokenBucket, 10_000, 70, 50, 10), result(contender.RedisRate, 12_500, 40, 20, 5)}},
				{Race: race.Race{Callers: 64, Subjects: 10_000}, Results: []race.Result{result(contender.TokenBucket, 80_000, 12, 9, 3), result(contender.BareCounter, 100_000, 8, 4, 2)}},
			},
			Dual: []finding.Dual{{Window: time.Minute, Callers: 64, Both: result("one call", 40_000, 0, 0, 0), Twice: result("two calls", 25_000, 0, 0, 0)}},
		},
		RedisRate: cost("redis_rate", 8, 9), Counter: cost("counter", 3, 4),
		Forms: [][]ablation.Cost{
			{cost(ablation.Trusted, 10, 11), cost(ablation.Trusted, 6, 6)},
			{cost(ablation.Packed, 8, 9), cost(ablation.Packed, 5, 5)},
			{cost(ablation.Counter, 3, 4), cost(ablation.Counter, 2, 2)},
		},
		Kinds: 50_000,
		Memory: []report.Ways{{Name: contender.TokenBucket, Kinds: []footprint.Kind{
			{Name: "as it is", Bytes: 240, Usage: 180}, {Name: "names of one letter", Bytes: 200, Usage: 150},
		}}},
		Rest: []footprint.Kind{{Name: report.KeyAlone, Bytes: 110}, {Name: report.KeyWithTTL, Bytes: 150}, {Name: contender.RedisRate, Bytes: 200}},
		Sampled: []report.Sampled{{Name: contender.TokenBucket, Callers: 1, Decisions: 1000, Profile: cputime.Profile{
			Total: 10 * time.Millisecond, Parts: map[cputime.Part]time.Duration{cputime.Write: 9 * time.Millisecond, cputime.Port: time.Millisecond},
			Flat: map[string]time.Duration{"Syscall6": 9 * time.Millisecond, "hash": time.Millisecond},
			Own:  map[string]time.Duration{"redislimit.Evaluate": 10 * time.Millisecond},
		}}},
	}
	p.Programs = []ablation.Program{{
		Name: contender.TokenBucket, Whole: cost(contender.TokenBucket, 20, 22), One: cost("", 18, 20), Batch: cost("", 10, 10),
		Savings: []ablation.Cost{cost("less of this", 18, 20), cost("all", 15, 16)},
		Steps:   []ablation.Cost{cost("the call", 4, 5), cost("TIME", 5.5, 6), cost("the rest", 20, 22)},
	}}
	return p
}

func TestProfile_showsWhereItGoesAndWhatWouldChangeIt(t *testing.T) {
	text := profile().Text()
	for _, part := range []string{
		"| command | `make profile` |\n",
		// 100 µs less half of 50 are 75 against 80; less three quarters 62.5; a quarter of 50 saved makes 87.5.
		"the three savings below: 0.91x; the token bucket, trusting its state: a hash of three fields 1.07x; one string of decimals 1.14x |",
		"| decisions/s against redis_rate, 1 caller: at least 0.95x | - / - / 0.80x, not measured | Redis: of - / - / 100 µs a decision - / - / 70 are its CPU, of redis_rate's 80 it is 40; in scripts - / - / 50 and 20 |",
		// 80,000 by 10/6 and by 10/5.
		"the token bucket, trusting its state, in batches: a hash of three fields 1.33x; one string of decimals 1.60x |",
		"Redis memory a subject against redis_rate, token bucket: at most 1.10x | 1.20x, not met | of 240 bytes the key and its entry are 110, the TTL's entry 40, the value 90; redis_rate's value is 50 | names of one letter 1.00x;",
		// 25 µs and 40: a call 15, a log 5; 15 * 3 / 14 is affordable.
		"callers 64: at least 1.70x | 1.60x, not met | a call takes 15.0 µs whatever it asks, each log 5.0 µs more; commands a decision: 0.0, by two calls 0.0 | a log of 3.2 µs,",
		"| edgelimit token bucket | 80,000 | 0.200 | 12.5 | 12.0 | 0.96 | 9.0 | 3.0 | 6.0 | 3.0 |\n",
		"| the call | 4.0 |\n| TIME | 1.5 |\n| the rest | 14.5 |\n| **all** | **20.0** |\n",
		"| redis_rate | 8.0 | 2.0 | 6.0 | 9.0 | SET 1.5, GET 0.5 |\n",
		"| all | 5.0 |\n",
		"| system calls: write | 9.00 |\n| limiter: the port around them | 1.00 |\n| **all** | **10.00** |\n",
		"| `Syscall6` | 90.0 % | `redislimit.Evaluate` | 100.0 % |\n| `hash` | 10.0 % |  |  |\n",
		"## Memory of Redis, over 50,000 subjects",
		"| names of one letter | 200 | 1.00x | 150 |\n",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("the page lacks\n%s", part)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

func TestWaysToKeep_areOfOneState(t *testing.T) {
	var names []string
	for _, way := range report.WaysToKeep(footprint.State{Hash: []string{"observed", "12", "schema", "1/a/1"}}) {
		names = append(names, strings.Join(append(way.State.Hash, way.State.Text), "|"))
	}
	want := []string{"observed|12|schema|1/a/1|", "o|12|s|1/a/1|", "observed|12|", "o|12|", "12 1/a/1", "12"}
	if !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
}
