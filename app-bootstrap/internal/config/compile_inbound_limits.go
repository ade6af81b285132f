package config

import (
	"maps"
	"slices"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/duallog"
)

// inboundLimits are all required, unless the limiter is off.
func (c *compiler) inboundLimits(given rawInboundLimits, mode InboundMode) InboundLimits {
	for _, row := range []struct {
		name  string
		given *int64
	}{{"tenant", given.Tenant}, {"user", given.User}, {"key", given.Key}, {"anonymous", given.Anonymous}} {
		if mode != ModeOff && row.given == nil {
			c.refuse(child(keyInboundLimits, row.name), "is missing, and mode is %v: give it a number of 0 to %d", mode, duallog.MaxLimit)
		}
	}
	tenant := rawTenant{given.Tenant, given.User, given.Key}
	made := c.layers(keyInboundLimits, tenant, InboundLimits{})
	made.Anonymous = c.inboundLimit(child(keyInboundLimits, "anonymous"), given.Anonymous, 0)
	c.useless(keyInboundLimits, tenant, made)
	return made
}

// tenants completes what they leave out from the limits of all.
func (c *compiler) tenants(given map[string]rawTenant, all InboundLimits) map[string]InboundLimits {
	made := map[string]InboundLimits{}
	for _, id := range slices.Sorted(maps.Keys(given)) {
		key := entry(keyTenants, id)
		made[id] = c.layers(key, given[id], all)
		c.useless(key, given[id], made[id])
	}
	return made
}

// layers reads the limits that tenants have.
func (c *compiler) layers(key string, given rawTenant, otherwise InboundLimits) InboundLimits {
	return InboundLimits{
		Tenant:    c.inboundLimit(child(key, "tenant"), given.Tenant, otherwise.Tenant),
		User:      c.inboundLimit(child(key, "user"), given.User, otherwise.User),
		Key:       c.inboundLimit(child(key, "key"), given.Key, otherwise.Key),
		Anonymous: otherwise.Anonymous,
	}
}

func (c *compiler) inboundLimit(key string, given *int64, otherwise int) int {
	if given == nil || !c.numberIn(key, *given, 0, duallog.MaxLimit) {
		return otherwise
	}
	return int(*given)
}

// useless warns of a limit that is given and never reached, unless the tenant's is
// unknown or denies all.
func (c *compiler) useless(key string, given rawTenant, made InboundLimits) {
	if made.Tenant == 0 || !c.sound(key) {
		return
	}
	for _, row := range []struct {
		name  string
		given *int64
		limit int
	}{{"user", given.User, made.User}, {"key", given.Key, made.Key}} {
		if row.given != nil && row.limit > made.Tenant {
			c.warn(child(key, row.name), "%d is above the tenant's limit, %d: it is never reached", row.limit, made.Tenant)
		}
	}
}
