package programtest

import (
	"context"
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
	"github.com/edgelimit/edgelimit/shared-contract/model"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// Bed is one server and a key on it.
type Bed struct {
	T      *testing.T
	Client *redis.Client
	Key    string
}

// Step is what one evaluation answered, and the lifetime that it gave.
type Step struct {
	Reply     model.Reply
	TTLMillis int64 // 0 where it gave none
}

// Evaluate runs p's program at a set time. PERSIST follows within the same
// transaction, in which no key expires, so the key stays for as long as the test
// wants.
func (b Bed) Evaluate(p ratelimit.Policy, nowMillis, cost int64) Step {
	b.T.Helper()
	ctx := context.Background()
	timed := program.WithClock(program.For(p.Algorithm()), SetClock)
	argv := append(program.PolicyArgs(p), Decimal(cost), Decimal(nowMillis))
	tx := b.Client.TxPipeline()
	ran := tx.Do(ctx, Command("EVAL", timed.Source, []string{b.Key}, argv)...)
	given := GivenTo(tx, b.Key)
	tx.Persist(ctx, b.Key)
	if _, err := tx.Exec(ctx); err != nil {
		b.T.Fatalf("run %s: %v", timed.ID(), err)
	}
	return Step{Reply: b.Decode(ran), TTLMillis: given.One(b.T)}
}

// Decode reads what the client parsed as strictly as the provider does, but for
// the policy's limit, which callers compare themselves.
func (b Bed) Decode(ran *redis.Cmd) model.Reply {
	b.T.Helper()
	values, err := ran.Slice()
	if err != nil || len(values) != 7 {
		b.T.Fatalf("reply %v: %v", values, err)
	}
	var n [6]int64
	for i := range n {
		number, ok := values[i+1].(int64)
		if !ok {
			b.T.Fatalf("field %d is %T, not an integer", i+1, values[i+1])
		}
		n[i] = number
	}
	return model.Reply{
		Status: model.Status(values[0].(string)), ServerNowMillis: n[0], EffectiveNowMillis: n[1],
		Limit: n[2], Remaining: n[3], RetryAfterMillis: n[4], ResetAtMillis: n[5],
	}
}

// Drop deletes the key.
func (b Bed) Drop() {
	b.T.Helper()
	if err := b.Client.Del(context.Background(), b.Key).Err(); err != nil {
		b.T.Fatal(err)
	}
}

// StateFields is a model state as the programs keep it.
func StateFields(p ratelimit.Policy, s model.State) map[string]string {
	if !s.Exists {
		return map[string]string{}
	}
	fields := map[string]int64{"observed": s.ObservedMillis}
	switch p.Algorithm().(type) {
	case ratelimit.FixedWindow:
		fields["consumed"] = s.Consumed
	case ratelimit.SlidingWindowCounter:
		fields["previous"], fields["current"] = s.Previous, s.Current
	case ratelimit.TokenBucket:
		fields["tokens"], fields["remainder"] = s.ScaledTokens, s.Remainder
	}
	texts := map[string]string{"schema": program.Schema(p)}
	for name, number := range fields {
		texts[name] = strconv.FormatInt(number, 10)
	}
	return texts
}
