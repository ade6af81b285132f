package report

import (
	"strconv"
	"strings"
	"time"

	"github.com/edgelimit/edgelimit/bench/internal/finding"
)

// Run is what a report is of.
type Run struct {
	Date    string
	Command string // what runs it again
	Redis   string // version
	Machine string
	Cores   int
	Load    []float64 // average of the machine before the run, of the last minute and longer; none is unknown
	Rounds  int
	Slice   time.Duration
}

// Page is the report on performance.
type Page struct {
	Run
	Few int // rounds of the growth of subjects
	finding.Findings
}

// Text is the page, in Markdown.
func (p Page) Text() string {
	var b strings.Builder
	b.WriteString(opening)
	p.head(&b, strconv.Itoa(p.Rounds)+"; of the growth of subjects "+strconv.Itoa(p.Few))
	p.bars(&b)
	p.decisions(&b)
	p.growth(&b)
	p.memory(&b)
	p.dual(&b)
	p.gateway(&b)
	p.wrong(&b)
	b.WriteString(method)
	return b.String()
}

// busy tells whether the machine had more to do than it has cores before the run began.
func (r Run) busy() bool { return len(r.Load) > 0 && r.Load[0] > float64(r.Cores) }

func (r Run) head(b *strings.Builder, rounds string) {
	load := "unknown"
	if len(r.Load) > 0 {
		load = figures(r.Load, 2, ", ")
	}
	if r.busy() {
		b.WriteString("**The machine was busy before this run: the load average is above its " + count(r.Cores, "core") + ". No figure here is evidence.**\n\n")
	}
	table(b, []string{"the run", ""}, [][]string{
		{"date", r.Date},
		{"command", "`" + r.Command + "`"},
		{"redis", r.Redis},
		{"machine", r.Machine},
		{"load average before", load},
		{"rounds", rounds},
		{"slice", r.Slice.String()},
	})
}

const opening = `# Performance

The report of a run, written by ` + "`make bench`" + ` and by nobody else. Absolute figures are of this machine at this time; the
ratios are of the same rounds, but for memory, and carry further.

`

const method = `
## How it is measured

One redis-server that keeps nothing on disk, on loopback, beside the callers on the same machine. Every caller decides in a
closed loop, cost 1, over the subjects in a pseudo-random walk that is the same in every run. A race goes in rounds: in each,
every contender runs one slice, and each round begins with another one. A figure is the median over the rounds; a ratio is of
two medians of the same race. Before its race each contender has decided once for every subject and run a slice that does not
count. Garbage is collected before each slice.

- **p50**, **p99**: from asking to the answer, by the caller's clock. **allocs**: heap allocations of the whole process, by
  the decision. **CPU**: microseconds of user and system time of the Redis process. **commands**: those that Redis ran, the
  ones within scripts included. **trips**: reads of a socket that brought Redis something.
- Edgelimit is asked through the port that ` + "`redislimit.Open`" + ` gives, with 512 places in flight as the gateway has by default.
  The port demands a deadline: each caller makes one ctx with a deadline of an hour, where the gateway makes one a request.
  The peers need none and have none. The admission wait of 5 ms is the gateway's default too: what is refused is a wrong
  answer. The command timeout is 5 s where the gateway has 50 ms, so that a moment in which the machine is busy otherwise is a
  figure and not a failure. Beyond 512 callers refusals would be the rule: "admission wait 5s" waits that long for a place.
- "Group commit alone" has a policy with a cleanup grace below 1 s, whose evaluations share writes and run one by one: the
  rest is the batch program's gain. Its states end soon, so before each of its slices it has been asked for all of them.
- Wrong is what was refused, failed or got the answer of another path. It is not in decisions/s; beyond 0.1 % of all rounds the
  figures are void, and so is every bar that needs them.
- Peers have their own defaults. Those on go-redis have its default pool of ten connections by GOMAXPROCS, each a client of its own.
- rueidislimiter is not measured itself. A counter program of its kind stands in for it (INCRBY, PEXPIRE on the first), through
  rueidis with rueidis' own pipelining. It counts on the client's windows, charges what it denies, and reads no server time.
- The floors decide nothing: a program of TIME, HMGET and HSET of eight fields, PEXPIRE and seven integers back, through
  go-redis, one command a call, and through its AutoPipeline as it comes.
- Allowed: limits that nobody reaches. Denied: limits of 1 an hour or in a longer time, used up before.
- The denial cache has room for all subjects and keeps them for 10 s. Before each of its slices it has been asked for all of
  them, so what is measured is repeated denials, without Redis.
- Memory: used_memory that all the subjects took, each asked about once, divided by them, with keys of one length and a TTL.
  The limit is 1,000.
- The dual layer is asked for 5,000 users in 50 tenants, limits 20 and 100, against a tenant's call and then a
  user's, which are both made whatever the first one says. With the long window nearly all is denied, with the short one most
  is allowed.
- Gateway: wrk with 32 connections, one thread; the two gateways and the upstream, a process each, stand ready the whole time.
  Limiting has its default times, but for a command timeout of 5 s. An answer that is no 2xx is wrong, though wrk counts it in
  its requests/s. The policy is a token bucket that nobody drains, the client is one address.
`
