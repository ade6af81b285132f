package config

import (
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// fields reads the values of one policy, whose path is key.
type fields struct {
	*compiler
	key string
}

func (f fields) word(name string, given *string) string {
	if given == nil {
		f.refuse(child(f.key, name), "is missing: every policy has one")
		return ""
	}
	return *given
}

// number reads a required number of 1 to most.
func (f fields) number(name string, given *int64, most int64) int64 {
	if given == nil {
		f.refuse(child(f.key, name), "is missing: give it a number of 1 to %d", most)
		return 0
	}
	f.numberIn(child(f.key, name), *given, 1, most)
	return *given
}

// span reads a required duration of one millisecond to most.
func (f fields) span(name string, given *time.Duration, most time.Duration) time.Duration {
	if given == nil {
		f.refuse(child(f.key, name), "is missing: give it a duration, as in 1s")
		return 0
	}
	f.durationIn(child(f.key, name), *given, time.Millisecond, most)
	return *given
}

// algorithm reads the parameters of the algorithm that is named, and refuses
// those of another.
func (f fields) algorithm(given rawPolicy) ratelimit.Algorithm {
	if given.Algorithm == nil {
		f.refuse(child(f.key, "algorithm"), "is missing: %s, %s or %s",
			ratelimit.NameTokenBucket, ratelimit.NameFixedWindow, ratelimit.NameSlidingWindowCounter)
		return nil
	}
	name := ratelimit.AlgorithmName(*given.Algorithm)
	if !f.oneOf(child(f.key, "algorithm"), *given.Algorithm, string(ratelimit.NameTokenBucket),
		string(ratelimit.NameFixedWindow), string(ratelimit.NameSlidingWindowCounter)) {
		return nil
	}
	f.foreign(name, given)
	switch name {
	case ratelimit.NameFixedWindow:
		return ratelimit.FixedWindow{
			Limit:  f.number("limit", given.Limit, ratelimit.MaxSafeInteger),
			Window: f.span("window", given.Window, ratelimit.MaxSpan),
		}
	case ratelimit.NameSlidingWindowCounter:
		const most = ratelimit.MaxSafeInteger / ratelimit.CounterScale
		return ratelimit.SlidingWindowCounter{
			Limit:  f.number("limit", given.Limit, most),
			Window: f.span("window", given.Window, time.Duration(most)*time.Millisecond),
		}
	default:
		const most = ratelimit.MaxSafeInteger / ratelimit.TokenScale
		return ratelimit.TokenBucket{
			Capacity:     f.number("capacity", given.Capacity, most),
			RefillTokens: f.number("refill-tokens", given.RefillTokens, ratelimit.MaxSafeInteger),
			RefillPeriod: f.span("refill-period", given.RefillPeriod, ratelimit.MaxSpan),
		}
	}
}

// foreign refuses parameters that the algorithm does not have.
func (f fields) foreign(name ratelimit.AlgorithmName, given rawPolicy) {
	for _, parameter := range []struct {
		name     string
		ofBucket bool
		present  bool
	}{
		{"limit", false, given.Limit != nil},
		{"window", false, given.Window != nil},
		{"capacity", true, given.Capacity != nil},
		{"refill-tokens", true, given.RefillTokens != nil},
		{"refill-period", true, given.RefillPeriod != nil},
	} {
		if parameter.present && parameter.ofBucket != (name == ratelimit.NameTokenBucket) {
			f.refuse(child(f.key, parameter.name), "is not a parameter of %s: remove it or change the algorithm", name)
		}
	}
}

// maxCost checks the bound that depends on another key.
func (f fields) maxCost(made ratelimit.PolicyConfig) {
	most, name := ratelimit.MaxSafeInteger, "limit"
	switch a := made.Algorithm.(type) {
	case ratelimit.FixedWindow:
		most = a.Limit
	case ratelimit.SlidingWindowCounter:
		most = a.Limit
	case ratelimit.TokenBucket:
		most, name = a.Capacity, "capacity"
	}
	switch key := child(f.key, "max-cost"); {
	case made.MaxCost < 1:
		f.refuse(key, "must be at least 1; it is %d", made.MaxCost)
	case f.sound(child(f.key, name)) && made.MaxCost > most:
		f.refuse(key, "must be at most %d, the %s: a request that costs more is never admitted; it is %d", most, name, made.MaxCost)
	}
}

// suspect is the key to correct when valid values do not fit each other.
func (f fields) suspect(made ratelimit.PolicyConfig) string {
	if _, ok := made.Algorithm.(ratelimit.TokenBucket); ok {
		return child(f.key, "refill-period")
	}
	return f.key
}
