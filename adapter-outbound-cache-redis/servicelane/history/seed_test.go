package history_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/evidence"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/server"
)

// seed is a program of the product with a fault, or without one.
type seed struct {
	sentence string
	limiter  string // a policy's id, or slidingLog
	program  program.Program
	edits    []string // in turn what stands once in the text, and what takes its place
}

const faultless = "it is as it is"

// laterWrites makes a program that decides and answers with the writes, for its caller to send afterwards.
var laterWrites = "local writes = {}\nlocal function later(...) writes[#writes + 1] = {...} end\n"

var seeds = []seed{
	{faultless, "fixed-window", program.FixedWindow, nil},
	{"the last unit of a window is denied", "fixed-window", program.FixedWindow, []string{
		"if cost > limit - consumed then", "if cost >= limit - consumed then"}},
	{"a denial is charged", "fixed-window", program.FixedWindow, []string{
		"return {'DENIED'", "redis.call('HSET', KEYS[1], 'consumed', digits(limit))\n  return {'DENIED'"}},
	{"a charge is forgotten now and then", "fixed-window", program.FixedWindow, []string{
		"digits(consumed + cost)", "digits(consumed + (math.fmod(micros, 7) == 0 and 0 or cost))"}},
	{"it reads, and writes in a second round trip", "fixed-window", program.FixedWindow, []string{
		"local schema =", laterWrites + "local schema =", "redis.call('HSET'", "later('HSET'",
		"redis.call('PEXPIRE'", "later('PEXPIRE'", "return {'ALLOWED'", "return {writes, 'ALLOWED'"}},

	{faultless, "sliding-window-counter", program.SlidingCounter, nil},
	{"the weight of the window before is rounded down", "sliding-window-counter", program.SlidingCounter, []string{
		"local used = divide_up(", "local used = divide("}},
	{"the window before counts in full", "sliding-window-counter", program.SlidingCounter, []string{
		"local weight = divide_up((window - elapsed) * SCALE, window)", "local weight = SCALE"}},

	{faultless, "token-bucket", program.TokenBucket, nil},
	{"the remainder of a refill is lost", "token-bucket", program.TokenBucket, []string{
		"capacity - missing + gained, carried end", "capacity - missing + gained, 0 end"}},
	{"it reads, and writes in a second round trip", "token-bucket", program.TokenBucket, []string{
		"local SCALE =", laterWrites + "local SCALE =", "redis.call('HSET'", "later('HSET'",
		"redis.call('PEXPIRE'", "later('PEXPIRE'", "return {'ALLOWED'", "return {writes, 'ALLOWED'"}},

	{faultless, "token-bucket", program.RateBatch, nil},
	{"a batch reads a state once for all of its decisions", "token-bucket", program.RateBatch, []string{
		"local function read(", "local seen = {}\nlocal function read(", "local flat = call('HGETALL', key)",
		"local flat = seen[key] or call('HGETALL', key)\n  seen[key] = flat"}},

	{faultless, slidingLog, program.SlidingLog, nil},
	{"one call more than the limit is allowed", slidingLog, program.SlidingLog, []string{
		"layer.live >= layer.limit", "layer.live > layer.limit"}},
	{"what the user's layer denies is charged to the tenant", slidingLog, program.SlidingLog, []string{
		"local status = 'DENIED'", "local status = 'DENIED'\nif inner and outer.live < outer.limit and retry > now then\n" +
			"  redis.call('ZADD', outer.key, digits(effective), string.format('%.0f-denied', effective))\nend"}},
	{"it reads, and writes in a second round trip", slidingLog, program.SlidingLog, []string{
		"local window =", laterWrites + "local window =", "redis.call('ZADD'", "later('ZADD'",
		"redis.call('ZREMRANGEBYSCORE'", "later('ZREMRANGEBYSCORE'", "redis.call('PEXPIRE'", "later('PEXPIRE'",
		"return reply\n", "if #writes > 0 then table.insert(reply, 1, writes) end\nreturn reply\n"}},
}

// text is the program with its fault.
func (s seed) text() (string, error) {
	text := s.program.Source
	for i := 0; i+1 < len(s.edits); i += 2 {
		if n := strings.Count(text, s.edits[i]); n != 1 {
			return "", fmt.Errorf("%q stands %d times in %s, want once", s.edits[i], n, s.program.ID())
		}
		text = strings.Replace(text, s.edits[i], s.edits[i+1], 1)
	}
	return text, nil
}

// TestChecker_findsTheFaultOfASeededProgram runs each program through one and the same client of the test's own, under
// one load: as it is, when its history must be explained, and with a fault, when the same checker must find that no
// order explains it.
func TestChecker_findsTheFaultOfASeededProgram(t *testing.T) {
	s := server.Start(t)
	found := 0
	for n, seed := range seeds {
		t.Run(seed.program.Name+"/"+seed.sentence, func(t *testing.T) {
			o, m := ordersFor(t, seededLoad, 80, seed.limiter), edgeModel
			if seed.limiter == slidingLog {
				o = dated(ordersFor(t, seededLoad, 240, slidingLog))
				first := compare(t, s)
				m = func() porcupine.Model { return datedLogModel(first.and(compare(t, s))) }
			}
			o.Seed, o.Prefix = n, fmt.Sprintf("seed-%d", n)
			made := run(t, o, everyProcessAt(s.Addr())...)
			if seed.sentence == faultless {
				expectLinearizable(t, m(), made)
				expectAnswers(t, made, seed.limiter)
				return
			}
			expectNotLinearizable(t, m(), made)
			found++
		})
	}
	if !t.Failed() {
		evidence.Record(t, "programs with a seeded fault that the checker found", "%d", found)
	}
}

// TestChecker_findsAClientThatSendsAgain has a client that sends a call once, and one that sends it again when its
// connection broke, run one program through faulty links: the second charges some calls twice.
func TestChecker_findsAClientThatSendsAgain(t *testing.T) {
	s := server.Start(t)
	for sentence, retries := range map[string]int{faultless: 0, "it sends again": 3} {
		t.Run(sentence, func(t *testing.T) {
			o := ordersFor(t, resendingLoad, 200, "fixed-window-long")
			o.Addr, o.Prefix, o.Retries = s.Addr(), fmt.Sprintf("retries-%d", retries), retries
			past, err := openSeeded(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			defer past.close()
			o.Timeout = faultyTimeout
			made := runWithFaults(t, s, past, o)
			if retries == 0 {
				expectFates(t, made, unknown)
				expectLinearizable(t, edgeModel(), made)
				return
			}
			expectFates(t, made)
			expectNotLinearizable(t, edgeModel(), made)
		})
	}
}

// expectNotLinearizable wants a history in which every call has its place, and no order of them.
func expectNotLinearizable(t *testing.T, m porcupine.Model, made []operation) {
	t.Helper()
	for _, o := range made {
		if o.Fate == wrong {
			t.Errorf("no history has %v", o)
		}
	}
	if verdict := linearizable(m, made); verdict != porcupine.Illegal {
		t.Errorf("the history is %s, want %s", verdict, porcupine.Illegal)
	}
}
