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
		Run: report.Run{Date: "today", Command: "make profile", Redis: "7", Machine: "m", Rounds: 5, Slice: time.Second},
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
			Total: 10 * time.Millisecond, Samples: 100, Parts: map[cputime.Part]time.Duration{cputime.Write: 8 * time.Millisecond, cputime.Read: time.Millisecond, cputime.Port: time.Millisecond},
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
		"the three savings below: 0.91x; the token bucket, trusting its state: a hash of three fields 1.07x; one string of decimals 1.14x; whatever it does, with a script as short as redis_rate's 1.14x |",
		"| decisions/s against redis_rate, 1 caller: at least 0.95x | - / - / 0.80x, not measured | CPU of Redis is - / - / 70 of - / - / 100 µs a decision, of redis_rate's 80 it is 40; in scripts, waiting for a core included, - / - / 50 and 20; what is not CPU of Redis: - / - / 30 and 40 |",
		// 80,000 by 10/6 and by 10/5.
		"the token bucket, trusting its state, in batches: a hash of three fields 1.33x; one string of decimals 1.60x |",
		"Redis memory a subject against redis_rate, token bucket: at most 1.10x | 1.20x, not met | of 240 bytes the key and its entry are 110, the TTL's entry 40, the value 90; redis_rate's value is 50 | names of one letter 1.00x;",
		// 25 µs and 40: a call 15, a log 5; 15 * 3 / 14 is affordable.
		"callers 64: at least 1.70x | 1.60x, not met | a call takes 15.0 µs whatever it asks, each log 5.0 µs more; commands a decision: 0.0, by two calls 0.0 | a log of 3.2 µs,",
		"| edgelimit token bucket | 80,000 | 0.200 | 12.5 | 12.0 | 0.96 | 9.0 | 3.0 | 6.0 | 3.0 |\n",
		"| the call | 4.0 |\n| TIME | 1.5 |\n| the rest | 14.5 |\n| **all** | **20.0** |\n",
		"| redis_rate | 8.0 | 2.0 | 6.0 | 9.0 | SET 1.5, GET 0.5 |\n",
		"| all | 5.0 |\n",
		"| samples | 100 |\n| system calls: write | 8.0 |\n| system calls: read | 1.0 |\n| limiter: the port around them | 1.0 |\n| the rest | 0.0 |\n| **all** | **10.0** |\n",
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

// demand reports which of these the page of a changed profile lacks, or has though it
// should not.
func demand(t *testing.T, says string, change func(*report.Profile), has, lacks []string) {
	t.Helper()
	p := profile()
	change(&p)
	text := p.Text()
	for _, part := range has {
		if !strings.Contains(text, part) {
			t.Errorf("%s: the page lacks\n%s", says, part)
		}
	}
	for _, part := range lacks {
		if strings.Contains(text, part) {
			t.Errorf("%s: the page has\n%s", says, part)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

func TestProfile_hasRowsOfBarsThatAreNotMet(t *testing.T) {
	demand(t, "a bar that is met", func(p *report.Profile) { p.Findings.Dual[0].Both.Figures.PerSecond = 42_500 },
		nil, []string{"dual layer against two calls"})
	demand(t, "a bar that nobody looks into is missed", func(p *report.Profile) {
		crowd := &p.Findings.Decisions[1]
		peer := crowd.Results[0]
		peer.Name = contender.RedisRate
		for _, name := range []string{contender.FixedWindow, contender.SlidingWindowCounter} {
			slow := peer
			slow.Name = name
			crowd.Results = append(crowd.Results, slow)
		}
		crowd.Results = append(crowd.Results, peer)
	}, []string{"| decisions/s against redis_rate, 64 callers: at least 2.00x | 1.00x / 1.00x / 1.00x, not met | not looked into here | - | - |\n"},
		[]string{"p99 against redis_rate, 64 callers", "decisions/s against redis_rate, 256 callers"})
}

func TestProfile_makesNothingOfWhatCannotBe(t *testing.T) {
	const no = "not measurable in this run"
	demand(t, "a call that takes less than nothing", func(p *report.Profile) { p.Findings.Dual[0].Both.Figures.PerSecond = 24_000 },
		[]string{"callers 64: at least 1.70x | 0.96x, not met | " + no + " | - | - |\n"}, nil)
	demand(t, "calls that were refused", func(p *report.Profile) { p.Findings.Dual[0].Twice.Decisions, p.Findings.Dual[0].Twice.Wrong = 100, 1 },
		[]string{"callers 64: at least 1.70x | void, void | " + no + " | - | - |\n"}, nil)
	demand(t, "scripts of one caller take longer than Redis works", func(p *report.Profile) { p.Findings.Decisions[0].Results[0].Figures.CPU = 49 },
		[]string{"the three savings below: " + no + "; the token bucket, trusting its state: a hash of three fields " + no + ";", "| 50.0 | 10.0 | 40.0 | " + no + " |\n"}, []string{"reaches the bar"})
	demand(t, "scripts of many do", func(p *report.Profile) { p.Findings.Decisions[1].Results[0].Figures.Scripts = 13 },
		[]string{"| 0.96 | 13.0 | 3.0 | 10.0 | " + no + " |\n"}, nil)
	demand(t, "Redis rests among many callers", func(p *report.Profile) { p.Findings.Decisions[1].Results[0].Figures.CPU = 11.2 },
		[]string{"| " + no + ": Redis was not the narrowest place |"}, []string{"in batches"})
	demand(t, "all savings together save less than one", func(p *report.Profile) { p.Programs[0].Savings[1].Script = 18.1 },
		[]string{"| less of this | 2.0 |\n| all | " + no + " |\n", "the three savings below: " + no + ";"}, nil)
	demand(t, "all savings cost more", func(p *report.Profile) { p.Programs[0].Savings[0].Script, p.Programs[0].Savings[1].Script = 20.2, 20.1 },
		[]string{"| less of this | " + no + " |\n| all | " + no + " |\n", "the three savings below: " + no + ";"}, nil)
	demand(t, "a saving costs more", func(p *report.Profile) { p.Programs[0].Savings[0].Script = 20.1 },
		[]string{"| less of this | " + no + " |\n| all | 5.0 |\n"}, nil)
	demand(t, "a program that goes on takes less", func(p *report.Profile) { p.Programs[0].Steps[1].Script = 3.9 },
		[]string{"| TIME | " + no + " |\n"}, nil)
}

func TestProfile_saysThatNothingReachesTheBarOfOneCaller(t *testing.T) {
	none := []string{"; none of these reaches the bar |"}
	demand(t, "some reach it", func(*report.Profile) {}, nil, none)
	// The quickest takes 70 µs.
	demand(t, "none does", func(p *report.Profile) { p.Findings.Decisions[0].Results[1].Figures.PerSecond = 1e6 / 58 }, none, nil)
}

func TestProfile_saysWhereTheCallersOwnTimeGoes(t *testing.T) {
	demand(t, "the peer was looked into too", func(p *report.Profile) {
		peer := p.Sampled[0]
		peer.Name, peer.Decisions, peer.Own = contender.RedisRate, 2000, nil
		p.Sampled = append(p.Sampled, peer)
	}, []string{"30 and 40, of which the callers' own CPU 10 (token bucket) and 5, reading and waiting for the network in it 1.0 and 0.5 |"}, nil)
	// Of 40 samples those of a tenth are four.
	demand(t, "fewer than five samples", func(p *report.Profile) { p.Sampled[0].Samples = 40 },
		[]string{"| samples | 40 |\n| system calls: write | 8.0 |\n| the rest | 2.0 |\n| **all** | **10.0** |\n"}, []string{"`hash`"})
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
