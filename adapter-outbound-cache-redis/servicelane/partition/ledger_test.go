package partition_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/caller"
)

// ledger is what was said of each question, by one client or several.
type ledger struct {
	allowed, doubtful []int64 // by question
	heard             map[string]int64
}

func newLedger(questions []caller.Question) *ledger {
	return &ledger{make([]int64, len(questions)), make([]int64, len(questions)), map[string]int64{}}
}

// enter adds accounts of the same questions.
func (l *ledger) enter(accounts ...caller.Account) *ledger {
	for _, a := range accounts {
		for _, c := range a.Calls {
			l.heard[c.Said]++
			switch c.Said {
			case caller.Allowed:
				l.allowed[c.Question]++
			case indeterminate:
				l.doubtful[c.Question]++
			}
		}
	}
	return l
}

const indeterminate = "indeterminate"

// sum is of several ledgers.
func sum(questions []caller.Question, all ...*ledger) *ledger {
	total := newLedger(questions)
	for _, l := range all {
		for i := range questions {
			total.allowed[i] += l.allowed[i]
			total.doubtful[i] += l.doubtful[i]
		}
		for said, n := range l.heard {
			total.heard[said] += n
		}
	}
	return total
}

// expectCharged fails unless a server has charged what was allowed once, and at most what is in doubt besides.
func (l *ledger) expectCharged(t *testing.T, when string, i int, charged int64) {
	t.Helper()
	if least, most := l.allowed[i], l.allowed[i]+l.doubtful[i]; charged < least || charged > most {
		t.Errorf("%s, question %d: the server has charged %d, want %d to %d", when, i, charged, least, most)
	}
}

// expectUnderstood fails if a client met what is no failure of a server or a network.
func (l *ledger) expectUnderstood(t *testing.T) {
	t.Helper()
	for said, n := range l.heard {
		if !isDecision(said) && said != indeterminate && !strings.HasPrefix(said, "unavailable ") {
			t.Errorf("%d heard %s", n, said)
		}
	}
}

// String is what was heard, in an order of its own.
func (l *ledger) String() string {
	var parts []string
	for _, said := range slices.Sorted(maps.Keys(l.heard)) {
		parts = append(parts, fmt.Sprintf("%s %d", said, l.heard[said]))
	}
	return strings.Join(parts, ", ")
}

// period is a part of an account: calls on some of the questions, from one of its marks on.
type period struct {
	account caller.Account
	from    time.Duration
	among   func(question int) bool
}

func since(a caller.Account, mark string, among func(int) bool) period {
	return period{a, a.Marks[mark], among}
}

// decided is how many calls of an account were decided.
func decided(a caller.Account) int {
	n := 0
	for _, c := range a.Calls {
		if isDecision(c.Said) {
			n++
		}
	}
	return n
}

func isDecision(said string) bool { return said == caller.Allowed || said == caller.Denied }

// admitted is how many calls were allowed in the period, and when the last was, from its beginning.
func (p period) admitted() (n int64, last time.Duration) {
	for _, c := range p.account.Calls {
		if p.among(c.Question) && c.Said == caller.Allowed && c.End >= p.from {
			n, last = n+1, max(last, c.End-p.from)
		}
	}
	return n, last
}

// heard is how many calls of the period were told something.
func (p period) heard(said string) int64 {
	var n int64
	for _, c := range p.account.Calls {
		if p.among(c.Question) && c.Said == said && c.End >= p.from {
			n++
		}
	}
	return n
}

// unserved is the longest time in the period without a decision, and how long it took until the first one.
func (p period) unserved() (longest, first time.Duration) {
	var moments []time.Duration
	end := p.from
	for _, c := range p.account.Calls {
		end = max(end, c.End)
		if p.among(c.Question) && c.End >= p.from && isDecision(c.Said) {
			moments = append(moments, c.End)
		}
	}
	moments = append(moments, end)
	slices.Sort(moments)
	before := p.from
	for _, at := range moments {
		longest, before = max(longest, at-before), at
	}
	return longest, moments[0] - p.from
}

// round is a time as the page shows it.
func round(d time.Duration) time.Duration { return d.Round(10 * time.Millisecond) }
