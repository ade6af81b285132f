package ablation_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/edgelimit/edgelimit/bench/internal/ablation"
	"github.com/edgelimit/edgelimit/bench/internal/contender"
	"github.com/edgelimit/edgelimit/bench/internal/server"
)

func start(t *testing.T) (*server.Server, *redis.Client) {
	t.Helper()
	s, err := server.Start(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(&redis.Options{Addr: s.Addr()})
	t.Cleanup(func() { _, _ = client.Close(), s.Close() })
	return s, client
}

// answerOf runs a script on these keys.
func answerOf(t *testing.T, client *redis.Client, s ablation.Script, keys ...string) []any {
	t.Helper()
	args := make([]any, len(s.Args))
	for i, arg := range s.Args {
		args[i] = arg
	}
	reply, err := client.Eval(context.Background(), s.Source, keys, args...).Slice()
	if err != nil {
		t.Fatalf("%s: %v", s.Name, err)
	}
	return reply
}

func TestOf_isTheProgramThatTheProviderSends(t *testing.T) {
	s, client := start(t)
	for _, c := range contender.Edgelimit(contender.Allowed) {
		whole, err := ablation.Of(t.Context(), s, c, ablation.Single)
		if err != nil {
			t.Fatal(err)
		}
		if whole.Keys != 1 || !strings.Contains(whole.Source, ", version 1") {
			t.Errorf("%s: overheard %+v", c.Name, whole)
		}
		batch, err := ablation.Of(t.Context(), s, c, ablation.Batch)
		if err != nil {
			t.Fatal(err)
		}
		three := batch.Sized(3)
		if got := answerOf(t, client, three, "a", "b", "c"); len(got) != 3 {
			t.Errorf("%s: a batch of three answers %v", c.Name, got)
		}
		if !slices.Equal(three.Args[:len(three.Args)-3], whole.Args[:len(whole.Args)-1]) {
			t.Errorf("%s: the batch is called with %q, one decision with %q", c.Name, three.Args, whole.Args)
		}
	}
}

// TestSteps_eachOneGivesOneCommandMore has the commands that a program has given by
// the end of each step.
func TestSteps_eachOneGivesOneCommandMore(t *testing.T) {
	s, client := start(t)
	commands := []string{"", "time", "time", "time", "time type", "hgetall time type", "hgetall time type", "hgetall time type",
		"hgetall hset time type", "hgetall hset pexpire time type"}
	for _, c := range contender.Edgelimit(contender.Allowed) {
		whole, err := ablation.Of(t.Context(), s, c, ablation.Single)
		if err != nil {
			t.Fatal(err)
		}
		answerOf(t, client, whole, c.Name)
		steps, err := ablation.Steps(whole)
		if err != nil {
			t.Fatal(err)
		}
		if len(steps) != len(commands) || steps[len(steps)-1].Source != whole.Source {
			t.Fatalf("%s: %d steps, want %d and the last one whole", c.Name, len(steps), len(commands))
		}
		for i, step := range steps {
			before := bill(t, s)
			if got := answerOf(t, client, step, c.Name); len(got) != 7 || got[0] != "ALLOWED" {
				t.Errorf("%s, %s: answers %v", c.Name, step.Name, got)
			}
			if got := given(bill(t, s).Since(before)); got != commands[i] {
				t.Errorf("%s, %s: gave %q, want %q", c.Name, step.Name, got, commands[i])
			}
		}
	}
}

func TestOverhear_hearsWordsAsTheyWereSaid(t *testing.T) {
	s, client := start(t)
	odd := "a \"quoted\" word\r\n\x00\xff, and 'more'] [0 lua] "
	calls, err := ablation.Overhear(t.Context(), s.Addr(), func() error {
		return client.Eval(t.Context(), "return redis.call('INCR', KEYS[1])", []string{odd}, "").Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"eval", "return redis.call('INCR', KEYS[1])", "1", odd, ""}
	if len(calls) == 0 || !slices.Equal(calls[len(calls)-1], want) {
		t.Errorf("got %q, want %q and no more", calls, want)
	}
	heard, err := ablation.Heard(calls, ablation.Single)
	if err != nil || heard.Source != want[1] || !slices.Equal(heard.Args, want[4:]) {
		t.Errorf("the script is %+v, %v", heard, err)
	}
	if _, err := ablation.Heard(calls, ablation.Batch); err == nil {
		t.Error("a script of several keys was heard, want an error")
	}
}

func TestSteps_aProgramThatIsNoLongerSoIsRefused(t *testing.T) {
	if got, err := ablation.Steps(ablation.Script{Source: "return 1"}); err == nil {
		t.Errorf("got %v, want an error", got)
	}
	if got, err := ablation.Savings(ablation.Script{Source: "return 1"}); err == nil {
		t.Errorf("got %v, want an error", got)
	}
}

// pinned is a program whose clock stands still.
func pinned(t *testing.T, s ablation.Script, seconds string) ablation.Script {
	t.Helper()
	const clock = "local time = redis.call('TIME')"
	if !strings.Contains(s.Source, clock) {
		t.Fatalf("%s reads no clock by %s", s.Name, clock)
	}
	s.Source = strings.Replace(s.Source, clock, "local time = {'"+seconds+"', '123456'}", 1)
	return s
}

// outcome is what a script answers about a key twice, the second time a second later,
// and what the key holds after that.
func outcome(t *testing.T, client *redis.Client, s ablation.Script, plant func(key string)) string {
	t.Helper()
	const key = "key"
	client.Del(t.Context(), key)
	plant(key)
	first := answerOf(t, client, pinned(t, s, "1764667000"), key)
	second := answerOf(t, client, pinned(t, s, "1764667001"), key)
	return fmt.Sprint(first, second, client.Type(t.Context(), key).Val(), client.HGetAll(t.Context(), key).Val(), client.TTL(t.Context(), key).Val() > 0)
}

func TestSavings_answerAndWriteAsTheWholeDoes(t *testing.T) {
	s, client := start(t)
	ctx := t.Context()
	for _, c := range contender.Edgelimit(contender.Allowed) {
		whole, err := ablation.Of(ctx, s, c, ablation.Single)
		if err != nil {
			t.Fatal(err)
		}
		savings, err := ablation.Savings(whole)
		if err != nil {
			t.Fatal(err)
		}
		alike := func(says, status string, plant func(key string)) {
			t.Helper()
			want := outcome(t, client, whole, plant)
			if !strings.HasPrefix(want, "["+status+" ") {
				t.Errorf("%s, %s: the whole program says %s, want %s", c.Name, says, want, status)
			}
			for _, saving := range savings {
				if got := outcome(t, client, saving, plant); got != want {
					t.Errorf("%s, %s, %s:\n%s, want\n%s", c.Name, saving.Name, says, got, want)
				}
			}
		}
		answerOf(t, client, pinned(t, whole, "1764667000"), c.Name)
		sound := client.HGetAll(ctx, c.Name).Val()
		alike("a fresh key", "ALLOWED", func(string) {})
		alike("a state", "ALLOWED", func(key string) { client.HSet(ctx, key, sound) })
		alike("a string", "STATE_INCOMPATIBLE", func(key string) { client.Set(ctx, key, "1", 0) })
		alike("another hash", "STATE_INCOMPATIBLE", func(key string) { client.HSet(ctx, key, "schema", "1") })
		for field := range sound {
			for _, text := range []string{"", "x", "1x", "-1", "1.5", "1e3", " 1", "01", "00", "9007199254740992", "12345678901234567"} {
				alike(fmt.Sprintf("%s is %q", field, text), "STATE_INCOMPATIBLE", func(key string) {
					client.HSet(ctx, key, sound)
					client.HSet(ctx, key, field, text)
				})
			}
		}
		alike("observed is 0", "ALLOWED", func(key string) {
			client.HSet(ctx, key, sound)
			client.HSet(ctx, key, "observed", "0")
		})
	}
}

// TestTrusting_decide has each of them at the end of a bucket of two.
func TestTrusting_decide(t *testing.T) {
	_, client := start(t)
	for _, script := range ablation.Trusting() {
		script.Args = []string{"2", "1", "3600000", "1000", "1"}
		want := []string{"ALLOWED 1", "ALLOWED 0", "DENIED 0"}
		if script.Name == ablation.OneNumber {
			want = []string{"1", "0", "DENIED 0"}
		}
		decisions := answerOf(t, client, script.Sized(3), script.Name, script.Name, script.Name)
		for i := range want {
			got := fmt.Sprint(decisions[i])
			if seven, ok := decisions[i].([]any); ok && len(seven) == 7 {
				got = fmt.Sprint(seven[0], " ", seven[4])
			}
			if got != want[i] {
				t.Errorf("%s, decision %d: %v, want %s", script.Name, i+1, decisions[i], want[i])
			}
		}
		if got := fmt.Sprint(answerOf(t, client, script, script.Name)...); !strings.HasPrefix(got, "DENIED") {
			t.Errorf("%s, alone: %s, want it denied", script.Name, got)
		}
	}
	if got := answerOf(t, client, ablation.Counters().Sized(3), "n", "m", "n"); !slices.Equal(got, []any{int64(1), int64(1), int64(2)}) {
		t.Errorf("counters are %v, want 1, 1, 2", got)
	}
}

func TestPipeline_measuresEachScript(t *testing.T) {
	s, _ := start(t)
	counters := ablation.Counters()
	idle := ablation.Script{Name: "nothing", Source: "return 1", Keys: 1}
	p := ablation.Pipeline{Subjects: 20, Rounds: 3, Decisions: 640}
	costs, err := p.Run(t.Context(), s, []ablation.Family{{counters, counters.Sized(64)}, {idle}})
	if err != nil {
		t.Fatal(err)
	}
	if len(costs) != 2 || len(costs[0]) != 2 || len(costs[1]) != 1 {
		t.Fatalf("costs %v, want two and one", costs)
	}
	one, many, none := costs[0][0], costs[0][1], costs[1][0]
	for _, cost := range []ablation.Cost{one, many} {
		if cost.Name != ablation.Counter || len(cost.Within) != 1 || cost.Given() <= 0 || cost.Given() != cost.Within["incrby"] || cost.CPU <= 0 {
			t.Errorf("a counter costs %+v, want INCRBY in it and nothing else", cost)
		}
	}
	if one.Script <= none.Script || many.Script <= 0 || len(none.Within) != 0 {
		t.Errorf("a counter takes %v µs, one of many %v, nothing %v", one.Script, many.Script, none)
	}
	if _, err := p.Run(t.Context(), s, []ablation.Family{{{Name: "wrong", Source: "return redis.call('NO')", Keys: 1}}}); err == nil {
		t.Error("a script that fails is measured, want an error")
	}
}

func bill(t *testing.T, s *server.Server) server.Bill {
	t.Helper()
	b, err := s.Bill(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// given are the commands of a bill that scripts gave.
func given(b server.Bill) string {
	var names []string
	for name := range b {
		if name != "eval" && name != "info" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}
