package coordination_test

import (
	"context"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/coordination"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

func TestResharding_isTriedAgainUntilTheKeysAreTogether(t *testing.T) {
	fake := redistest.StartFakes(t, 2)
	for name, config := range map[string]coordination.Config{"inbound": inboundConfig(fake.Addrs()...), "edge": edgeConfig(fake.Addrs()...)} {
		cluster := openReady(t, config)
		before := fake.Received("EVALSHA")
		expect(t, name, call(t, cluster, keyIn(1, 2)), "+OK")
		for _, node := range fake.Nodes {
			node.Answer("EVALSHA", 3, tryAgain)
		}
		expect(t, name, call(t, cluster, keyIn(0, 2)), "+OK")
		expect(t, name, call(t, cluster, keyIn(1, 2)), "+OK")
		if got := fake.Received("EVALSHA") - before; got != 9 {
			t.Errorf("%s: sent %d times, want 9", name, got)
		}
		if got, want := cluster.Stats().Resharding, (coordination.Resharding{Calls: 3, Met: 2}); got != want {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
}

// While keys go from one node to another, each try begins at the slot's owner.
func TestResharding_isTriedAgainWhereTheOwnerSends(t *testing.T) {
	fake := redistest.StartFakes(t, 2)
	cluster := openReady(t, inboundConfig(fake.Addrs()...))
	from, to := fake.Nodes[0], fake.Nodes[1]
	from.Answer("EVALSHA", 2, ask(to))
	to.Answer("EVALSHA", 1, tryAgain)
	expect(t, "the keys arrive", call(t, cluster, keyIn(0, 2)), "+OK")
	if a, b := from.Received("EVALSHA"), to.Received("EVALSHA"); a != 2 || b != 2 {
		t.Errorf("sent %d and %d times, want 2 and 2", a, b)
	}
	if got := to.Received("ASKING"); got != 2 {
		t.Errorf("asked %d times, want 2", got)
	}
	if got, want := cluster.Stats().Resharding, (coordination.Resharding{Calls: 1, Met: 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestResharding_endsWithTheBudgetAndIsCounted(t *testing.T) {
	fake := redistest.StartFakes(t, 1)
	inbound, edge := inboundConfig(fake.Addrs()...), edgeConfig(fake.Addrs()...)
	inbound.CommandTimeout, inbound.BreakerFailures = 2*time.Second, 1
	edge.AdmissionWait, edge.CommandTimeout, edge.BreakerFailures = 400*time.Millisecond, 3*time.Second, 1
	// The pauses are 2, 4, 8 and then 16 ms, so the budget bounds the tries, whatever the machine's pace.
	for name, row := range map[string]struct {
		config coordination.Config
		most   int
	}{"inbound, for three quarters of its budget": {inbound, 96}, "edge, for its admission wait": {edge, 28}} {
		cluster := openReady(t, row.config)
		before := fake.Received("EVALSHA")
		fake.Nodes[0].Answer("EVALSHA", -1, tryAgain)
		got := callWithin(t, 8*time.Second, cluster, "{a}", "{a}b")
		expect(t, name, got, "-TRYAGAIN Multiple keys request during rehashing of slot")
		if sent := fake.Received("EVALSHA") - before; sent > row.most {
			t.Errorf("%s: sent %d times, want %d at most", name, sent, row.most)
		}
		fake.Nodes[0].Heal()
		expect(t, name, cluster.Breaker(), "closed")
		expect(t, name, call(t, cluster, "{a}", "{a}b"), "+OK")
		if got, want := cluster.Stats().Resharding, (coordination.Resharding{Calls: 2, Met: 1, Refused: 1}); got != want {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
}

// A caller who leaves between two tries is told what is known: nothing ran.
func TestResharding_endsWithItsCaller(t *testing.T) {
	fake := redistest.StartFakes(t, 1)
	cluster := openReady(t, inboundConfig(fake.Addrs()...))
	fake.Nodes[0].Answer("EVALSHA", -1, tryAgain)
	ctx, leave := context.WithCancel(t.Context())
	answered := make(chan string)
	go func() {
		answered <- say(cluster.Dispatch(ctx, coordination.Call{Program: program.SlidingLog, Keys: [2]string{"a"}}))
	}()
	eventually(t, "try again", func() bool { return fake.Received("EVALSHA") > 3 })
	leave()
	got := <-answered
	// Gone while a try was under way, its caller cannot know that this one ran nothing either.
	if got != "unanswered" && got != "-TRYAGAIN Multiple keys request during rehashing of slot" {
		t.Errorf("got %q", got)
	}
	if breaker := cluster.Breaker(); breaker != "closed" {
		t.Errorf("the breaker is %s", breaker)
	}
}
