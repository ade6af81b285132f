package tally_test

import (
	"slices"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/scripts/drill/internal/tally"
)

// course is a run in milliseconds: dead from 1000 to 3000, a window of 400.
var course = tally.Timeline{Kill: 1000 * ms, Gone: 1010 * ms, Start: 3000 * ms, Recovered: 3500 * ms, End: 4500 * ms}

const window = 400 * ms

func summary(samples ...tally.Sample) [len(tally.Names)]tally.Figures {
	return tally.Summarize(samples, course, window, 2)
}

// of is a sample of a replica.
func of(replica, begun, ended int, result tally.Result, local bool) tally.Sample {
	s := took(begun, ended)
	s.Replica, s.Result, s.Local = replica, result, local
	return s
}

func TestSummarize_putsARequestWhereItCertainlyWas(t *testing.T) {
	for _, row := range []struct {
		sentence string
		sample   tally.Sample
		want     []int
	}{
		{"answered before the kill", took(990, 1000), []int{tally.Before, tally.AroundKill, tally.Whole}},
		{"under way at the kill", took(990, 1020), []int{tally.AroundKill, tally.Whole}},
		{"begun while the server was dying", took(1005, 1020), []int{tally.AroundKill, tally.Whole}},
		{"begun when it was gone", took(1010, 1020), []int{tally.AroundKill, tally.Outage, tally.Whole}},
		{"a window after the kill", took(1500, 1501), []int{tally.Outage, tally.Whole}},
		{"answered before the start", took(2990, 3000), []int{tally.Outage, tally.AroundReturn, tally.Whole}},
		{"under way at the start", took(2990, 3001), []int{tally.AroundReturn, tally.Whole}},
		{"before the last replica recovered", took(3499, 3501), []int{tally.AroundReturn, tally.Whole}},
		{"after it", took(3500, 3501), []int{tally.AroundReturn, tally.After, tally.Whole}},
		{"at the end", took(4499, 4500), []int{tally.After, tally.Whole}},
	} {
		var got []int
		for i, f := range summary(row.sample) {
			if f.Requests == 1 {
				got = append(got, i)
			}
		}
		if !slices.Equal(got, row.want) {
			t.Errorf("%s: in %v, want %v", row.sentence, got, row.want)
		}
	}
}

func TestSummarize_countsEachAnswerOnce(t *testing.T) {
	got := summary(
		of(0, 1100, 1101, tally.Admitted, true), of(1, 1100, 1103, tally.Denied, true), of(0, 1100, 1102, tally.Denied, true),
		of(1, 1200, 1201, tally.Refused, false), of(1, 1200, 1201, tally.Failed, false),
	)[tally.Outage]
	want := tally.Figures{
		Length: 2 * time.Second, Requests: 5, Admitted: 1, Denied: 2, Refused: 1, Failed: 1, Local: 3,
		Worst: 1, WorstByReplica: 1, P50: ms, P99: 3 * ms, Slowest: 3 * ms,
	}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestSummarize_tellsApartWhoAdmitted(t *testing.T) {
	phases := summary(
		of(0, 900, 901, tally.Admitted, false), of(1, 910, 911, tally.Admitted, false),
		of(0, 1020, 1021, tally.Admitted, true), of(0, 1030, 1031, tally.Admitted, true), of(1, 1040, 1041, tally.Admitted, true),
		of(1, 1041, 1042, tally.Denied, true),
	)
	around := phases[tally.AroundKill]
	if around.Worst != 5 || around.WorstByRedis != 2 || around.WorstByReplica != 2 {
		t.Errorf("around the kill %d, %d by Redis, %d by one replica, want 5, 2 and 2", around.Worst, around.WorstByRedis, around.WorstByReplica)
	}
	if outage := phases[tally.Outage]; outage.Worst != 3 || outage.WorstByRedis != 0 {
		t.Errorf("in the outage %d, %d by Redis, want 3 and 0", outage.Worst, outage.WorstByRedis)
	}
	if typical := around.Typical; typical != -1 {
		t.Errorf("a typical window of phases that overlap: %d, want none", typical)
	}
}

func TestFirstAnswers_areOnePerReplicaThatRedisDecided(t *testing.T) {
	samples := []tally.Sample{
		of(0, 2999, 3001, tally.Admitted, false), // begun before the start
		of(0, 3100, 3101, tally.Admitted, true),
		of(0, 3200, 3201, tally.Refused, false),
		of(0, 3210, 3211, tally.Failed, false),
		of(0, 3400, 3401, tally.Denied, false),
		of(0, 3390, 3402, tally.Admitted, false),
	}
	if got := tally.FirstAnswers(samples, course.Start, 2); !slices.Equal(got, []time.Duration{3401 * ms}) {
		t.Errorf("with one replica that is back: %v, want 3.401s", got)
	}
	samples = append(samples, of(1, 3300, 3301, tally.Admitted, false))
	if got := tally.FirstAnswers(samples, course.Start, 2); !slices.Equal(got, []time.Duration{3301 * ms, 3401 * ms}) {
		t.Errorf("with both: %v, want 3.301s and 3.401s", got)
	}
}
