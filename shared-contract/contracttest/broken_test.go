package contracttest_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/shared-contract/contracttest"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// brokenEnv names the suite that the test binary runs in place of its tests, as
// the child of a test that wants to see the suite fail.
const brokenEnv = "CONTRACTTEST_BROKEN"

func TestMain(m *testing.M) {
	if name := os.Getenv(brokenEnv); name != "" {
		every := func(string, string) (bool, error) { return true, nil }
		testing.Main(every, []testing.InternalTest{{Name: "Broken", F: brokenSuites[name]}}, nil, nil)
	}
	os.Exit(m.Run())
}

// failures runs a suite of brokenSuites in a process of its own, and returns
// what it printed and whether it failed.
func failures(t *testing.T, suite string) (output string, failed bool) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), brokenEnv+"="+suite)
	printed, err := child.CombinedOutput()
	if err != nil && child.ProcessState == nil {
		t.Fatalf("run the suite in a process of its own: %v", err)
	}
	return string(printed), err != nil
}

// brokenPort is a memory port with one fault: broken may answer in its place.
type brokenPort struct {
	memoryPort
	broken func(m memoryPort, ctx context.Context, req ratelimit.Request) (ratelimit.Outcome, bool)
}

func (b brokenPort) Evaluate(ctx context.Context, req ratelimit.Request) ratelimit.Outcome {
	if outcome, answered := b.broken(b.memoryPort, ctx, req); answered {
		return outcome
	}
	return b.memoryPort.Evaluate(ctx, req)
}

// rewritten is a fault in what a decision says.
func rewritten(rewrite func(d *ratelimit.Decision)) func(memoryPort, context.Context, ratelimit.Request) (ratelimit.Outcome, bool) {
	return func(m memoryPort, ctx context.Context, req ratelimit.Request) (ratelimit.Outcome, bool) {
		if _, refused := m.refusal(ctx, req); refused {
			return ratelimit.Outcome{}, false
		}
		return m.rewrite(req, rewrite), true
	}
}

func (m memoryPort) rewrite(req ratelimit.Request, rewrite func(d *ratelimit.Decision)) ratelimit.Outcome {
	p := m.policies[req.PolicyID]
	d := decisionOf(p, m.store.step(p, req))
	rewrite(&d)
	return ratelimit.Evaluated{Decision: d}.Outcome()
}

func allow(p ratelimit.Policy) ratelimit.Outcome {
	return contracttest.Allow(p, p.Limit()-1)
}

// brokenPorts are faults of a port, and the subtest of Run that must see each.
var brokenPorts = map[string]struct {
	seenBy string
	broken func(m memoryPort, ctx context.Context, req ratelimit.Request) (ratelimit.Outcome, bool)
}{
	"charges what it denies": {
		"a_denied_cost_leaves_the_smaller_one_that_fits",
		func(m memoryPort, ctx context.Context, req ratelimit.Request) (ratelimit.Outcome, bool) {
			outcome := m.Evaluate(ctx, req)
			if outcome.Kind() == ratelimit.KindEvaluated && !outcome.Allows() {
				req.Cost = 1
				m.Evaluate(ctx, req)
			}
			return outcome, true
		},
	},
	"allows an unknown policy": {
		"a_request_that_cannot_be_served_is_Incompatible_REQUEST_and_charges_nothing",
		func(m memoryPort, _ context.Context, req ratelimit.Request) (ratelimit.Outcome, bool) {
			if _, known := m.policies[req.PolicyID]; known {
				return ratelimit.Outcome{}, false
			}
			for _, p := range m.policies {
				return allow(p), true
			}
			return ratelimit.Outcome{}, false
		},
	},
	"honours an evaluation id in name only": {
		"a_request_that_cannot_be_served_is_Incompatible_REQUEST_and_charges_nothing",
		func(m memoryPort, ctx context.Context, req ratelimit.Request) (ratelimit.Outcome, bool) {
			req.EvaluationID = ""
			return m.Evaluate(ctx, req), true
		},
	},
	"admits one too many": {
		"one_by_one,_exactly_the_limit_is_admitted",
		func(m memoryPort, ctx context.Context, req ratelimit.Request) (ratelimit.Outcome, bool) {
			outcome := m.Evaluate(ctx, req)
			if outcome.Kind() == ratelimit.KindEvaluated && !outcome.Allows() && req.Cost == 1 {
				return allow(m.policies[req.PolicyID]), true
			}
			return outcome, true
		},
	},
	"admits what two callers saw free at once": {
		"of_64_callers_at_once_exactly_the_limit_is_admitted",
		func(m memoryPort, _ context.Context, req ratelimit.Request) (ratelimit.Outcome, bool) {
			p, known := m.policies[req.PolicyID]
			if !known || p.Limit() != 137 {
				return ratelimit.Outcome{}, false
			}
			if m.store.charged(req.PolicyID, req.SubjectDigest)%10 == 9 {
				return allow(p), true
			}
			return ratelimit.Outcome{}, false
		},
	},
	"does without a deadline": {
		"a_context_without_a_deadline_is_Unavailable_DEADLINE_and_charges_nothing",
		func(m memoryPort, ctx context.Context, req ratelimit.Request) (ratelimit.Outcome, bool) {
			ctx, cancel := context.WithTimeout(ctx, 1<<40)
			defer cancel()
			return m.Evaluate(ctx, req), true
		},
	},
	"allows a caller who has left": {
		"a_context_that_has_ended_never_allows",
		func(m memoryPort, ctx context.Context, req ratelimit.Request) (ratelimit.Outcome, bool) {
			if p, known := m.policies[req.PolicyID]; known && ctx.Err() != nil {
				return allow(p), true
			}
			return ratelimit.Outcome{}, false
		},
	},
	"calls a charge of a caller who left unavailable": {
		"callers_who_leave_under_way_are_charged_once_at_most",
		func(m memoryPort, ctx context.Context, req ratelimit.Request) (ratelimit.Outcome, bool) {
			if m.policies[req.PolicyID].Limit() != 1000 || m.store.charged(req.PolicyID, req.SubjectDigest) < 300 {
				return ratelimit.Outcome{}, false
			}
			m.Evaluate(ctx, req)
			return ratelimit.Unavailable{PolicyID: req.PolicyID}.Outcome(), true
		},
	},
	"counts two subjects as one": {
		"two_subjects_do_not_share_an_allowance",
		func(m memoryPort, ctx context.Context, req ratelimit.Request) (ratelimit.Outcome, bool) {
			req.SubjectDigest = strings.ToUpper(req.SubjectDigest)
			return m.Evaluate(ctx, req), true
		},
	},
	"counts two policies as one": {
		"two_policies_do_not_share_an_allowance",
		func(m memoryPort, ctx context.Context, req ratelimit.Request) (ratelimit.Outcome, bool) {
			if strings.HasPrefix(req.PolicyID, "contract-other-") {
				req.PolicyID = "contract-fixed-window"
			}
			return m.Evaluate(ctx, req), true
		},
	},
	"shows a larger limit": {
		"one_by_one,_exactly_the_limit_is_admitted",
		rewritten(func(d *ratelimit.Decision) { d.Limit++ }),
	},
	"forgets the revision": {
		"a_limit_of_one_admits_one",
		rewritten(func(d *ratelimit.Decision) { d.PolicyRevision = 0 }),
	},
	"says to retry at once": {
		"denials_charge_nothing,_however_many",
		rewritten(func(d *ratelimit.Decision) { d.RetryAfter = 0 }),
	},
	"says to retry a millisecond too soon": {
		"the_same_cost_is_admitted_after_exactly_retry-after",
		rewritten(func(d *ratelimit.Decision) {
			if d.RetryAfter > 1_000_000 {
				d.RetryAfter -= 1_000_000
			}
		}),
	},
	"says to retry a millisecond too late": {
		"retry-after_is_exact_within_the_decay_of_an_earlier_window",
		rewritten(func(d *ratelimit.Decision) {
			if !d.Allowed {
				d.RetryAfter += 1_000_000
			}
		}),
	},
	"resets a millisecond too soon": {
		"the_whole_limit_is_free_again_at_reset-at_and_not_before",
		rewritten(func(d *ratelimit.Decision) { d.ResetAtMillis-- }),
	},
	"claims to be certain of an estimate": {
		"sliding-window-counter/a_limit_of_one_admits_one",
		rewritten(func(d *ratelimit.Decision) { d.Certainty = ratelimit.Certain }),
	},
	"allows from a cache of denials": {
		"a_limit_of_one_admits_one",
		rewritten(func(d *ratelimit.Decision) { d.Source = ratelimit.LocalDenialCache }),
	},
	"has windows that end at each evaluation": {
		"of_64_callers_at_once_exactly_the_limit_is_admitted",
		func(m memoryPort, ctx context.Context, req ratelimit.Request) (ratelimit.Outcome, bool) {
			m.store.clock.advance(nil, 6*3_600_000_000_000)
			return ratelimit.Outcome{}, false
		},
	},
}

// brokenSuites are the suites that only a child process runs.
var brokenSuites = map[string]func(t *testing.T){}

func init() {
	for name, each := range brokenPorts {
		brokenSuites[name] = func(t *testing.T) {
			c := &clock{millis: startMillis}
			s := newStore(c)
			contracttest.Run(t, contracttest.Harness{
				New: func(_ *testing.T, policies ...ratelimit.Policy) ratelimit.EdgeRateLimitPort {
					return brokenPort{newMemoryPort(s, policies), each.broken}
				},
				Advance: c.advance,
			})
		}
	}
}

func TestRun_aBrokenPortFails(t *testing.T) {
	for name, each := range brokenPorts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			output, failed := failures(t, name)
			if !failed || !strings.Contains(output, "--- FAIL: Broken/") || !seen(output, each.seenBy) {
				t.Errorf("want a failure of %q, got failed %t:\n%s", each.seenBy, failed, output)
			}
		})
	}
}

// seen tells whether the subtest of that name is among those that failed.
func seen(output, subtest string) bool {
	for line := range strings.Lines(output) {
		if strings.Contains(line, "--- FAIL: ") && strings.Contains(line, subtest+" (") {
			return true
		}
	}
	return false
}
