package vectors

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/model"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

type file[V any] struct {
	Format  int `json:"format"`
	Vectors []V `json:"vectors"`
}

type rawEdge struct {
	Name   string        `json:"name"`
	Policy rawPolicy     `json:"policy"`
	Steps  []rawEdgeStep `json:"steps"`
}

type rawPolicy struct {
	ID                       string                  `json:"id"`
	Revision                 *int64                  `json:"revision"`
	Algorithm                ratelimit.AlgorithmName `json:"algorithm"`
	CleanupGraceMillis       *int64                  `json:"cleanupGraceMillis"`
	MaxClockRegressionMillis *int64                  `json:"maxClockRegressionMillis"`
	MaxCost                  *int64                  `json:"maxCost"`
	Limit                    *int64                  `json:"limit"`
	WindowMillis             *int64                  `json:"windowMillis"`
	Capacity                 *int64                  `json:"capacity"`
	RefillTokens             *int64                  `json:"refillTokens"`
	RefillPeriodMillis       *int64                  `json:"refillPeriodMillis"`
}

type rawEdgeStep struct {
	ServerNowMillis *int64 `json:"serverNowMillis"`
	Cost            *int64 `json:"cost"`
	Expect          struct {
		Status             model.Status `json:"status"`
		ServerNowMillis    *int64       `json:"serverNowMillis"`
		EffectiveNowMillis *int64       `json:"effectiveNowMillis"`
		Limit              *int64       `json:"limit"`
		Remaining          *int64       `json:"remaining"`
		RetryAfterMillis   *int64       `json:"retryAfterMillis"`
		ResetAtMillis      *int64       `json:"resetAtMillis"`
	} `json:"expect"`
	TTLMillis *int64 `json:"ttlMillis"`
}

type rawLog struct {
	Name         string       `json:"name"`
	WindowMicros *int64       `json:"windowMicros"`
	Steps        []rawLogStep `json:"steps"`
}

type rawLogStep struct {
	NowMicros   *int64 `json:"nowMicros"`
	User        string `json:"user"`
	Limit       *int64 `json:"limit"`
	TenantLimit *int64 `json:"tenantLimit"`
	UserLimit   *int64 `json:"userLimit"`
	Expect      struct {
		Status           model.Status    `json:"status"`
		Remaining        json.RawMessage `json:"remaining"`
		RetryAfterMillis *int64          `json:"retryAfterMillis"`
		ResetAfterMillis json.RawMessage `json:"resetAfterMillis"`
		TTLMillis        *int64          `json:"ttlMillis"`
	} `json:"expect"`
}

func parseFile[R, V any](content []byte, convert func(R) (V, error)) ([]V, error) {
	if content == nil {
		return nil, nil
	}
	var raw file[R]
	if err := decode(content, &raw); err != nil {
		return nil, err
	}
	if raw.Format != 1 {
		return nil, fmt.Errorf("format %d is not 1", raw.Format)
	}
	if raw.Vectors == nil {
		return nil, errors.New("a file needs vectors")
	}
	var parsed []V
	for i, r := range raw.Vectors {
		v, err := convert(r)
		if err != nil {
			return nil, fmt.Errorf("vector %d: %w", i, err)
		}
		parsed = append(parsed, v)
	}
	return parsed, nil
}

func parseEdge(content []byte, algorithm ratelimit.AlgorithmName) ([]Edge, error) {
	return parseFile(content, func(r rawEdge) (Edge, error) { return convertEdge(r, algorithm) })
}

func parseLogs(content []byte, layers int) ([]Log, error) {
	return parseFile(content, func(r rawLog) (Log, error) { return convertLog(r, layers) })
}

func convertEdge(r rawEdge, algorithm ratelimit.AlgorithmName) (Edge, error) {
	if r.Name == "" || len(r.Steps) == 0 {
		return Edge{}, errors.New("a vector needs a name and steps")
	}
	if r.Policy.Algorithm != algorithm {
		return Edge{}, fmt.Errorf("%s: algorithm %q is not %q", r.Name, r.Policy.Algorithm, algorithm)
	}
	policy, err := convertPolicy(r.Policy)
	if err != nil {
		return Edge{}, fmt.Errorf("%s: %w", r.Name, err)
	}
	edge := Edge{Name: r.Name, Policy: policy}
	for i, s := range r.Steps {
		step, err := convertEdgeStep(s)
		if err != nil {
			return Edge{}, fmt.Errorf("%s: step %d: %w", r.Name, i, err)
		}
		edge.Steps = append(edge.Steps, step)
	}
	return edge, nil
}

func convertPolicy(r rawPolicy) (ratelimit.Policy, error) {
	window := []*int64{r.Limit, r.WindowMillis}
	bucket := []*int64{r.Capacity, r.RefillTokens, r.RefillPeriodMillis}
	wanted, foreign := window, bucket
	if r.Algorithm == ratelimit.NameTokenBucket {
		wanted, foreign = bucket, window
	}
	if !all(present, append(wanted, r.Revision, r.CleanupGraceMillis, r.MaxClockRegressionMillis, r.MaxCost)...) {
		return ratelimit.Policy{}, errors.New("the policy lacks a parameter")
	}
	if !all(absent, foreign...) {
		return ratelimit.Policy{}, errors.New("the policy has a parameter of another algorithm")
	}
	var algorithm ratelimit.Algorithm
	switch r.Algorithm {
	case ratelimit.NameFixedWindow:
		algorithm = ratelimit.FixedWindow{Limit: *r.Limit, Window: millis(*r.WindowMillis)}
	case ratelimit.NameSlidingWindowCounter:
		algorithm = ratelimit.SlidingWindowCounter{Limit: *r.Limit, Window: millis(*r.WindowMillis)}
	case ratelimit.NameTokenBucket:
		algorithm = ratelimit.TokenBucket{Capacity: *r.Capacity, RefillTokens: *r.RefillTokens, RefillPeriod: millis(*r.RefillPeriodMillis)}
	}
	return ratelimit.NewPolicy(ratelimit.PolicyConfig{
		ID: r.ID, Revision: *r.Revision, Algorithm: algorithm, MaxCost: *r.MaxCost,
		CleanupGrace: millis(*r.CleanupGraceMillis), MaxClockRegression: millis(*r.MaxClockRegressionMillis),
		FailureMode: ratelimit.FailClosed,
	})
}

// millis is a duration that NewPolicy refuses where n milliseconds overflow one.
func millis(n int64) time.Duration {
	if n < 0 || n > ratelimit.MaxSpan.Milliseconds() {
		return -1
	}
	return time.Duration(n) * time.Millisecond
}

func convertEdgeStep(r rawEdgeStep) (EdgeStep, error) {
	x := r.Expect
	if !all(present, r.ServerNowMillis, r.Cost, x.ServerNowMillis, x.EffectiveNowMillis, x.Limit, x.Remaining, x.RetryAfterMillis, x.ResetAtMillis) {
		return EdgeStep{}, errors.New("a number is missing")
	}
	switch x.Status {
	case model.Allowed, model.Denied, model.ClockUnsafe, model.StateIncompatible, model.Invalid:
	default:
		return EdgeStep{}, fmt.Errorf("unknown status %q", x.Status)
	}
	if (x.Status == model.Allowed) != (r.TTLMillis != nil) {
		return EdgeStep{}, errors.New("ttlMillis stands on ALLOWED steps and on no others")
	}
	step := EdgeStep{
		ServerNowMillis: *r.ServerNowMillis, Cost: *r.Cost,
		Expect: model.Reply{
			Status: x.Status, ServerNowMillis: *x.ServerNowMillis, EffectiveNowMillis: *x.EffectiveNowMillis,
			Limit: *x.Limit, Remaining: *x.Remaining, RetryAfterMillis: *x.RetryAfterMillis, ResetAtMillis: *x.ResetAtMillis,
		},
	}
	if r.TTLMillis != nil {
		step.TTLMillis = *r.TTLMillis
	}
	return step, nil
}

func convertLog(r rawLog, layers int) (Log, error) {
	if r.Name == "" || len(r.Steps) == 0 || r.WindowMicros == nil || *r.WindowMicros < 1 {
		return Log{}, errors.New("a vector needs a name, a window above 0 and steps")
	}
	log := Log{Name: r.Name, WindowMicros: *r.WindowMicros, Layers: layers}
	for i, s := range r.Steps {
		step, err := convertLogStep(s, layers)
		if err != nil {
			return Log{}, fmt.Errorf("%s: step %d: %w", r.Name, i, err)
		}
		log.Steps = append(log.Steps, step)
	}
	return log, nil
}

func convertLogStep(r rawLogStep, layers int) (LogStep, error) {
	wanted, foreign := []*int64{r.Limit}, []*int64{r.TenantLimit, r.UserLimit}
	if layers == 2 {
		wanted, foreign = foreign, wanted
	}
	if !all(present, append(wanted, r.NowMicros)...) || !all(absent, foreign...) || r.User == "" {
		return LogStep{}, errors.New("a step needs nowMicros, user and the limits of its layers, and no others")
	}
	step := LogStep{NowMicros: *r.NowMicros, User: r.User, Status: r.Expect.Status}
	for _, limit := range wanted {
		step.Limits = append(step.Limits, *limit)
	}
	x := r.Expect
	switch x.Status {
	case model.ClockUnsafe:
		if x.Remaining != nil || x.ResetAfterMillis != nil || x.RetryAfterMillis != nil || x.TTLMillis != nil {
			return LogStep{}, errors.New("a CLOCK_UNSAFE step has no numbers")
		}
		return step, nil
	case model.Allowed, model.Denied:
	default:
		return LogStep{}, fmt.Errorf("unknown status %q", x.Status)
	}
	if x.RetryAfterMillis == nil || (x.Status == model.Allowed) != (x.TTLMillis != nil) {
		return LogStep{}, errors.New("a decided step needs retryAfterMillis, and ttlMillis if and only if it is ALLOWED")
	}
	step.RetryAfterMillis = *x.RetryAfterMillis
	if x.TTLMillis != nil {
		step.TTLMillis = *x.TTLMillis
	}
	var err error
	if step.Remaining, err = perLayer(x.Remaining, layers); err != nil {
		return LogStep{}, fmt.Errorf("remaining: %w", err)
	}
	if step.ResetAfterMillis, err = perLayer(x.ResetAfterMillis, layers); err != nil {
		return LogStep{}, fmt.Errorf("resetAfterMillis: %w", err)
	}
	return step, nil
}

// perLayer reads a number of one layer, or an array of two.
func perLayer(content json.RawMessage, layers int) ([]int64, error) {
	if layers == 1 {
		var one *int64
		if err := decode(content, &one); err != nil || one == nil {
			return nil, errors.Join(errors.New("not a number"), err)
		}
		return []int64{*one}, nil
	}
	var several []*int64
	if err := decode(content, &several); err != nil || len(several) != layers || !all(present, several...) {
		return nil, errors.Join(fmt.Errorf("not %d numbers", layers), err)
	}
	return []int64{*several[0], *several[1]}, nil
}

func present(n *int64) bool { return n != nil }
func absent(n *int64) bool  { return n == nil }

func all(holds func(*int64) bool, numbers ...*int64) bool {
	for _, n := range numbers {
		if !holds(n) {
			return false
		}
	}
	return true
}
