package program_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

const stateNowMillis = 1_700_000_000_000

// numbers are the state fields of each algorithm after the schema, each with a
// legal value and the largest that is legal for the policies of ordinary.
var numbers = map[ratelimit.AlgorithmName][]struct{ name, legal, most string }{
	ratelimit.NameFixedWindow: {
		{"observed", "1699999999999", "9007199254740991"}, {"consumed", "3", "10"},
	},
	ratelimit.NameSlidingWindowCounter: {
		{"observed", "1699999999999", "9007199254740991"}, {"previous", "3", "10"}, {"current", "4", "10"},
	},
	ratelimit.NameTokenBucket: {
		{"observed", "1699999999999", "9007199254740991"}, {"tokens", "5000", "10000"}, {"remainder", "7", "19999"},
	},
}

// malformed are texts that are no canonical decimal, whatever the range.
var malformed = map[string]string{
	"is empty": "", "is negative": "-1", "is minus zero": "-0", "has a plus": "+1", "is a fraction": "1.5",
	"is a whole fraction": "1.0", "has an exponent": "1e1", "has a leading zero": "01", "is two zeros": "00",
	"is hexadecimal": "0x1", "is a word": "abc", "is infinity": "inf", "is not a number": "nan",
	"has a space before": " 1", "has a space after": "1 ", "has a newline": "1\n", "has a NUL": "1\x00",
	"has a group separator": "1_000", "is in Arabic digits": "\u0661", "is 2^53": "9007199254740992",
	"has 17 digits": "10000000000000000", "is 2^64": "18446744073709551616", "is a page of digits": strings.Repeat("9", 1<<12),
}

func legalFields(p ratelimit.Policy) []string {
	fields := []string{"schema", program.Schema(p)}
	for _, number := range numbers[p.Algorithm().Name()] {
		fields = append(fields, number.name, number.legal)
	}
	return fields
}

// state is one thing that a key may hold.
type state struct {
	sentence string
	plant    func(t *testing.T, client *redis.Client, key string)
}

func hash(sentence string, fields ...string) state {
	return state{sentence, func(t *testing.T, client *redis.Client, key string) { plant(t, client, key, fields...) }}
}

func incompatibleStates(p ratelimit.Policy) []state {
	legal := legalFields(p)
	with := func(i int, value string) []string {
		changed := append([]string(nil), legal...)
		changed[i] = value
		return changed
	}
	states := []state{
		hash("a field is too many", append(with(1, legal[1]), "extra", "1")...),
		hash("every field is another's", "a", "1", "b", "2", "c", "3", "d", "4"),
		hash("the schema is empty", with(1, "")...),
		hash("the schema version is another", with(1, "2"+strings.TrimPrefix(legal[1], "1"))...),
		hash("the schema version has a leading zero", with(1, "0"+legal[1])...),
		hash("the policy revision is another", with(1, strings.TrimSuffix(legal[1], "1")+"2")...),
		hash("the schema is in capitals", with(1, strings.ToUpper(legal[1]))...),
	}
	for other := range numbers {
		if other != p.Algorithm().Name() {
			states = append(states, hash("the algorithm is "+string(other), with(1, fmt.Sprintf("1/%s/1", other))...))
		}
	}
	for i := 0; i < len(legal); i += 2 {
		missing := append(append([]string(nil), legal[:i]...), legal[i+2:]...)
		states = append(states,
			hash("there is no "+legal[i], missing...),
			hash("another field stands for "+legal[i], append(missing, "other", legal[i+1])...))
	}
	for i, number := range numbers[p.Algorithm().Name()] {
		for what, text := range malformed {
			states = append(states, hash(number.name+" "+what, with(3+2*i, text)...))
		}
		most, _ := strconv.ParseInt(number.most, 10, 64)
		states = append(states, hash(number.name+" is out of range by one", with(3+2*i, strconv.FormatInt(most+1, 10))...))
	}
	return append(states, foreignTypes()...)
}

func foreignTypes() []state {
	var states []state
	for kind, command := range map[string][]any{
		"a string":  {"SET", "", "1"},
		"a list":    {"RPUSH", "", "1"},
		"a set":     {"SADD", "", "1"},
		"a zset":    {"ZADD", "", 1, "1"},
		"a stream":  {"XADD", "", "1-1", "a", "b"},
		"a counter": {"PFADD", "", "1"},
	} {
		states = append(states, state{"the key is " + kind, func(t *testing.T, client *redis.Client, key string) {
			args := append([]any(nil), command...)
			args[1] = key
			if err := client.Do(context.Background(), args...).Err(); err != nil {
				t.Fatal(err)
			}
		}})
	}
	return states
}

func TestState_whatIsNotOursIsRefusedAndLeftAlone(t *testing.T) {
	servers(t, func(t *testing.T, client *redis.Client) {
		for _, p := range ordinary(t) {
			timed := program.WithClock(program.For(p.Algorithm()), setClock)
			argv := append(program.PolicyArgs(p), "1", strconv.Itoa(stateNowMillis))
			want := fmt.Sprintf("STATE_INCOMPATIBLE %d %d 0 0 0 0", stateNowMillis, stateNowMillis)
			for i, state := range incompatibleStates(p) {
				key := fmt.Sprintf("%s %d", p.Algorithm().Name(), i)
				state.plant(t, client, key)
				client.PExpire(context.Background(), key, time.Hour)
				before := content(t, client, key)
				if got := text(eval(t, client, timed, []string{key}, argv...)); got != want {
					t.Errorf("%s, %s:\n got %s\nwant %s", timed.Name, state.sentence, got, want)
				}
				if after := content(t, client, key); after != before {
					t.Errorf("%s, %s: the key became %.200s, was %.200s", timed.Name, state.sentence, after, before)
				}
			}
		}
	})
}

// Each number at the ends of its range is legal, so that the table above fails
// for the reason that its sentence gives.
func TestState_theEndsOfEachRangeAreLegal(t *testing.T) {
	servers(t, func(t *testing.T, client *redis.Client) {
		for _, p := range ordinary(t) {
			timed := program.WithClock(program.For(p.Algorithm()), setClock)
			argv := append(program.PolicyArgs(p), "1", strconv.Itoa(stateNowMillis))
			for i, number := range numbers[p.Algorithm().Name()] {
				for _, value := range []string{"0", number.most} {
					fields := legalFields(p)
					fields[3+2*i] = value
					plant(t, client, "state", fields...)
					got := text(eval(t, client, timed, []string{"state"}, argv...))
					if strings.HasPrefix(got, "STATE") || strings.HasPrefix(got, "INVALID") {
						t.Errorf("%s, %s %s: got %s", timed.Name, number.name, value, got)
					}
				}
			}
		}
	})
}
