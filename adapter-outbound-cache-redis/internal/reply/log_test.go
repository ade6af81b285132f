package reply_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/reply"
	"github.com/edgelimit/edgelimit/shared-contract/model"
	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
)

// The layers that the replies below are about.
const (
	outerLimit = 10
	innerLimit = 5
)

// of is what a layer has left and when it is empty again, in milliseconds.
func of(remaining int, resetMillis int64) slidinglog.Layer {
	return slidinglog.Layer{Remaining: remaining, ResetAfter: time.Duration(resetMillis) * time.Millisecond}
}

func TestDecodeLog_readsWhatTheProgramAnswers(t *testing.T) {
	for _, row := range []struct {
		raw    string
		limits []int
		status model.Status
		want   slidinglog.Verdict
	}{
		{words("ALLOWED 9 4 0 60000 59000"), []int{10, 5}, model.Allowed, slidinglog.Verdict{Allowed: true, Outer: of(9, 60000), Inner: of(4, 59000)}},
		{words("ALLOWED 0 0 0 1 1"), []int{1, 1}, model.Allowed, slidinglog.Verdict{Allowed: true, Outer: of(0, 1), Inner: of(0, 1)}},
		{words("DENIED 0 4 17 17 9"), []int{10, 5}, model.Denied, slidinglog.Verdict{RetryAfter: 17 * time.Millisecond, Outer: of(0, 17), Inner: of(4, 9)}},
		{words("DENIED 10 0 17 0 17"), []int{10, 5}, model.Denied, slidinglog.Verdict{RetryAfter: 17 * time.Millisecond, Outer: of(10, 0), Inner: of(0, 17)}},
		{words("DENIED 0 5 60000 0 0"), []int{0, 5}, model.Denied, slidinglog.Verdict{RetryAfter: time.Minute, Inner: of(5, 0)}},
		{words("CLOCK_UNSAFE 0 0 0 0 0"), []int{10, 5}, model.ClockUnsafe, slidinglog.Verdict{}},
		{words("STATE_INCOMPATIBLE 0 0 0 0 0"), []int{10, 5}, model.StateIncompatible, slidinglog.Verdict{}},
		{words("INVALID 0 0 0 0 0"), []int{10, 5}, model.Invalid, slidinglog.Verdict{}},
		{words("ALLOWED 9 0 0 60000 0"), []int{10}, model.Allowed, slidinglog.Verdict{Allowed: true, Outer: of(9, 60000)}},
		{words("DENIED 0 0 17 17 0"), []int{10}, model.Denied, slidinglog.Verdict{RetryAfter: 17 * time.Millisecond, Outer: of(0, 17)}},
		{words("ALLOWED '9 '0 '0 '60000 '0"), []int{10}, model.Allowed, slidinglog.Verdict{Allowed: true, Outer: of(9, 60000)}},
	} {
		status, got, err := reply.DecodeLog([]byte(row.raw), row.limits...)
		if err != nil || status != row.status || got != row.want {
			t.Errorf("%q of limits %v:\n got %s %+v, %v\nwant %s %+v", row.raw, row.limits, status, got, err, row.status, row.want)
		}
	}
}

// contradictoryLogs have the form of a reply about two layers and cannot be true.
var contradictoryLogs = map[string]string{
	"allowed with more left than the outer limit":      "ALLOWED 11 4 0 60000 60000",
	"allowed with more left than the inner limit":      "ALLOWED 9 6 0 60000 60000",
	"allowed with all of the outer limit left":         "ALLOWED 10 4 0 60000 60000",
	"allowed with all of the inner limit left":         "ALLOWED 9 5 0 60000 60000",
	"allowed with a retry-after":                       "ALLOWED 9 4 1 60000 60000",
	"allowed and the outer log is empty":               "ALLOWED 9 4 0 0 60000",
	"allowed and the inner log is empty":               "ALLOWED 9 4 0 60000 0",
	"denied without a retry-after":                     "DENIED 0 4 0 60000 60000",
	"denied with more left than the outer limit":       "DENIED 11 0 5 60000 60000",
	"denied with more left than the inner limit":       "DENIED 0 6 5 60000 60000",
	"denied with something left of both layers":        "DENIED 1 1 5 60000 60000",
	"an unsafe clock with something left":              "CLOCK_UNSAFE 1 0 0 0 0",
	"an unsafe clock with something left of the inner": "CLOCK_UNSAFE 0 1 0 0 0",
	"an unsafe clock with a retry-after":               "CLOCK_UNSAFE 0 0 1 0 0",
	"an unsafe clock with a reset":                     "CLOCK_UNSAFE 0 0 0 1 0",
	"incompatible state with a number":                 "STATE_INCOMPATIBLE 0 0 0 0 1",
	"invalid with a number":                            "INVALID 1 0 0 0 0",
	"an unknown status":                                "GRANTED 9 4 0 60000 60000",
	"a status in small letters":                        "allowed 9 4 0 60000 60000",
	"a status with something after it":                 "ALLOWED! 9 4 0 60000 60000",
	"five fields":                                      "ALLOWED 9 4 0 60000",
	"seven fields, as of a rate program":               "ALLOWED 9 4 0 60000 60000 0",
	"one field":                                        "ALLOWED",
}

// contradictoryOfOne have the form of a reply about one layer and cannot be true.
var contradictoryOfOne = map[string]string{
	"allowed with a number of a second layer":     "ALLOWED 9 4 0 60000 0",
	"allowed with a reset of a second layer":      "ALLOWED 9 0 0 60000 60000",
	"denied with a number of a second layer":      "DENIED 0 4 5 60000 0",
	"denied with a reset of a second layer":       "DENIED 0 0 5 60000 60000",
	"denied with something left of the one layer": "DENIED 1 0 5 60000 0",
	"allowed with all of the limit left":          "ALLOWED 10 0 0 60000 0",
}

func TestDecodeLog_refusesContradictionsAndOtherForms(t *testing.T) {
	for sentence, line := range contradictoryLogs {
		demandLogRefused(t, sentence, words(line), outerLimit, innerLimit)
		elements := strings.Fields(line)
		for i := range elements[1:] {
			elements[i+1] = "'" + elements[i+1]
		}
		demandLogRefused(t, sentence+", as strings", array(elements...), outerLimit, innerLimit)
	}
	for sentence, line := range contradictoryOfOne {
		demandLogRefused(t, sentence, words(line), outerLimit)
	}
	demandLogRefused(t, "limit 0 allows", words("ALLOWED 0 0 0 60000 0"), 0)
	demandLogRefused(t, "limit 0 of the outer layer allows", words("ALLOWED 0 4 0 60000 60000"), 0, innerLimit)
	demandLogRefused(t, "limit 0 of the inner layer allows", words("ALLOWED 9 0 0 60000 60000"), outerLimit, 0)
	for i := range 5 {
		for _, number := range malformedNumbers {
			elements := strings.Fields("ALLOWED 9 4 0 60000 60000")
			elements[i+1] = number
			demandLogRefused(t, "field "+strconv.Itoa(i+1)+" is "+number, array(elements...), outerLimit, innerLimit)
		}
	}
	for sentence, raw := range malformedBytes {
		demandLogRefused(t, sentence, raw, outerLimit, innerLimit)
	}
	whole := words("ALLOWED 9 4 0 60000 60000")
	for n := range whole {
		demandLogRefused(t, "the first bytes alone", whole[:n], outerLimit, innerLimit)
	}
	demandLogRefused(t, "bytes after the reply", whole+":1\r\n", outerLimit, innerLimit)
}

func demandLogRefused(t *testing.T, sentence, raw string, limits ...int) {
	t.Helper()
	if status, got, err := reply.DecodeLog([]byte(raw), limits...); err == nil || got != (slidinglog.Verdict{}) {
		t.Errorf("%s: %q is read as %s %+v (%v)", sentence, raw, status, got, err)
	}
}

// FuzzDecodeLog holds that no bytes make the decoder panic, that only the
// documented code with numbers that can be true allows, and that what allows or
// denies says the same once more in its plainest form.
func FuzzDecodeLog(f *testing.F) {
	for _, lines := range []map[string]string{contradictoryLogs, contradictoryOfOne} {
		for _, line := range lines {
			f.Add([]byte(words(line)), outerLimit, innerLimit, true)
			f.Add([]byte(words(line)), outerLimit, 0, false)
		}
	}
	for _, line := range []string{"ALLOWED 9 4 0 60000 60000", "DENIED 0 4 5 60000 60000", "CLOCK_UNSAFE 0 0 0 0 0"} {
		f.Add([]byte(words(line)), outerLimit, innerLimit, true)
	}
	f.Add([]byte(words("ALLOWED 9 0 0 60000 0")), outerLimit, 0, false)
	f.Fuzz(func(t *testing.T, raw []byte, outer, inner int, dual bool) {
		limits := []int{outer}
		if dual {
			limits = append(limits, inner)
		}
		status, got, err := reply.DecodeLog(raw, limits...)
		if err != nil || status != model.Allowed && status != model.Denied {
			if got != (slidinglog.Verdict{}) {
				t.Errorf("%q of limits %v says %s and %+v (%v)", raw, limits, status, got, err)
			}
			return
		}
		possible := got.Allowed == (got.RetryAfter == 0) && got.Allowed == (status == model.Allowed)
		fewest := got.Outer.Remaining
		for i, layer := range []slidinglog.Layer{got.Outer, got.Inner}[:len(limits)] {
			fewest = min(fewest, layer.Remaining)
			possible = possible && layer.Remaining >= 0 && layer.Remaining <= limits[i] &&
				(!got.Allowed || layer.Remaining < limits[i] && layer.ResetAfter > 0)
		}
		if !dual {
			possible = possible && got.Inner == slidinglog.Layer{}
		}
		if !possible || !got.Allowed && fewest > 0 {
			t.Errorf("%q of limits %v is read as %s %+v", raw, limits, status, got)
		}
		plain := array(string(status), strconv.Itoa(got.Outer.Remaining), strconv.Itoa(got.Inner.Remaining),
			decimal(got.RetryAfter.Milliseconds()), decimal(got.Outer.ResetAfter.Milliseconds()), decimal(got.Inner.ResetAfter.Milliseconds()))
		if again, verdict, err := reply.DecodeLog([]byte(plain), limits...); err != nil || again != status || verdict != got {
			t.Errorf("%q: read once more as %s %+v (%v)", plain, again, verdict, err)
		}
	})
}
