package program_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program/programtest"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	"github.com/edgelimit/edgelimit/shared-contract/model"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

var stateNow = programtest.Decimal(programtest.StateNowMillis)

func TestBatch_aStateThatIsNotOursIsRefusedAlone(t *testing.T) {
	programtest.BatchRefusesStates(t, connect(t, redistest.Start(t).Addr()), "")
}

// Each number at the ends of its range is legal, in whatever order the fields are, and
// is decided as the single program decides it.
func TestBatch_readsWhatTheSingleProgramReads(t *testing.T) {
	client := connect(t, redistest.Start(t).Addr())
	for _, p := range programtest.Ordinary(t) {
		single := program.WithClock(program.For(p.Algorithm()), programtest.SetClock)
		for i, number := range programtest.Numbers[p.Algorithm().Name()] {
			for _, value := range []string{"0", number.Legal, number.Most} {
				fields := programtest.LegalFields(p)
				fields[3+2*i] = value
				for order := range orders(len(fields) / 2) {
					fields := inOrder(fields, order)
					programtest.Plant(t, client, "batch", fields...)
					programtest.Plant(t, client, "single", fields...)
					got := programtest.EvalBatch(t, client, programtest.TimedBatch, []string{"batch"}, append(programtest.BatchArgs(p, "1"), stateNow)...)[0]
					want := programtest.Text(programtest.Eval(t, client, single, []string{"single"}, append(program.PolicyArgs(p), "1", stateNow)...))
					if got != want || strings.HasPrefix(got, "STATE") || strings.HasPrefix(got, "INVALID") {
						t.Errorf("%s, %q: got %s, want %s", p.Algorithm().Name(), fields, got, want)
					}
					ctx := context.Background()
					if got, want := client.HGetAll(ctx, "batch").Val(), client.HGetAll(ctx, "single").Val(); fmt.Sprint(got) != fmt.Sprint(want) {
						t.Errorf("%s, %q: stored %v, want %v", p.Algorithm().Name(), fields, got, want)
					}
				}
			}
		}
	}
}

// orders is how many orders inOrder tells apart.
func orders(pairs int) int { return 2 * pairs }

// inOrder turns pairs of a field and its value round, every other time backwards.
func inOrder(fields []string, order int) []string {
	pairs := slices.Collect(slices.Chunk(fields, 2))
	pairs = slices.Concat(pairs[order/2:], pairs[:order/2])
	if order%2 == 1 {
		slices.Reverse(pairs)
	}
	return slices.Concat(pairs...)
}

func TestBatch_aBadCostIsInvalidAlone(t *testing.T) {
	client := connect(t, redistest.Start(t).Addr())
	for _, p := range programtest.Ordinary(t) {
		bad := map[string]string{"is zero": "0", "is above the limit by one": "11"}
		for what, text := range programtest.Malformed {
			bad[what] = text
		}
		for what, cost := range bad {
			name := string(p.Algorithm().Name()) + " " + what
			keys := []string{name + " before", name, name, name + " after"}
			got := programtest.EvalBatch(t, client, programtest.TimedBatch, keys, append(programtest.BatchArgs(p, "1", cost, cost, "1"), stateNow)...)
			want := []string{programtest.Admitted(p), programtest.Blank(model.Invalid), programtest.Blank(model.Invalid), programtest.Admitted(p)}
			if !slices.Equal(got, want) {
				t.Errorf("%s, a cost that %s:\n got %q\nwant %q", p.Algorithm().Name(), what, got, want)
			}
			if n := client.Exists(context.Background(), name).Val(); n != 0 {
				t.Errorf("%s, a cost that %s: the key was written", p.Algorithm().Name(), what)
			}
		}
	}
}

func TestBatch_whatNoPolicyGivesMakesEveryDecisionInvalid(t *testing.T) {
	client := connect(t, redistest.Start(t).Addr())
	for _, p := range programtest.Ordinary(t) {
		legal := program.PolicyArgs(p)
		rows := map[string][]string{
			"the last argument is missing": legal[:len(legal)-1],
			"an argument is too many":      append(slices.Clone(legal), "1"),
		}
		of := arguments[program.For(p.Algorithm()).Name]
		for i, a := range of[:len(of)-1] { // the last one is the cost
			with := func(value string) []string {
				argv := slices.Clone(legal)
				argv[i+1] = value
				return argv
			}
			for what, text := range programtest.Malformed {
				rows[a.name+" "+what] = with(text)
			}
			rows[a.name+" is above its most by one"] = with(a.beyond)
			if a.low == "1" {
				rows[a.name+" is zero"] = with("0")
			}
		}
		for sentence, argv := range rows {
			got := programtest.EvalBatch(t, client, programtest.TimedBatch, []string{"one", "other"}, append(argv, "1", "1", stateNow)...)
			if want := []string{programtest.Blank(model.Invalid), programtest.Blank(model.Invalid)}; !slices.Equal(got, want) {
				t.Errorf("%s, %s:\n got %q\nwant %q", p.Algorithm().Name(), sentence, got, want)
			}
		}
	}
	if n := client.Exists(context.Background(), "one", "other").Val(); n != 0 {
		t.Errorf("%d keys written by invalid calls, want 0", n)
	}
}

func TestBatch_drawsTheBoundsThatPoliciesDraw(t *testing.T) {
	client := connect(t, redistest.Start(t).Addr())
	for _, row := range boundaries {
		tokens, period := row.bucket.Rate()
		got := programtest.EvalBatch(t, client, program.RateBatch, []string{row.sentence}, "1/token-bucket/1",
			programtest.Decimal(row.bucket.Capacity), programtest.Decimal(tokens), programtest.Decimal(period), "0", "0", "1")[0]
		if strings.HasPrefix(got, "ALLOWED") != row.legal {
			t.Errorf("%s: got %s, want legal %t", row.sentence, got, row.legal)
		}
	}
}

func TestBatch_exactAtTheBoundsOfEveryPolicy(t *testing.T) {
	client := connect(t, redistest.Start(t).Addr())
	for _, row := range extremes {
		p := programtest.PolicyWith(t, row.algorithm, row.regression, ratelimit.MaxSpan)
		keys := []string{"extreme", "beside"}
		client.Del(context.Background(), keys...)
		if row.state != nil {
			for _, key := range keys {
				programtest.Plant(t, client, key, append([]string{"schema", program.Schema(p), "observed", programtest.Decimal(row.observed)}, row.state...)...)
			}
		}
		row.want.ServerNowMillis = row.now
		row.want.EffectiveNowMillis = max(row.now, row.want.EffectiveNowMillis)
		cost := programtest.Decimal(row.cost)
		got := programtest.EvalBatch(t, client, programtest.TimedBatch, keys, append(programtest.BatchArgs(p, cost, cost), programtest.Decimal(row.now))...)
		if want := []string{programtest.Line(row.want), programtest.Line(row.want)}; !slices.Equal(got, want) {
			t.Errorf("%s:\n got %q\nwant %q", row.sentence, got, want)
		}
	}
}

// Without a policy's schema or a cost a key there is nothing to decide: an error in
// place of the decisions, and nothing is written.
func TestBatch_answersAnErrorWhereNoDecisionCanBeMade(t *testing.T) {
	client := connect(t, redistest.Start(t).Addr())
	legal := program.PolicyArgs(programtest.Ordinary(t)[0])
	for sentence, row := range map[string]struct {
		keys []string
		argv []string
	}{
		"there is no key":               {nil, append(slices.Clone(legal), "1")},
		"there is no argument":          {[]string{"one"}, nil},
		"there are costs alone":         {[]string{"one", "other"}, []string{"1", "1"}},
		"there are fewer than the keys": {[]string{"one", "other"}, []string{legal[0]}},
		"the schema is empty":           {[]string{"one"}, append([]string{""}, append(legal[1:], "1")...)},
		"the algorithm is unknown":      {[]string{"one"}, append([]string{"1/leaky-bucket/1"}, append(legal[1:], "1")...)},
		"the revision is missing":       {[]string{"one"}, append([]string{"1/fixed-window/"}, append(legal[1:], "1")...)},
	} {
		err := client.Do(context.Background(), programtest.Command("EVAL", program.RateBatch.Source, row.keys, row.argv)...).Err()
		if err == nil || !strings.HasPrefix(err.Error(), "ERR rate-batch takes ") {
			t.Errorf("%s: got %v, want the program's own error", sentence, err)
		}
	}
	if n := client.Exists(context.Background(), "one", "other").Val(); n != 0 {
		t.Errorf("%d keys were written, want 0", n)
	}
}
