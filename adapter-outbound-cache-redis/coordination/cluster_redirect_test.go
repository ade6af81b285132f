package coordination_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/coordination"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

func moved(to *redistest.FakeNode) string { return "-MOVED 1 " + to.Addr() + "\r\n" }
func ask(to *redistest.FakeNode) string   { return "-ASK 1 " + to.Addr() + "\r\n" }

const tryAgain = "-TRYAGAIN Multiple keys request during rehashing of slot\r\n"

func TestFollow_redirectionsOfACall(t *testing.T) {
	type nodes = []*redistest.FakeNode
	for _, row := range []struct {
		sentence string
		script   func(n nodes)
		want     string
		sent     []int // to each node
		asked    int   // ASKING, to all of them
	}{
		{"the owner answers", func(n nodes) {}, "+OK", []int{1, 0, 0}, 0},
		{"MOVED is followed", func(n nodes) { n[0].Answer("EVALSHA", 1, moved(n[1])) }, "+OK", []int{1, 1, 0}, 0},
		{"ASK is followed", func(n nodes) { n[0].Answer("EVALSHA", 1, ask(n[2])) }, "+OK", []int{1, 0, 1}, 1},
		{"MOVED, then ASK", func(n nodes) {
			n[0].Answer("EVALSHA", 1, moved(n[1]))
			n[1].Answer("EVALSHA", 1, ask(n[2]))
		}, "+OK", []int{1, 1, 1}, 1},
		{"ASK, then MOVED back", func(n nodes) {
			n[0].Answer("EVALSHA", 1, ask(n[1]))
			n[1].Answer("EVALSHA", 1, moved(n[0]))
		}, "+OK", []int{2, 1, 0}, 1},
		{"a circle ends", func(n nodes) {
			n[0].Answer("EVALSHA", -1, moved(n[1]))
			n[1].Answer("EVALSHA", -1, moved(n[0]))
		}, "MOVED", []int{3, 2, 0}, 0},
		{"a redirection to nowhere is not followed", func(n nodes) { n[0].Answer("EVALSHA", 1, "-MOVED 1 ?:0\r\n") }, "-MOVED 1 ?:0", []int{1, 0, 0}, 0},
		{"another error is not sent again", func(n nodes) { n[0].Answer("EVALSHA", 1, "-CLUSTERDOWN down\r\n") }, "-CLUSTERDOWN down", []int{1, 0, 0}, 0},
		{"LOADING is not sent elsewhere", func(n nodes) { n[0].Answer("EVALSHA", 1, "-LOADING wait\r\n") }, "-LOADING wait", []int{1, 0, 0}, 0},
		{"a lost reply is not sent again, to no node", func(n nodes) { n[0].Answer("EVALSHA", 1, "") }, "unanswered", []int{1, 0, 0}, 0},
		{"a reply that is lost after MOVED", func(n nodes) {
			n[0].Answer("EVALSHA", 1, moved(n[1]))
			n[1].Answer("EVALSHA", 1, "")
		}, "unanswered", []int{1, 1, 0}, 0},
		{"a reply that is lost after ASK", func(n nodes) {
			n[0].Answer("EVALSHA", 1, ask(n[1]))
			n[1].Answer("EVALSHA", 1, "")
		}, "unanswered", []int{1, 1, 0}, 1},
		{"a reply that is lost after TRYAGAIN", func(n nodes) {
			n[0].Answer("EVALSHA", 1, tryAgain)
			n[0].Answer("EVALSHA", 1, "")
		}, "unanswered", []int{2, 0, 0}, 0},
	} {
		t.Run(row.sentence, func(t *testing.T) {
			fake := redistest.StartFakes(t, 3)
			for name, config := range map[string]coordination.Config{"inbound": inboundConfig(fake.Addrs()...), "edge": edgeConfig(fake.Addrs()...)} {
				cluster := openReady(t, config)
				before, asked := sent(fake), fake.Received("ASKING")
				row.script(fake.Nodes)
				got := call(t, cluster, keyIn(0, 3))
				if row.want == "MOVED" {
					row.want = fmt.Sprintf("-MOVED 1 %s", fake.Nodes[1].Addr())
				}
				expect(t, name, got, row.want)
				for i, n := range sent(fake) {
					if n -= before[i]; n != row.sent[i] {
						t.Errorf("%s: node %d was sent the call %d times, want %d", name, i, n, row.sent[i])
					}
				}
				if asked = fake.Received("ASKING") - asked; asked != row.asked {
					t.Errorf("%s: asked %d times, want %d", name, asked, row.asked)
				}
				if got := cluster.Breaker(); got != "closed" {
					t.Errorf("%s: the breaker is %s", name, got)
				}
				for _, node := range fake.Nodes {
					node.Heal()
				}
			}
		})
	}
}

// ASKING lets one command through, so each command of an asked call has its own.
func TestFollow_askingGoesBeforeEachCommand(t *testing.T) {
	fake := redistest.StartFakes(t, 2)
	cluster := openReady(t, inboundConfig(fake.Addrs()...))
	from, to := fake.Nodes[0], fake.Nodes[1]
	calls := func() []string {
		return slices.DeleteFunc(to.Log(), func(name string) bool {
			return name != "ASKING" && name != "EVALSHA" && name != "EVAL"
		})
	}
	before := len(calls())
	from.Answer("EVALSHA", 1, ask(to))
	to.Answer("EVALSHA", 1, "-NOSCRIPT none\r\n")
	expect(t, "asked", call(t, cluster, keyIn(0, 2)), "+OK")
	if got, want := calls()[before:], []string{"ASKING", "EVALSHA", "ASKING", "EVAL"}; !slices.Equal(got, want) {
		t.Errorf("the asked node was sent %v, want %v", got, want)
	}
	expect(t, "not asked", call(t, cluster, keyIn(1, 2)), "+OK")
	if got, want := calls()[before+4:], []string{"EVALSHA"}; !slices.Equal(got, want) {
		t.Errorf("a call of its own slot: the node was sent %v, want %v", got, want)
	}
}

// What becomes of ASKING runs nothing, so the call goes on or is refused.
func TestFollow_askingThatFailsChargesNobody(t *testing.T) {
	for _, row := range []struct {
		sentence, reply, want string
		sent                  int
	}{
		{"its reply is lost", "", "+OK", 1},
		{"it is refused", "-NOPERM no right to ASKING\r\n", "-NOPERM no right to ASKING", 0},
	} {
		fake := redistest.StartFakes(t, 2)
		cluster := openReady(t, inboundConfig(fake.Addrs()...))
		fake.Nodes[0].Answer("EVALSHA", 1, ask(fake.Nodes[1]))
		fake.Nodes[1].Answer("ASKING", 1, row.reply)
		expect(t, row.sentence, call(t, cluster, keyIn(0, 2)), row.want)
		if got := fake.Nodes[1].Received("EVALSHA"); got != row.sent {
			t.Errorf("%s: the call was sent %d times, want %d", row.sentence, got, row.sent)
		}
	}
}

func TestDispatch_refusesKeysOfSeveralSlots(t *testing.T) {
	fake := redistest.StartFakes(t, 2)
	cluster := openReady(t, inboundConfig(fake.Addrs()...))
	expect(t, "two slots", call(t, cluster, "{a}", "{b}"), "refused program")
	expect(t, "no key", call(t, cluster), "refused program")
	expect(t, "one slot", call(t, cluster, "{a}", "{a}:user:b"), "+OK")
	if got := fake.Received("EVALSHA"); got != 1 {
		t.Errorf("%d calls were sent, want 1", got)
	}
}

func TestDispatch_aSlotThatNobodyServesCostsNoCommand(t *testing.T) {
	fake := redistest.StartFakes(t, 2)
	fake.Give(nil, 0, coordination.Slots/2-1)
	cluster, err := coordination.OpenCluster(inboundConfig(fake.Nodes[1].Addr()), verifierAt)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cluster.Close() }()
	if err := cluster.AwaitFirstAttempt(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		expect(t, "nobody's", call(t, cluster, keyIn(0, 2)), "refused server")
	}
	expect(t, "the other node's", call(t, cluster, keyIn(1, 2)), "+OK")
	if got := fake.Received("EVALSHA"); got != 1 {
		t.Errorf("%d calls were sent, want 1", got)
	}
	fake.Give(fake.Nodes[0], 0, coordination.Slots/2-1)
	eventually(t, "find the node that serves it now", func() bool { return call(t, cluster, keyIn(0, 2)) == "+OK" })
}

func TestDispatch_cancelledAndWithoutADeadline(t *testing.T) {
	fake := redistest.StartFakes(t, 1)
	long := coordination.Call{Program: program.SlidingLog, Keys: [2]string{"a"}}
	edge, inbound := openReady(t, edgeConfig(fake.Addrs()...)), openReady(t, inboundConfig(fake.Addrs()...))
	expect(t, "an edge call without a deadline", say(edge.Dispatch(t.Context(), long)), "refused deadline")
	expect(t, "an inbound call without a deadline", say(inbound.Dispatch(t.Context(), long)), "+OK")
	if got := fake.Received("EVALSHA"); got != 1 {
		t.Errorf("%d calls were sent, want 1", got)
	}
}
