package history_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redislimit"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/rig"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/server"
)

const (
	faultyTimeout = 250 * time.Millisecond
	faultEvery    = 100 // commands, so that a slow server does not meet more of them
	lookEvery     = 10 * time.Millisecond
	outage        = 5 * lookEvery
)

// faultyLinks is a link a process, and what goes wrong on them until the test's load is over.
type faultyLinks struct {
	server server.Server
	links  []*redistest.Link
	addrs  []string
	set    int   // faults so far
	due    int64 // commands after which the next is set

	outages sync.WaitGroup
}

// out is an outage of one link.
func (l *faultyLinks) out(link *redistest.Link) {
	link.Refuse()
	link.Cut()
	l.outages.Add(1)
	time.AfterFunc(outage, func() { defer l.outages.Done(); link.Heal() })
}

// forgetScripts has the server forget its scripts. It is for any goroutine: who cannot be told ends no test.
func (l *faultyLinks) forgetScripts(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), healthyTimeout)
	defer cancel()
	if reply, err := (redistest.Witness{Addr: l.server.Addr()}).Ask(ctx, "SCRIPT", "FLUSH"); err != nil || reply != "OK" {
		t.Errorf("have the server forget its scripts: %v, %v", reply, err)
	}
}

func newFaultyLinks(t *testing.T, s server.Server) *faultyLinks {
	l := &faultyLinks{server: s}
	for range processes {
		link := redistest.NewLink(t, s.Addr())
		l.links, l.addrs = append(l.links, link), append(l.addrs, link.Addr())
	}
	return l
}

// during sets one fault after the other, on one link after the other, while a load runs.
func (l *faultyLinks) during(t *testing.T, load func()) {
	t.Helper()
	ctx, over := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				l.next(t)
			case <-ctx.Done():
				return
			}
		}
	}()
	defer func() { over(); <-ended; l.outages.Wait() }()
	load()
}

func (l *faultyLinks) next(t *testing.T) {
	var sent int64
	for _, link := range l.links {
		sent += link.Forwarded("")
	}
	if sent < l.due {
		return
	}
	l.due = sent + faultEvery
	kinds := l.kinds(t)
	kinds[l.set%len(kinds)](l.links[l.set/len(kinds)%len(l.links)])
	l.set++
}

// kinds are all that goes wrong, each on one link.
func (l *faultyLinks) kinds(t *testing.T) []func(*redistest.Link) {
	next := func(f redistest.Fault) func(*redistest.Link) {
		return func(l *redistest.Link) { l.Fault("EVALSHA", 1, f) }
	}
	return []func(*redistest.Link){
		next(redistest.LoseReply()), next(redistest.ResetBefore()), next(redistest.ResetAfter()), (*redistest.Link).Cut,
		next(redistest.HalfReply()), next(redistest.Delay(2 * lookEvery)), next(redistest.Silence()), next(redistest.Swallow()),
		func(*redistest.Link) { l.forgetScripts(t) },
		l.out,
	}
}

// expectEveryKind wants every kind of fault to have been set during the load.
func (l *faultyLinks) expectEveryKind(t *testing.T) {
	t.Helper()
	if least := len(l.kinds(t)); l.set < least {
		t.Errorf("%d faults during a load, want %d at least", l.set, least)
	}
}

func TestEdge_withAFaultyLinkIsOneSequence(t *testing.T) {
	s := server.Start(t)
	past := rig.New(t, s.Addr(), s, func(c *redislimit.Config) {
		c.Redis.CommandTimeout, c.Policies, c.Secret = healthyTimeout, policies(), keySecret()
	})
	o := ordersFor(t, edgeFaultsLoad, 600, "fixed-window-long", "sliding-window-counter-long", "token-bucket-long")
	o.Prefix, o.Timeout = past.Config.KeyPrefix, faultyTimeout
	first := compare(t, s)
	made := runWithFaults(t, s, edge{past.Provider}, o)
	first.and(compare(t, s)).expectDated(t, made)
	took := expectLinearizable(t, edgeModel(), made)
	expectCharged(t, made, "edge, faulty link", func(c call) int64 { return past.Charged(c.Limiter, c.Subject) })
	expectFates(t, made, unknown, refused)
	record(t, "edge, faulty link", made, took)
}

func TestLog_withAFaultyLinkIsOneSequence(t *testing.T) {
	s := server.Start(t)
	o := ordersFor(t, logFaultsLoad, 400, slidingLog)
	o.Addr = s.Addr()
	past, err := openLog(longLogWindow)(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer past.close()
	o.Timeout = faultyTimeout
	made := runWithFaults(t, s, past, o)
	took := expectLinearizable(t, countingLog(), made)
	calls := func(log string) int64 { return number(t, s.Do(t, "ZCARD", log)) }
	expectCharged(t, made, "sliding log, faulty link", func(c call) int64 { return calls(c.Subject) })
	expectBothCharged(t, made, calls)
	expectFates(t, made, unknown, refused)
	record(t, "sliding log, faulty link", made, took)
}

// runWithFaults runs a load through faulty links. Each state is used once before it and once after it, past them, so
// that it exists, and so that what unknown calls have come to shows at the end.
func runWithFaults(t *testing.T, s server.Server, past limiter, o orders) []operation {
	t.Helper()
	made := askEach(t, past, o)
	links := newFaultyLinks(t, s)
	ready := prepare(t, o, links.addrs...)
	links.during(t, func() { made = append(made, finish(t, ready)...) })
	links.expectEveryKind(t)
	return append(made, askEach(t, past, o)...)
}

// askEach asks once of each state that a load of turns uses; in a log once for the tenant and once for each user.
func askEach(t *testing.T, past limiter, o orders) []operation {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), longestRun)
	defer cancel()
	var made []operation
	for n := range o.Calls / o.Turn {
		for k := range subjects {
			of := inTurn(o, n, k)
			made = append(made, askOnce(ctx, t, past, of))
			for of.Limiter == slidingLog && of.User < users {
				of.User++
				made = append(made, askOnce(ctx, t, past, of))
			}
		}
	}
	return made
}

// askOnce makes a call of the test's own process, which must be answered.
func askOnce(ctx context.Context, t *testing.T, past limiter, c call) operation {
	t.Helper()
	asked := operation{Client: processes * clients, Call: c}
	asked.Start = clock()
	past.ask(ctx, &asked)
	asked.End = clock()
	if asked.Fate != answered {
		t.Fatalf("past the links, and %v", asked)
	}
	return asked
}

// expectFates wants enough calls of each of these fates to show something, most of all calls answered, and none wrong.
func expectFates(t *testing.T, made []operation, fates ...fate) {
	t.Helper()
	var counts [wrong + 1]int
	for _, o := range made {
		counts[o.Fate]++
	}
	for _, f := range fates {
		if counts[f] < fewest {
			t.Errorf("%d calls had fate %d, want %d at least", counts[f], f, fewest)
		}
	}
	if counts[answered] < len(made)/2 || counts[wrong] > 0 {
		t.Errorf("answered, unknown, refused and wrong are %v of %d", counts, len(made))
	}
}
