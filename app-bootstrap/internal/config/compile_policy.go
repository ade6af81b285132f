package config

import (
	"errors"
	"fmt"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// longState is the life of state above which a warning is due.
const longState = 31 * 24 * time.Hour

// catalogue is the policies by id.
type catalogue struct {
	list     []ratelimit.Policy
	ids      map[string]bool             // as declared, the faulty ones too
	compiled map[string]ratelimit.Policy // the sound ones
	complete bool                        // every id could be read
}

func (c *compiler) policies(given []rawPolicy) catalogue {
	out := catalogue{
		list: []ratelimit.Policy{}, ids: map[string]bool{}, compiled: map[string]ratelimit.Policy{},
		complete: !c.misread.above(item(keyPolicies, 0)),
	}
	for i, raw := range given {
		key := item(keyPolicies, i)
		if raw.ID == nil {
			out.complete = false
		} else if out.ids[*raw.ID] {
			c.refuse(key+".id", "%s is defined twice: give each policy an id of its own", shown(*raw.ID))
		} else {
			out.ids[*raw.ID] = true
		}
		if policy, ok := c.policy(key, raw); ok {
			out.list = append(out.list, policy)
			out.compiled[policy.ID()] = policy
		}
	}
	return out
}

// policy compiles one policy, if nothing about it is wrong.
func (c *compiler) policy(key string, given rawPolicy) (ratelimit.Policy, bool) {
	p := fields{c, key}
	made := ratelimit.PolicyConfig{
		ID:                 p.word("id", given.ID),
		Revision:           p.number("revision", given.Revision, ratelimit.MaxSafeInteger),
		Algorithm:          p.algorithm(given),
		MaxCost:            orElse(given.MaxCost, defaultMaxCost),
		CleanupGrace:       orElse(given.CleanupGrace, defaultCleanupGrace),
		MaxClockRegression: orElse(given.MaxClockRegression, defaultMaxClockRegression),
		FailureMode:        ratelimit.FailClosed,
	}
	if given.ID != nil && !ratelimit.ValidPolicyID(made.ID) {
		c.refuse(key+".id", "must be 1 to 64 characters of a-z 0-9 . _ - that begin with a letter or digit; it is %s", shown(made.ID))
	}
	p.maxCost(made)
	if !c.sound(key) {
		return ratelimit.Policy{}, false
	}
	policy, err := ratelimit.NewPolicy(made)
	if err != nil {
		for _, violation := range violations(err) {
			c.refuse(p.suspect(made), "does not fit: %v", violation)
		}
		return ratelimit.Policy{}, false
	}
	c.lifetime(key, policy)
	return policy, true
}

// lifetime warns of state that lives too short or too long.
func (c *compiler) lifetime(key string, p ratelimit.Policy) {
	if p.CleanupGrace() < p.MaxClockRegression() {
		c.warn(key+".cleanup-grace", "%v is below max-clock-regression %v: after a step back of the clock, state can expire early and grant one more limit",
			p.CleanupGrace(), p.MaxClockRegression())
	}
	if life := p.LongestState(); life > longState {
		c.warn(key, "keeps state for up to %s after a subject's last request: expect one key per subject for that long", days(life))
	}
}

func orElse[T any](given *T, otherwise T) T {
	if given == nil {
		return otherwise
	}
	return *given
}

// violations are what NewPolicy's error joins.
func violations(err error) []error {
	if joined, ok := errors.Unwrap(err).(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

func days(d time.Duration) string { return fmt.Sprintf("%.1f days", d.Hours()/24) }
