package config

import "time"

// maxItems bounds policies, routes and trusted proxies: policies label metrics,
// and every request walks the other two.
const maxItems = 1000

func (c *compiler) rateLimit(given rawRateLimit) RateLimit {
	if given.Provider != "" {
		c.oneOf(keyProvider, given.Provider, "redis")
	}
	if given.FailurePolicy != "" {
		c.oneOf(keyFailurePolicy, given.FailurePolicy, "fail-closed")
	}
	if !c.fewEnough(keyPolicies, len(given.Policies)) || !c.fewEnough(keyRoutes, len(given.Routes)) {
		return RateLimit{}
	}
	if given.Enabled {
		c.complete(given)
	}
	catalogue := c.policies(given.Policies)
	limits := RateLimit{
		Enabled:       given.Enabled,
		DefaultPolicy: catalogue.compiled[given.DefaultPolicy],
		Policies:      catalogue.list,
		Routes:        c.routes(given.Routes, catalogue),
		Redis:         c.redis(given.Redis, given.Enabled),
		DenialCache:   c.denialCache(given.DenialCache),
	}
	if given.DefaultPolicy != "" {
		c.exists(keyDefaultPolicy, given.DefaultPolicy, catalogue)
	}
	c.unused(given, catalogue)
	return limits
}

func (c *compiler) fewEnough(key string, n int) bool {
	if n > maxItems {
		c.refuse(key, "has %d entries: keep at most %d", n, maxItems)
	}
	return n <= maxItems
}

// complete names what enabling needs and the configuration lacks. The secret is
// named where it is read.
func (c *compiler) complete(given rawRateLimit) {
	for _, need := range []struct {
		key, value, fix string
	}{
		{keyProvider, given.Provider, "write provider: redis"},
		{keyFailurePolicy, given.FailurePolicy, "write failure-policy: fail-closed"},
		{keyDefaultPolicy, given.DefaultPolicy, "name the policy of requests that no route covers"},
		{keyRole, given.Redis.Role, "write role: coordination, and use a Redis of its own for it"},
		{keyEndpoint, given.Redis.Endpoint, "give the coordination Redis, as in redis://127.0.0.1:6379/0"},
	} {
		if need.value == "" {
			c.refuse(need.key, "is missing, and app.rate-limit.enabled is true: %s", need.fix)
		}
	}
	if len(given.Policies) == 0 {
		c.refuse(keyPolicies, "is missing, and app.rate-limit.enabled is true: define at least one policy")
	}
}

// The bounds of a denial cache. Denials are false for at most their age, after what
// Redis lost.
const (
	maxDenialEntries = 1_000_000
	maxDenialAge     = 10 * time.Second
)

func (c *compiler) denialCache(given rawDenialCache) DenialCache {
	c.durationIn(keyDenialAge, given.MaxAge, time.Millisecond, maxDenialAge)
	if given.MaxEntries == nil {
		if c.isGiven(keyDenialAge) {
			c.refuse(keyDenialEntries, "is missing, and %s is given: say how many denials to keep, or remove both", keyDenialAge)
		}
		return DenialCache{}
	}
	c.numberIn(keyDenialEntries, *given.MaxEntries, 1, maxDenialEntries)
	return DenialCache{MaxEntries: int(*given.MaxEntries), MaxAge: given.MaxAge}
}

// exists checks that a policy of this id is defined, unless some id could not be
// read and might be it.
func (c *compiler) exists(key, id string, catalogue catalogue) bool {
	if catalogue.ids[id] {
		return true
	}
	if catalogue.complete {
		c.refuse(key, "names no policy of %s; it is %s", keyPolicies, shown(id))
	}
	return false
}

// unused warns of policies that no request can get.
func (c *compiler) unused(given rawRateLimit, catalogue catalogue) {
	used := map[string]bool{given.DefaultPolicy: true}
	for _, route := range given.Routes {
		if route.Policy != nil {
			used[*route.Policy] = true
		}
	}
	for i, p := range given.Policies {
		if p.ID != nil && !used[*p.ID] && catalogue.ids[*p.ID] {
			c.warn(item(keyPolicies, i)+".id", "%s is used by no route and is not the default: remove the policy or give it a route", shown(*p.ID))
		}
	}
}
