package history_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/evidence"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/rig"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/server"
)

// healthyTimeout is far more than a healthy server needs.
const healthyTimeout = 10 * time.Second

func ordersFor(t *testing.T, load string, calls int, limiters ...string) orders {
	return orders{
		Load: load, Protocol: rig.Protocol(t), Prefix: "history", Limiters: limiters, Clients: clients, Calls: calls, Turn: 20, Timeout: healthyTimeout,
	}
}

// everyProcessAt is one address a process.
func everyProcessAt(addr string) []string { return slices.Repeat([]string{addr}, processes) }

func TestEdge_ofManyProcessesIsOneSequenceWhileTimePasses(t *testing.T) {
	s := server.Start(t)
	for name, limiters := range map[string][]string{
		"in batches": {"fixed-window", "sliding-window-counter", "token-bucket"},
		"one by one": {"fixed-window-alone", "sliding-window-counter-alone", "token-bucket-alone"},
	} {
		t.Run(name, func(t *testing.T) {
			before := s.Calls(t, "evalsha")
			first := compare(t, s)
			made := run(t, ordersFor(t, edgeLoad, 450, limiters...), everyProcessAt(s.Addr())...)
			first.and(compare(t, s)).expectDated(t, made)
			commands := s.Calls(t, "evalsha") - before
			took := expectLinearizable(t, edgeModel(), made)
			expectAnswers(t, made, limiters...)
			expectGivenBack(t, made, limiters...)
			record(t, "edge, "+name+", windows that end", made, took)
			if together := float64(len(made)) / float64(commands); name == "in batches" {
				evidence.Record(t, "edge, in batches: decisions a command", "%.1f", together)
				if together < 1.5 {
					t.Errorf("%d calls were %d commands, want them together", len(made), commands)
				}
			}
		})
	}
}

func TestLog_ofManyProcessesIsOneSequence(t *testing.T) {
	s := server.Start(t)
	t.Run("while time passes", func(t *testing.T) {
		first := compare(t, s)
		made := run(t, dated(ordersFor(t, logLoad, 1200, slidingLog)), everyProcessAt(s.Addr())...)
		took := expectLinearizable(t, datedLogModel(first.and(compare(t, s))), made)
		expectAnswers(t, made, slidingLog)
		expectGivenBack(t, made, slidingLog)
		record(t, "sliding log, one and two layers, windows that end", made, took)
	})
	t.Run("in one window", func(t *testing.T) {
		o := ordersFor(t, logFaultsLoad, 400, slidingLog)
		o.Prefix = "hour" // the keys of the other run are not empty
		made := run(t, o, everyProcessAt(s.Addr())...)
		took := expectLinearizable(t, countingLog(), made)
		expectAnswers(t, made, slidingLog)
		record(t, "sliding log, one and two layers, one window", made, took)
	})
}

// dated are orders for a history whose instants the check must find: of two calls that wait long and at once, too many
// orders are possible for long, and a search among them has no end. So fewer clients ask.
func dated(o orders) orders {
	o.Clients, o.Turn = 5, o.Calls/4
	return o
}

// fewest is how many answers of a kind show something.
const fewest = 50

// expectAnswers wants every call answered, and by each limiter enough of both answers.
func expectAnswers(t *testing.T, made []operation, limiters ...string) {
	t.Helper()
	allowed, denied := map[string]int{}, map[string]int{}
	for _, o := range made {
		switch {
		case o.Fate != answered:
			t.Fatalf("a healthy server, and %v", o)
		case o.allowed():
			allowed[o.Call.Limiter]++
		default:
			denied[o.Call.Limiter]++
		}
	}
	for _, name := range limiters {
		if allowed[name] < fewest || denied[name] < fewest {
			t.Errorf("%s allowed %d and denied %d, want %d of each at least", name, allowed[name], denied[name], fewest)
		}
	}
}

// expectGivenBack wants each limiter to have allowed so much that time must have given back some of it.
func expectGivenBack(t *testing.T, made []operation, limiters ...string) {
	t.Helper()
	charged, states := map[string]int64{}, map[string]int64{}
	for _, sum := range sums(made) {
		charged[sum.call.Limiter] += sum.known
		states[sum.call.Limiter]++
	}
	for _, name := range limiters {
		limit := int64(tenantLimit)
		if name != slidingLog {
			limit = policyOf(name).Limit()
		}
		if charged[name] <= limit*states[name] {
			t.Errorf("%s charged %d on %d states, want more than their limits of %d", name, charged[name], states[name], limit)
		}
	}
}

// record keeps what a history was and how long its check took.
func record(t *testing.T, name string, made []operation, took time.Duration) {
	t.Helper()
	var counts [wrong + 1]int
	asked, from, states, allowed := map[int]bool{}, map[int]bool{}, map[string]bool{}, 0
	for _, o := range made {
		counts[o.Fate]++
		asked[o.Client], from[o.Client/clients], states[o.Call.state()] = true, true, true
		if o.allowed() {
			allowed++
		}
	}
	text := fmt.Sprintf("%d operations of %d clients in %d processes on %d states: %d allowed, %d denied, %d unknown, %d refused; checked in %d ms",
		len(made), len(asked), len(from), len(states), allowed, counts[answered]-allowed, counts[unknown], counts[refused], took.Milliseconds())
	t.Log(name+":", text)
	evidence.Record(t, name, "%s", text)
}

func number(t *testing.T, v any) int64 {
	t.Helper()
	n, err := strconv.ParseInt(fmt.Sprint(v), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
