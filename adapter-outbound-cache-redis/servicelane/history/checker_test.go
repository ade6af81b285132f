package history_test

import (
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
)

const (
	explained = porcupine.Ok
	nowise    = porcupine.Illegal
)

// asked is an evaluation of cost 4 under a fixed window of 20 in 40 ms, made and answered at milliseconds that are
// also the server's.
func asked(from, to int64) operation {
	return operation{Start: from * 1e6, End: to * 1e6, Call: call{Limiter: "fixed-window", Subject: subject(0, 0), Cost: 4}}
}

func (o operation) left(remaining, at int64) operation {
	o.Decision = ratelimit.Decision{Allowed: true, Limit: 20, Remaining: remaining, ObservedAtMillis: at, ResetAtMillis: at/40*40 + 40}
	return o
}

func (o operation) denied(at int64, retry time.Duration) operation {
	o = o.left(0, at)
	o.Decision.Allowed, o.Decision.RetryAfter = false, retry
	return o
}

func (o operation) ended(f fate) operation {
	o.Fate = f
	return o
}

// drained is five evaluations that leave nothing until 120 ms.
func drained(more ...operation) []operation {
	var all []operation
	for n := range int64(5) {
		all = append(all, asked(80+n, 80+n).left(16-4*n, 80+n))
	}
	return append(all, more...)
}

func TestChecker_ofTheEdgePort(t *testing.T) {
	for sentence, row := range map[string]struct {
		made []operation
		want porcupine.CheckResult
	}{
		"nothing":                               {nil, explained},
		"one after the other":                   {[]operation{asked(81, 82).left(16, 82), asked(83, 84).left(12, 84)}, explained},
		"two at once, in either order":          {[]operation{asked(81, 84).left(12, 84), asked(81, 84).left(16, 83)}, explained},
		"two at once, of whom none saw another": {[]operation{asked(81, 84).left(16, 83), asked(81, 84).left(16, 83)}, nowise},
		"the first saw what came after it":      {[]operation{asked(81, 82).left(12, 82), asked(83, 84).left(16, 84)}, nowise},
		"more left than there is":               {[]operation{asked(81, 82).left(17, 82)}, nowise},
		"another limit": {[]operation{func() operation {
			o := asked(81, 82).left(16, 82)
			o.Decision.Limit++
			return o
		}()}, nowise},
		"a window's end frees all":                  {[]operation{asked(81, 82).left(16, 82), asked(119, 120).left(16, 120)}, explained},
		"a window ends a millisecond early":         {[]operation{asked(81, 82).left(16, 82), asked(119, 120).left(16, 119)}, nowise},
		"a denial":                                  {drained(asked(99, 100).denied(100, 20*time.Millisecond)), explained},
		"a denial's wait is a millisecond short":    {drained(asked(99, 100).denied(100, 19*time.Millisecond)), nowise},
		"a denial while there is room":              {[]operation{asked(81, 82).denied(82, 38*time.Millisecond)}, nowise},
		"one more than the limit":                   {drained(asked(99, 100).left(0, 100)), nowise},
		"an answer that cannot be read":             {[]operation{asked(81, 82).ended(wrong)}, nowise},
		"a refused call was not charged":            {[]operation{asked(81, 82).ended(refused), asked(83, 84).left(16, 84)}, explained},
		"a refused call was charged":                {[]operation{asked(81, 82).ended(refused), asked(83, 84).left(12, 84)}, nowise},
		"states do not meet":                        {[]operation{asked(81, 82).left(16, 82), elsewhere(asked(83, 84).left(16, 84))}, explained},
		"an unknown call was charged":               {[]operation{asked(81, 82).left(16, 82), asked(83, 84).ended(unknown), asked(85, 86).left(8, 86)}, explained},
		"an unknown call was charged later":         {[]operation{asked(81, 82).left(16, 82), asked(83, 84).ended(unknown), asked(85, 86).left(12, 86), asked(87, 88).left(4, 88)}, explained},
		"an unknown call was never charged":         {[]operation{asked(81, 82).left(16, 82), asked(83, 84).ended(unknown), asked(85, 86).left(12, 86)}, explained},
		"an unknown call was charged twice":         {[]operation{asked(81, 82).left(16, 82), asked(83, 84).ended(unknown), asked(85, 86).left(4, 86)}, nowise},
		"an unknown call was charged before it was": {[]operation{asked(81, 82).left(16, 82), asked(83, 84).left(8, 84), asked(85, 86).ended(unknown)}, nowise},
		"of two unknown calls the second was charged": {[]operation{asked(81, 82).left(16, 82), asked(83, 84).ended(unknown),
			asked(85, 86).ended(unknown), asked(87, 88).left(8, 88)}, explained},
		"an unknown call at the limit had no effect": {drained(asked(99, 100).ended(unknown), asked(101, 102).denied(102, 18*time.Millisecond)), explained},
	} {
		if got := linearizable(edgeModel(), row.made); got != row.want {
			t.Errorf("%s: got %s, want %s", sentence, got, row.want)
		}
	}
}

func elsewhere(o operation) operation {
	o.Call.Subject = subject(0, 1)
	return o
}

// counted is a call of the tenant, or of a user of his, in a log of 6 and 2 in 50 ms. Durations are in milliseconds.
func counted(from, to int64, user, tenantLeft, userLeft int) operation {
	o := operation{Start: from * 1e6, End: to * 1e6, Call: call{Limiter: slidingLog, Subject: tenant("a", 0, 0), User: user}}
	o.Verdict = slidinglog.Verdict{Allowed: true, Outer: slidinglog.Layer{Remaining: tenantLeft, ResetAfter: logWindow}}
	if user != 0 {
		o.Verdict.Inner = slidinglog.Layer{Remaining: userLeft, ResetAfter: logWindow}
	}
	return o
}

func (o operation) turnedDown(retry, outerReset, innerReset int64) operation {
	millis := func(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
	o.Verdict.Allowed, o.Verdict.RetryAfter = false, millis(retry)
	o.Verdict.Outer.ResetAfter, o.Verdict.Inner.ResetAfter = millis(outerReset), millis(innerReset)
	return o
}

// full is six calls of the tenant, from 101 to 106 ms.
func full(more ...operation) []operation {
	var all []operation
	for n := range 6 {
		all = append(all, counted(101+int64(n), 101+int64(n), 0, 5-n, 0))
	}
	return append(all, more...)
}

// twice is two calls of one user, at 101 and 102 ms.
func twice(more ...operation) []operation {
	return append([]operation{counted(101, 101, 1, 5, 1), counted(102, 102, 1, 4, 0)}, more...)
}

func TestChecker_ofTheSlidingLog(t *testing.T) {
	for sentence, row := range map[string]struct {
		made []operation
		want porcupine.CheckResult
	}{
		"up to the limit":                             {full(), explained},
		"one more than the limit":                     {full(counted(107, 107, 0, 0, 0)), nowise},
		"a denial says how long":                      {full(counted(110, 110, 0, 0, 0).turnedDown(41, 46, 0)), explained},
		"a denial's wait is short":                    {full(counted(110, 110, 0, 0, 0).turnedDown(39, 46, 0)), nowise},
		"a denial's reset is late":                    {full(counted(110, 110, 0, 0, 0).turnedDown(41, 48, 0)), nowise},
		"a call counts for one window":                {full(counted(151, 151, 0, 0, 0)), explained},
		"a call counts for less":                      {full(counted(149, 149, 0, 0, 0)), nowise},
		"a call counts for more":                      {full(counted(152, 152, 0, 0, 0), counted(154, 154, 0, 0, 0).turnedDown(1, 48, 0)), nowise},
		"a window later all is free":                  {full(counted(157, 157, 0, 5, 0)), explained},
		"two at once, in either order":                {[]operation{counted(101, 104, 0, 4, 0), counted(101, 104, 0, 5, 0)}, explained},
		"two at once, of whom none saw another":       {[]operation{counted(101, 104, 0, 5, 0), counted(101, 104, 0, 5, 0)}, nowise},
		"a user's limit denies, and charges nobody":   {twice(counted(110, 110, 1, 4, 0).turnedDown(41, 42, 42), counted(111, 111, 2, 3, 1)), explained},
		"what a user's limit denies is charged":       {twice(counted(110, 110, 1, 4, 0).turnedDown(41, 42, 42), counted(111, 111, 2, 2, 1)), nowise},
		"a user is let through over his limit":        {twice(counted(110, 110, 1, 3, 0)), nowise},
		"a user's calls are not another's":            {twice(counted(110, 110, 2, 3, 1), counted(111, 111, 3, 2, 1)), explained},
		"a user's call is not counted for the tenant": {twice(counted(110, 110, 0, 4, 0)), nowise},
		"a user's wait is the tenant's": {append(full()[:4], counted(105, 105, 1, 1, 1), counted(106, 106, 1, 0, 0),
			counted(110, 110, 1, 0, 0).turnedDown(45, 46, 46)), explained},
		"a user's wait is the shorter": {append(full()[:4], counted(105, 105, 1, 1, 1), counted(106, 106, 1, 0, 0),
			counted(110, 110, 1, 0, 0).turnedDown(41, 46, 46)), nowise},
		"an answer that cannot be read": {[]operation{counted(101, 101, 0, 5, 0).ended(wrong)}, nowise},
	} {
		if got := linearizable(datedLogModel(clocks{}), row.made); got != row.want {
			t.Errorf("%s: got %s, want %s", sentence, got, row.want)
		}
	}
}

// inTheHour is a call of a log of 90 and 40 in an hour.
func inTheHour(from, to int64, user, tenantLeft, userLeft int) operation {
	o := counted(from, to, user, tenantLeft, userLeft)
	o.Verdict.Outer.ResetAfter = longLogWindow
	if user != 0 {
		o.Verdict.Inner.ResetAfter = longLogWindow
	}
	return o
}

func TestChecker_ofTheSlidingLogWithUnknownCalls(t *testing.T) {
	for sentence, row := range map[string]struct {
		made []operation
		want porcupine.CheckResult
	}{
		"one after the other":               {[]operation{inTheHour(1, 2, 0, 89, 0), inTheHour(3, 4, 1, 88, 39)}, explained},
		"the first saw what came after it":  {[]operation{inTheHour(1, 2, 0, 88, 0), inTheHour(3, 4, 0, 89, 0)}, nowise},
		"an unknown call was counted":       {[]operation{inTheHour(1, 2, 1, 0, 0).ended(unknown), inTheHour(3, 4, 1, 88, 38)}, explained},
		"an unknown call was counted later": {[]operation{inTheHour(1, 2, 0, 0, 0).ended(unknown), inTheHour(3, 4, 0, 89, 0), inTheHour(5, 6, 0, 87, 0)}, explained},
		"an unknown call was never counted": {[]operation{inTheHour(1, 2, 1, 0, 0).ended(unknown), inTheHour(3, 4, 1, 89, 39)}, explained},
		"an unknown call was counted twice": {[]operation{inTheHour(1, 2, 1, 0, 0).ended(unknown), inTheHour(3, 4, 1, 87, 37)}, nowise},
		"an unknown call was counted by half": {[]operation{inTheHour(1, 2, 1, 0, 0).ended(unknown), inTheHour(3, 4, 1, 88, 39)},
			nowise},
		"a refused call was counted": {[]operation{inTheHour(1, 2, 0, 0, 0).ended(refused), inTheHour(3, 4, 0, 88, 0)}, nowise},
	} {
		if got := linearizable(countingLog(), row.made); got != row.want {
			t.Errorf("%s: got %s, want %s", sentence, got, row.want)
		}
	}
}
