package history_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// patience bounds one check. A check that is not over by then has found nothing, and fails.
const patience = 30 * time.Second

// state names what a call changes: histories of two states do not meet.
func (c call) state() string { return c.Limiter + " " + c.Subject }

// partition parts a history by the states.
func partition(history []porcupine.Operation) [][]porcupine.Operation {
	var names []string
	parts := map[string][]porcupine.Operation{}
	for _, o := range history {
		name := o.Input.(*operation).Call.state()
		if parts[name] == nil {
			names = append(names, name)
		}
		parts[name] = append(parts[name], o)
	}
	var all [][]porcupine.Operation
	for _, name := range names {
		all = append(all, parts[name])
	}
	return all
}

// historyOf is what the checker is given. A refused call is no part of it: whatever it has charged nobody can explain.
// One of unknown outcome never ends.
func historyOf(made []operation) []porcupine.Operation {
	slices.SortFunc(made, func(a, b operation) int { return int(min(max(a.Start-b.Start, -1), 1)) })
	turns := map[call]int{}
	var all []porcupine.Operation
	for i := range made {
		o := &made[i]
		if o.Fate == refused {
			continue
		}
		end := o.End
		if o.Fate == unknown {
			o.Turn = turns[o.Call]
			turns[o.Call]++
			end = math.MaxInt64
		}
		all = append(all, porcupine.Operation{ClientId: o.Client, Input: o, Call: o.Start, Return: end})
	}
	return all
}

// linearizable is the verdict on a history.
func linearizable(m porcupine.Model, made []operation) porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(m, historyOf(made), patience)
}

// expectLinearizable checks a history, says where it cannot be explained, and returns how long the check took.
func expectLinearizable(t *testing.T, m porcupine.Model, made []operation) time.Duration {
	t.Helper()
	began := time.Now()
	verdict := linearizable(m, made)
	took := time.Since(began)
	if verdict != porcupine.Ok {
		t.Errorf("the history is %s\n%s", verdict, explain(m, historyOf(made)))
	}
	return took
}

// explain names a state whose history is not linearizable, and what stands about the place where the longest
// explanation ends.
func explain(m porcupine.Model, history []porcupine.Operation) string {
	for _, part := range partition(history) {
		verdict, info := porcupine.CheckOperationsVerbose(m, part, patience)
		if verdict == porcupine.Ok {
			continue
		}
		var longest []porcupine.Operation
		for _, candidate := range info.PartialLinearizationsOperations()[0] {
			if len(candidate) > len(longest) {
				longest = candidate
			}
		}
		return describe(verdict, part, longest)
	}
	return "each state alone is explained"
}

func describe(verdict porcupine.CheckResult, part, longest []porcupine.Operation) string {
	explained := map[any]bool{}
	for _, o := range longest {
		explained[o.Input] = true
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s; %d of %d operations are explained, the last of them are\n",
		part[0].Input.(*operation).Call.state(), verdict, len(longest), len(part))
	for _, o := range longest[max(0, len(longest)-5):] {
		fmt.Fprintf(&b, "\t%v\n", *o.Input.(*operation))
	}
	b.WriteString("and then none of\n")
	shown := 0
	for _, o := range part {
		if !explained[o.Input] && shown < 10 {
			fmt.Fprintf(&b, "\t%v\n", *o.Input.(*operation))
			shown++
		}
	}
	return b.String()
}
