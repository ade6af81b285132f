package duallog_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/duallog"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

// What a test hands to the processes that it starts: the server, the tenant's key,
// its limit and each user's.
const processVariable = "EDGELIMIT_TEST_PROCESS"

const (
	processes      = 2
	processCallers = 100
	processUsers   = 10
	callsPerCaller = 4
)

// callInProcess is the main of a started process. It prints its process id, how
// many calls it was allowed, and how many were not decided.
func callInProcess(orders string) int {
	words := strings.Fields(orders)
	tenantLimit, err := strconv.Atoi(words[2])
	if err != nil {
		fmt.Println(err)
		return 1
	}
	userLimit, err := strconv.Atoi(words[3])
	if err != nil {
		fmt.Println(err)
		return 1
	}
	c := configFor(words[0], time.Hour)
	c.Redis.CommandTimeout, c.Redis.MaxInFlight = time.Minute, 16
	limiter, err := duallog.Open(c)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer func() { _ = limiter.Close() }()
	if err := meet(words[0], words[1]); err != nil {
		fmt.Println(err)
		return 1
	}
	var allowed, failed atomic.Int64
	var callers sync.WaitGroup
	for n := range processCallers {
		user := fmt.Sprintf("%s:user:%d", words[1], n%processUsers)
		callers.Go(func() {
			for range callsPerCaller {
				ok, _, _, err := limiter.Dual().AllowDual(words[1], tenantLimit, user, userLimit)
				if err != nil {
					failed.Add(1)
				}
				if ok {
					allowed.Add(1)
				}
			}
		})
	}
	callers.Wait()
	fmt.Printf("%d %d %d\n", os.Getpid(), allowed.Load(), failed.Load())
	return 0
}

// meet waits until all processes have come to begin together.
func meet(addr, word string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	client := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, DisableIdentity: true})
	defer func() { _ = client.Close() }()
	arrived, err := client.Incr(ctx, "meet:"+word).Result()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for ; err == nil && arrived < processes; <-tick.C {
		arrived, err = client.Get(ctx, "meet:"+word).Int64()
	}
	return err
}

// TestProcesses_twoAdmitExactlyWhatTheTenantAndItsUsersMay starts this test binary
// twice: two hundred callers of one tenant and ten users, side by side.
func TestProcesses_twoAdmitExactlyWhatTheTenantAndItsUsersMay(t *testing.T) {
	server := redistest.Start(t)
	for sentence, row := range map[string]struct{ tenantLimit, userLimit int }{
		"the tenant's limit binds": {237, 40},
		"the users' limits bind":   {371, 37},
	} {
		t.Run(sentence, func(t *testing.T) {
			who := newSubject()
			orders := fmt.Sprintf("%s %s %d %d", server.Addr(), who.tenant, row.tenantLimit, row.userLimit)
			admitted := 0
			for _, line := range startProcesses(t, orders) {
				var pid, allowed, failed int
				if _, err := fmt.Sscan(line, &pid, &allowed, &failed); err != nil {
					t.Fatalf("a process printed %q", line)
				}
				t.Logf("pid %d admitted %d", pid, allowed)
				admitted += allowed
				if failed != 0 {
					t.Errorf("%d calls were not decided", failed)
				}
			}
			if want := min(row.tenantLimit, processUsers*row.userLimit); admitted != want {
				t.Errorf("%d admitted by %d processes, want %d", admitted, processes, want)
			}
			sum := 0
			for n := range processUsers {
				held := cardinality(t, server, fmt.Sprintf("%s:user:%d", who.tenant, n))
				if sum += held; held > row.userLimit {
					t.Errorf("user %d was counted %d times, want %d at most", n, held, row.userLimit)
				}
			}
			if held := cardinality(t, server, who.tenant); held != admitted || sum != admitted {
				t.Errorf("the tenant was counted %d times and its users %d, want %d", held, sum, admitted)
			}
		})
	}
}

// startProcesses runs the processes side by side and returns what each printed.
func startProcesses(t *testing.T, orders string) []string {
	t.Helper()
	printed := make([]string, processes)
	var all sync.WaitGroup
	for i := range processes {
		cmd := exec.Command(os.Args[0], "-test.run=^$")
		cmd.Env = append(os.Environ(), processVariable+"="+orders)
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
