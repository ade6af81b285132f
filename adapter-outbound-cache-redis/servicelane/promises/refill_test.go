package promises_test

import (
	"context"
	"fmt"
	"math/big"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program/programtest"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/evidence"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/server"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// A drip is a run of the token bucket's text many times in one call, a millisecond apart. ARGV are what the policy
// fixes, then how many of them there are, the first instant, and one cost a step. It answers two numbers a step: what
// remains, or the wait below zero where it is denied, and the time to reset.
const (
	dripHead = `
local fixed, now = tonumber(table.remove(ARGV, 1)), tonumber(table.remove(ARGV, 1))
local server, cell = redis, redis.call('HGETALL', KEYS[1])
`
	// dripInLua keeps the state between steps as the texts that the program wrote; the key has it after the call.
	dripInLua = `
local redis = {call = function(command, key, ...)
  if command == 'TYPE' then return #cell > 0 and 'hash' or 'none' end
  if command == 'HGETALL' then return cell end
  if command == 'HSET' then cell = {...} end
end}
`
	dripTail = `
local argv, answers = {}, {}
for i = 1, fixed do argv[i] = ARGV[i] end
for i = fixed + 1, #ARGV do
  argv[fixed + 1] = ARGV[i]
  local r = decide(now, argv)
  answers[#answers + 1] = r[1] == 'ALLOWED' and r[5] or -r[6]
  answers[#answers + 1] = r[7] - now
  now = now + 1
end
if server ~= redis then server.call('HSET', KEYS[1], unpack(cell)) end
server.call('PEXPIRE', KEYS[1], '3600000')
return answers
`
)

func dripText(storage string) string {
	return dripHead + storage + "local function decide(now, ARGV)\n" + program.WithClock(program.TokenBucket, "").Source + "\nend\n" + dripTail
}

// drip is a bucket that is asked every millisecond for what it should hold by then, counted exactly: never is anything
// divided but for the answer.
type drip struct {
	*scene
	policy                   ratelimit.Policy
	capacity, refill, period int64
	sha, key                 string
	elapsed, spent           int64 // milliseconds and tokens since the bucket was empty
	denied                   int
}

// held is what the bucket holds, in 1/period of a thousandth.
func (d *drip) held() int64 {
	return d.elapsed*d.refill*ratelimit.TokenScale - d.spent*ratelimit.TokenScale*d.period
}

// token is a whole one in that unit.
func (d *drip) token() int64 { return ratelimit.TokenScale * d.period }

// wait is the time until it holds so much.
func (d *drip) wait(much int64) int64 {
	rate := d.refill * ratelimit.TokenScale
	return (much - d.held() + rate - 1) / rate
}

const (
	dripsPerCall = 2500 // for some 20 ms, in which the server serves nobody else
	dripBegan    = programtest.StateNowMillis
)

// run takes steps, each compared with what is exact, and then the state that is stored.
func (d *drip) run(steps int) {
	d.Helper()
	fixed := program.PolicyArgs(d.policy)
	argv := append([]string{fmt.Sprint(len(fixed)), programtest.Decimal(dripBegan + d.elapsed + 1)}, fixed...)
	want := make([]int64, 0, 2*steps)
	for range steps {
		d.elapsed++
		cost := max(1, d.held()/d.token())
		argv = append(argv, programtest.Decimal(cost))
		if answer := d.wait(cost * d.token()); answer > 0 {
			d.denied++
			want = append(want, -answer)
		} else {
			d.spent += cost
			want = append(want, d.held()/d.token())
		}
		want = append(want, d.wait(d.capacity*d.token()))
	}
	got, err := d.client.Do(context.Background(), programtest.Command("EVALSHA", d.sha, []string{d.key}, argv)...).Int64Slice()
	if err != nil || len(got) != len(want) {
		d.Fatalf("%d answers of %d: %v", len(got), len(want), err)
	}
	for i := range want {
		if got[i] != want[i] {
			d.Fatalf("%d tokens in %d ms: step %d is answered %v, exact is %v", d.refill, d.period,
				d.elapsed-int64(steps-i/2-1), got[i&^1:i|1+1], want[i&^1:i|1+1])
		}
	}
	d.demandExactState()
}

// demandExactState compares tokens and remainder with the rational number that the bucket should hold at the last write.
func (d *drip) demandExactState() {
	d.Helper()
	stored := d.client.HGetAll(context.Background(), d.key).Val()
	number := func(name string) *big.Int {
		n, ok := new(big.Int).SetString(stored[name], 10)
		if !ok {
			d.Fatalf("stored %v has no number %s", stored, name)
		}
		return n
	}
	since := new(big.Int).Sub(number("observed"), big.NewInt(dripBegan))
	exact := new(big.Rat).SetFrac(new(big.Int).Mul(since, big.NewInt(d.refill*ratelimit.TokenScale)), big.NewInt(d.period))
	exact.Sub(exact, new(big.Rat).SetInt64(d.spent*ratelimit.TokenScale))
	got := new(big.Rat).SetFrac(number("remainder"), big.NewInt(d.period))
	if got.Add(got, new(big.Rat).SetInt(number("tokens"))).Cmp(exact) != 0 {
		d.Fatalf("%d tokens in %d ms, after %d steps: stored %v, which is %v thousandths; exact is %v",
			d.refill, d.period, d.elapsed, stored, got, exact)
	}
}

// TestRefill_losesNothingOverMillionsOfSteps asks buckets whose rate no decimal writes down, every millisecond: what a
// refill's division leaves over is there at the next, for as long as anybody asks.
func TestRefill_losesNothingOverMillionsOfSteps(t *testing.T) {
	t.Parallel()
	at := server.Shared(t)
	for _, row := range []struct {
		sentence        string
		storage         string
		refill, period  int64
		steps, leastDue int
	}{
		{"seven thirds of a token a millisecond", dripInLua, 7, 3, 1_000_000, 0},
		{"less than a token a millisecond, by primes", dripInLua, 99_991, 104_729, 1_000_000, 40_000},
		{"more than a token a millisecond, each step stored by the server", "", 104_729, 99_991, 100_000, 0},
	} {
		t.Run(row.sentence, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, at)
			const capacity = 1000
			a := ratelimit.TokenBucket{Capacity: capacity, RefillTokens: row.refill, RefillPeriod: time.Duration(row.period) * time.Millisecond}
			d := &drip{
				scene: s, policy: programtest.Policy(t, a), capacity: capacity, refill: row.refill, period: row.period,
				sha: s.load(dripText(row.storage)), key: s.key("bucket"),
			}
			empty := append(program.PolicyArgs(d.policy), programtest.Decimal(capacity), programtest.Decimal(dripBegan))
			timed := program.WithClock(program.TokenBucket, programtest.SetClock)
			if got := programtest.Eval(t, s.client, timed, []string{d.key}, empty...); got[0] != "ALLOWED" {
				t.Fatalf("empty the bucket: %v", got)
			}
			for d.elapsed < int64(row.steps) {
				d.run(dripsPerCall)
			}
			if d.denied < row.leastDue {
				t.Errorf("%d steps were denied, want %d and more", d.denied, row.leastDue)
			}
			evidence.Record(t, "refills of "+row.sentence, "%d steps of 1 ms, %d tokens, exact to the last remainder", d.elapsed, d.spent)
		})
	}
}

// load makes a text known to the server and answers its SHA.
func (s *scene) load(text string) string {
	s.Helper()
	sha := redis.NewScript(text).Hash()
	if loaded, err := s.client.ScriptLoad(context.Background(), text).Result(); err != nil || loaded != sha {
		s.Fatalf("load a script: %s, %v", loaded, err)
	}
	return sha
}
