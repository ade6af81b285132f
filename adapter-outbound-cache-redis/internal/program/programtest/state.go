package programtest

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// StateNowMillis is the instant at which the states of this package are looked at.
const StateNowMillis = 1_700_000_000_000

// Numbers are the state fields of each algorithm after the schema, each with a
// legal value and the largest that is legal for the policies of Ordinary.
var Numbers = map[ratelimit.AlgorithmName][]struct{ Name, Legal, Most string }{
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

// Malformed are texts that are no canonical decimal, whatever the range.
var Malformed = map[string]string{
	"is empty": "", "is negative": "-1", "is minus zero": "-0", "has a plus": "+1", "is a fraction": "1.5",
	"is a whole fraction": "1.0", "has an exponent": "1e1", "has a leading zero": "01", "is two zeros": "00",
	"is hexadecimal": "0x1", "is a word": "abc", "is infinity": "inf", "is not a number": "nan",
	"has a space before": " 1", "has a space after": "1 ", "has a newline": "1\n", "has a NUL": "1\x00",
	"has a group separator": "1_000", "is in Arabic digits": "\u0661", "is 2^53": "9007199254740992",
	"has 17 digits": "10000000000000000", "is 2^64": "18446744073709551616", "is a page of digits": strings.Repeat("9", 1<<12),
}

// LegalFields are a state of one of Ordinary's policies, observed a millisecond before
// StateNowMillis.
func LegalFields(p ratelimit.Policy) []string {
	fields := []string{"schema", program.Schema(p)}
	for _, number := range Numbers[p.Algorithm().Name()] {
		fields = append(fields, number.Name, number.Legal)
	}
	return fields
}

// UsedFields are a state of one of Ordinary's policies in which nothing is left,
// observed at an instant.
func UsedFields(p ratelimit.Policy, observedMillis int64) []string {
	return append([]string{"schema", program.Schema(p), "observed", Decimal(observedMillis)},
		map[ratelimit.AlgorithmName][]string{
			ratelimit.NameFixedWindow:          {"consumed", "10"},
			ratelimit.NameSlidingWindowCounter: {"previous", "0", "current", "10"},
			ratelimit.NameTokenBucket:          {"tokens", "999", "remainder", "0"},
		}[p.Algorithm().Name()]...)
}

// State is what a key may hold: in words, and how it is put where no key is.
type State struct {
	Sentence string
	Plant    func(t *testing.T, client *redis.Client, key string)
}

// Hash is a hash of these alternating fields and values.
func Hash(sentence string, fields ...string) State {
	return State{sentence, func(t *testing.T, client *redis.Client, key string) { Plant(t, client, key, fields...) }}
}

// IncompatibleStates are what a key of one of Ordinary's policies may hold that is not
// ours: hashes that are spoilt in one place, and other types.
func IncompatibleStates(p ratelimit.Policy) []State {
	legal := LegalFields(p)
	with := func(i int, value string) []string {
		changed := append([]string(nil), legal...)
		changed[i] = value
		return changed
	}
	states := []State{
		Hash("a field is too many", append(with(1, legal[1]), "extra", "1")...),
		Hash("every field is another's", "a", "1", "b", "2", "c", "3", "d", "4"),
		Hash("the schema is empty", with(1, "")...),
		Hash("the schema version is another", with(1, "2"+strings.TrimPrefix(legal[1], "1"))...),
		Hash("the schema version has a leading zero", with(1, "0"+legal[1])...),
		Hash("the policy revision is another", with(1, strings.TrimSuffix(legal[1], "1")+"2")...),
		Hash("the schema is in capitals", with(1, strings.ToUpper(legal[1]))...),
	}
	for other := range Numbers {
		if other != p.Algorithm().Name() {
			states = append(states, Hash("the algorithm is "+string(other), with(1, fmt.Sprintf("1/%s/1", other))...))
		}
	}
	for i := 0; i < len(legal); i += 2 {
		missing := append(append([]string(nil), legal[:i]...), legal[i+2:]...)
		states = append(states,
			Hash("there is no "+legal[i], missing...),
			Hash("another field stands for "+legal[i], append(missing, "other", legal[i+1])...))
	}
	for i, number := range Numbers[p.Algorithm().Name()] {
		for what, text := range Malformed {
			states = append(states, Hash(number.Name+" "+what, with(3+2*i, text)...))
		}
		most, _ := strconv.ParseInt(number.Most, 10, 64)
		states = append(states, Hash(number.Name+" is out of range by one", with(3+2*i, strconv.FormatInt(most+1, 10))...))
	}
	return append(states, ForeignTypes()...)
}

// ForeignTypes are a key of each type that no rate program writes.
func ForeignTypes() []State {
	var states []State
	for kind, command := range map[string][]any{
		"a string":  {"SET", "", "1"},
		"a list":    {"RPUSH", "", "1"},
		"a set":     {"SADD", "", "1"},
		"a zset":    {"ZADD", "", 1, "1"},
		"a stream":  {"XADD", "", "1-1", "a", "b"},
		"a counter": {"PFADD", "", "1"},
	} {
		states = append(states, State{"the key is " + kind, func(t *testing.T, client *redis.Client, key string) {
			args := append([]any(nil), command...)
			args[1] = key
			if err := client.Do(context.Background(), args...).Err(); err != nil {
				t.Fatal(err)
			}
		}})
	}
	return states
}
