package contracttest

import (
	"math"
	"math/rand/v2"

	"github.com/edgelimit/edgelimit/shared-contract/model"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// Walk makes random timelines of one algorithm, on which two readings of it are
// walked side by side. It aims: at the instants just before, at and after a
// retry-after, a reset and a window's end, at costs that just fit and just do
// not, at clocks that step back within the policy's bound and beyond it. Every
// fifth policy is at the bounds of what a policy may be. One seed gives one walk.
//
// A Walk is not safe for concurrent use.
type Walk struct {
	random    *rand.Rand
	algorithm ratelimit.AlgorithmName
	timelines int
}

// Timeline is one policy and what is asked of it, beginning with no state.
// State is kept for ever: it does not expire by its time to live.
type Timeline struct {
	Policy ratelimit.Policy
	Steps  []Step
}

// Step is one evaluation.
type Step struct {
	// Plant, if not nil, is put in place of the state before the evaluation.
	// The zero State is no key. It may be a state that the algorithm must
	// refuse, or one from the clock's future.
	Plant *model.State

	NowMillis int64 // what the server's clock says, 0 to MaxSafeInteger; it also goes back
	Cost      int64 // from 1 to the limit, or any other integer, which is INVALID
}

// NewWalk makes the walk of a seed. It panics on a name that is no algorithm's.
func NewWalk(seed uint64, algorithm ratelimit.AlgorithmName) *Walk {
	if policyMakers[algorithm] == nil {
		panic("contracttest: no walk for algorithm " + string(algorithm))
	}
	return &Walk{random: rand.New(rand.NewPCG(seed, 0)), algorithm: algorithm}
}

// Next makes the next timeline, of steps steps, by a new policy whose maximum
// cost is its limit.
func (w *Walk) Next(steps int) Timeline {
	p := w.policy(w.timelines)
	w.timelines++
	a := aim{Rand: w.random, policy: p, model: model.New(p), nowMillis: w.start()}
	timeline := Timeline{Policy: p, Steps: make([]Step, 0, steps)}
	for range steps {
		timeline.Steps = append(timeline.Steps, a.step())
	}
	return timeline
}

// latestMillis leaves room for what every answer adds to the clock.
var latestMillis = ratelimit.MaxSafeInteger - 4*ratelimit.MaxSpan.Milliseconds()

func (w *Walk) start() int64 {
	switch n := w.random.IntN(10); {
	case n == 0:
		return w.random.Int64N(100)
	case n == 1:
		return w.random.Int64N(latestMillis)
	default:
		return 1_700_000_000_000 + w.random.Int64N(1e11)
	}
}

// aim knows where a timeline stands, by the model, so as to aim the next step.
// The model's mistakes could only make it aim worse.
type aim struct {
	*rand.Rand
	policy    ratelimit.Policy
	model     model.Model
	state     model.State
	reply     model.Reply
	nowMillis int64
}

func (a *aim) step() Step {
	var step Step
	if planted, plants := a.plant(); plants {
		step.Plant, a.state = &planted, planted
	}
	a.nowMillis = min(max(a.when(), 0), latestMillis)
	step.NowMillis, step.Cost = a.nowMillis, a.cost()
	a.reply, a.state, _ = a.model.Step(a.state, step.NowMillis, step.Cost)
	return step
}

// when is the next instant of the clock, before it is held within its range.
func (a *aim) when() int64 {
	ahead := a.nowMillis
	if a.state.ObservedMillis <= latestMillis {
		ahead = max(ahead, a.state.ObservedMillis)
	}
	beside := a.Int64N(3) - 1
	regression := a.policy.MaxClockRegression().Milliseconds()
	span := a.span()
	switch n := a.IntN(100); {
	case n < 15:
		return a.nowMillis
	case n < 25:
		return ahead + 1 + a.Int64N(3)
	case n < 40:
		return ahead + a.Int64N(span+1)
	case n < 60 && a.reply.Status == model.Denied:
		return a.reply.ServerNowMillis + a.reply.RetryAfterMillis + beside
	case n < 60:
		return ahead + a.Int64N(span/4+1)
	case n < 68:
		return a.reply.ResetAtMillis + beside
	case n < 75:
		return ahead - ahead%span + span + beside
	case n < 82:
		return a.state.ObservedMillis - a.Int64N(regression+1)
	case n < 86:
		return a.state.ObservedMillis - regression
	case n < 89:
		return a.state.ObservedMillis - regression - 1
	case n < 93:
		return a.state.ObservedMillis - regression - 1 - a.Int64N(span)
	case n < 98:
		return ahead + span + a.Int64N(span)
	default:
		return ahead + a.Int64N(ratelimit.MaxSpan.Milliseconds())
	}
}

// span is a time in which the algorithm's state changes much: a window, or from
// one token's time to all tokens'.
func (a *aim) span() int64 {
	return ratelimit.MatchAlgorithm(a.policy.Algorithm(),
		func(w ratelimit.FixedWindow) int64 { return w.Window.Milliseconds() },
		func(w ratelimit.SlidingWindowCounter) int64 { return w.Window.Milliseconds() },
		func(b ratelimit.TokenBucket) int64 {
			tokens, periodMillis := b.Rate()
			wanted := []int64{1, max(1, b.Capacity/2), b.Capacity}[a.IntN(3)]
			return max(1, int64(float64(wanted)*float64(periodMillis)/float64(tokens)))
		})
}

func (a *aim) cost() int64 {
	limit := a.policy.Limit()
	remaining := limit
	if whole, _, _ := a.model.Step(a.state, a.nowMillis, limit); whole.Status == model.Denied {
		remaining = whole.Remaining
	} else if whole.Status == model.StateIncompatible {
		return 1
	}
	switch n := a.IntN(100); {
	case n < 30:
		return 1
	case n < 52:
		return min(limit, remaining+1)
	case n < 67:
		return max(1, remaining)
	case n < 77:
		return 1 + a.Int64N(limit)
	case n < 83:
		return min(limit, remaining+1+a.Int64N(limit-remaining+1))
	case n < 87:
		return limit
	case n < 95:
		return 1 + a.Int64N(limit/4+1)
	default:
		return []int64{0, -1, limit + 1, ratelimit.MaxSafeInteger + 1, math.MinInt64, math.MaxInt64}[a.IntN(6)]
	}
}

// plant decides whether a state is put in place of the present one. A state
// that can only be refused does not stay long.
func (a *aim) plant() (model.State, bool) {
	stuck := a.reply.Status == model.StateIncompatible || a.state.ObservedMillis > latestMillis
	switch n := a.IntN(100); {
	case stuck && n < 70:
		return a.legalState(), true
	case n < 4:
		return a.illegalState(), true
	case n < 8:
		return a.legalState(), true
	default:
		return model.State{}, false
	}
}

func (a *aim) legalState() model.State {
	regression := a.policy.MaxClockRegression().Milliseconds()
	observed := []int64{
		0, a.nowMillis, a.nowMillis - a.Int64N(a.span()+1),
		a.nowMillis + regression, a.nowMillis + regression + 1, ratelimit.MaxSafeInteger,
	}[a.IntN(6)]
	s := model.State{Exists: true, ObservedMillis: max(0, observed)}
	switch b := a.policy.Algorithm().(type) {
	case ratelimit.FixedWindow:
		s.Consumed = a.upTo(b.Limit)
	case ratelimit.SlidingWindowCounter:
		s.Previous, s.Current = a.upTo(b.Limit), a.upTo(b.Limit)
	case ratelimit.TokenBucket:
		_, periodMillis := b.Rate()
		s.ScaledTokens, s.Remainder = a.upTo(b.Capacity*ratelimit.TokenScale), a.upTo(periodMillis-1)
	}
	if a.IntN(4) == 0 {
		return model.State{}
	}
	return s
}

// upTo is 0, most, or between.
func (a *aim) upTo(most int64) int64 {
	switch a.IntN(3) {
	case 0:
		return 0
	case 1:
		return most
	default:
		return a.Int64N(most + 1)
	}
}

// illegalState is a legal one with one number just outside its range.
func (a *aim) illegalState() model.State {
	s := a.legalState()
	s.Exists = true
	outside := func(most int64) int64 { return []int64{-1, most + 1}[a.IntN(2)] }
	if a.IntN(3) == 0 {
		s.ObservedMillis = outside(ratelimit.MaxSafeInteger)
		return s
	}
	first := a.IntN(2) == 0
	switch b := a.policy.Algorithm().(type) {
	case ratelimit.FixedWindow:
		s.Consumed = outside(b.Limit)
	case ratelimit.SlidingWindowCounter:
		if first {
			s.Previous = outside(b.Limit)
		} else {
			s.Current = outside(b.Limit)
		}
	case ratelimit.TokenBucket:
		_, periodMillis := b.Rate()
		if first {
			s.ScaledTokens = outside(b.Capacity * ratelimit.TokenScale)
		} else {
			s.Remainder = outside(periodMillis - 1)
		}
	}
	return s
}
