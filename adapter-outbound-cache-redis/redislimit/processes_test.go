package redislimit_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redislimit"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// What a test hands to the processes that it starts: the server, the policy and
// the subject.
const processVariable = "EDGELIMIT_TEST_PROCESS"

const (
	sharedLimit      = 1000
	processes        = 2
	processCallers   = 64
	callsPerCaller   = 20
	processCallLimit = 30 * time.Second
)

// sharedPolicies free nothing while a test runs, but at a window's end.
func sharedPolicies() map[string]ratelimit.Algorithm {
	return map[string]ratelimit.Algorithm{
		"fixed-window":           ratelimit.FixedWindow{Limit: sharedLimit, Window: 24 * time.Hour},
		"sliding-window-counter": ratelimit.SlidingWindowCounter{Limit: sharedLimit, Window: 24 * time.Hour},
		"token-bucket":           ratelimit.TokenBucket{Capacity: sharedLimit, RefillTokens: 1, RefillPeriod: 8 * time.Hour},
	}
}

// evaluateInProcess is the main of a started process. It prints its process id,
// how many calls it was allowed, the first and last reset-at and how many calls
// were neither allowed nor denied.
func evaluateInProcess(orders string) int {
	words := strings.Fields(orders)
	addr, id, who := words[0], words[1], words[2]
	p, err := ratelimit.NewPolicy(ratelimit.PolicyConfig{
		ID: id, Revision: 1, Algorithm: sharedPolicies()[id], MaxCost: 1, FailureMode: ratelimit.FailClosed,
		CleanupGrace: 30 * time.Second, MaxClockRegression: 2 * time.Second,
	})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	c := configFor(addr, []ratelimit.Policy{p})
	c.Redis.MaxInFlight, c.Redis.AdmissionWait, c.Redis.CommandTimeout = processCallers, 10*time.Second, 10*time.Second
	provider, err := redislimit.Open(c)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer func() { _ = provider.Close() }()
	tally := tallyOf(provider, id, who)
	fmt.Printf("%d %d %d %d %d\n", os.Getpid(), tally.allowed, tally.firstReset, tally.lastReset, tally.failed)
	return 0
}

type tally struct {
	allowed, failed       int64
	firstReset, lastReset int64
}

func tallyOf(port ratelimit.EdgeRateLimitPort, id, who string) tally {
	ctx, cancel := context.WithTimeout(context.Background(), processCallLimit)
	defer cancel()
	var mu sync.Mutex
	var all tally
	var callers sync.WaitGroup
	for range processCallers {
		callers.Go(func() {
			for range callsPerCaller {
				o := port.Evaluate(ctx, ratelimit.Request{PolicyID: id, SubjectDigest: who, Cost: 1})
				mu.Lock()
				all.add(o)
				mu.Unlock()
			}
		})
	}
	callers.Wait()
	return all
}

func (all *tally) add(o ratelimit.Outcome) {
	if o.Kind() != ratelimit.KindEvaluated {
		all.failed++
		return
	}
	if o.Allows() {
		all.allowed++
	}
	reset := ratelimit.Match(o, func(e ratelimit.Evaluated) int64 { return e.Decision.ResetAtMillis },
		func(ratelimit.Unavailable) int64 { return 0 }, func(ratelimit.Indeterminate) int64 { return 0 },
		func(ratelimit.Incompatible) int64 { return 0 })
	if all.firstReset == 0 || reset < all.firstReset {
		all.firstReset = reset
	}
	all.lastReset = max(all.lastReset, reset)
}

// TestProcesses_twoAdmitExactlyTheLimit starts this test binary twice. An
// attempt in which a window ended, which its reset-at tells, is made again.
func TestProcesses_twoAdmitExactlyTheLimit(t *testing.T) {
	server := redistest.Start(t)
	for id := range sharedPolicies() {
		t.Run(id, func(t *testing.T) {
			for attempt := 1; ; attempt++ {
				first, last, admitted, failed := int64(0), int64(0), int64(0), int64(0)
				for _, line := range startProcesses(t, server.Addr(), id, subject()) {
					words := strings.Fields(line)
					numbers := make([]int64, len(words))
					for i, word := range words {
						n, err := strconv.ParseInt(word, 10, 64)
						if err != nil {
							t.Fatalf("a process printed %q", line)
						}
						numbers[i] = n
					}
					t.Logf("pid %d admitted %d", numbers[0], numbers[1])
					admitted += numbers[1]
					if first == 0 || numbers[2] < first {
						first = numbers[2]
					}
					last, failed = max(last, numbers[3]), failed+numbers[4]
				}
				if failed != 0 {
					t.Fatalf("%d calls were not decided", failed)
				}
				if id != "token-bucket" && first != last && attempt < 3 {
					t.Logf("a window ended: reset-at went from %d to %d", first, last)
					continue
				}
				if admitted != sharedLimit {
					t.Errorf("%d admitted by %d processes, want %d", admitted, processes, sharedLimit)
				}
				return
			}
		})
	}
}

// startProcesses runs the processes side by side and returns what each printed.
func startProcesses(t *testing.T, addr, id, who string) []string {
	t.Helper()
	printed := make([]string, processes)
	var all sync.WaitGroup
	for i := range processes {
		cmd := exec.Command(os.Args[0], "-test.run=^$")
		cmd.Env = append(os.Environ(), processVariable+"="+strings.Join([]string{addr, id, who}, " "))
		all.Go(func() {
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("process: %v: %s", err, out)
			}
			printed[i] = strings.TrimSpace(string(out))
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return printed
}
