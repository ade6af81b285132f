package report

import (
	"strconv"
	"strings"

	"github.com/edgelimit/edgelimit/bench/internal/ablation"
	"github.com/edgelimit/edgelimit/bench/internal/cputime"
	"github.com/edgelimit/edgelimit/bench/internal/finding"
	"github.com/edgelimit/edgelimit/bench/internal/footprint"
)

// Profile is the report on where the time and the memory go.
type Profile struct {
	Run
	Findings finding.Findings // races of those that a bar speaks of, and the dual layer

	Pipeline           ablation.Pipeline
	Programs           []ablation.Program // as [finding.Algorithms]
	RedisRate, Counter ablation.Cost
	Forms              [][]ablation.Cost // what the token bucket could be: of one key a call, and of a full batch

	Sampled []Sampled
	Memory  []Ways
	Rest    []footprint.Kind // what is no matter of how a state is kept
	Kinds   int              // subjects of each
}

// Sampled is where the time of a contender's callers went.
type Sampled struct {
	Name      string
	Callers   int
	Decisions int
	cputime.Profile
}

// Text is the page, in Markdown.
func (p Profile) Text() string {
	var b strings.Builder
	b.WriteString(profileOpening)
	p.head(&b, strconv.Itoa(p.Rounds))
	p.verdicts(&b)
	p.server(&b)
	p.scripts(&b)
	p.callers(&b)
	p.memory(&b)
	b.WriteString(profileMethod)
	return b.String()
}

const profileOpening = `# Profile

The report of a run, written by ` + "`make profile`" + ` and by nobody else. It is about those bars of
[performance.md](performance.md) that it measures again and does not find met: where the time and the memory go, and what would
have to be given up for each. Microseconds are of this machine at this time.

`

const profileMethod = `
## How it is measured

Server, callers, subjects and rounds are arranged as in [performance.md](performance.md); the gateway, denials and the races of
other callers are not run again. What cannot be (a part that exceeds its whole, a log that takes less than nothing) is noise: in
its place, and in that of what would follow from it, the page says "not measurable in this run".

- **Programs** are overheard (MONITOR) on the server while the provider and the peers decide, and no copies. A step is the
  program itself with a ` + "`return`" + ` put behind it; where the program no longer has the step, the run fails. Every script runs by
  EVALSHA on one connection, 256 decisions a write, over states that are there, in rounds; figures are of the round in which it
  took least. So sockets and waiting for them are no part of it, and caches are as warm as they get: in the races the same
  takes more.
- **Time** is that from one decision to the next. **In scripts** is Redis' own clock (INFO commandstats) from a script's start
  to its end, **in commands** that of the commands that it gives. They are wall time: if two processes want one core, the wait
  is in it.
- **CPU of Redis** is user and system time of the process. **Around** is what it has beyond the scripts: reading and answering,
  the event loop, system calls.
- **CPU of the callers** is runtime/pprof of the benchmark's process, a hundred samples a second of it. A stack counts for the
  first part that one of its functions belongs to, so a write is a system call whoever made it. A part of fewer than five samples
  counts for the rest, a function of fewer is left out.
- **What would change it** is projected. Of one caller: the time of a decision, less the share of its script by which the
  other form's is shorter in the pipeline. Of many: the rate, by how much less CPU of Redis the other form takes in the pipeline.
  That is the most that can be hoped for, since Redis is then no longer the narrowest place; where it is busy for less than nine
  tenths of a second it is not now, and nothing is projected.
- **Memory** is used_memory by the subject, with keys of one length and a TTL, the limit 1,000. MEMORY USAGE leaves out what a TTL
  and the tables take.
`
