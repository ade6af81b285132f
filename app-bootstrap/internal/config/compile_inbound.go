package config

import (
	"cmp"
	"slices"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
	"github.com/edgelimit/edgelimit/shared-contract/secret"
)

// maxReplicas is the most replicas of a deployment.
const maxReplicas = 100_000

// inboundWeb needs the rest of the configuration compiled.
func (c *compiler) inboundWeb(given rawInboundWeb, rest Config) InboundWeb {
	limiter := given.RateLimit
	made := InboundWeb{
		Mode:           c.inboundMode(limiter.Mode),
		Window:         limiter.Window,
		Replicas:       int(limiter.Replicas),
		CommandTimeout: limiter.CommandTimeout,
		FailClosed:     limiter.OutagePolicy == "fail-closed",
		CountPreflight: limiter.Preflight == "count",
	}
	if made.Mode != ModeOff && rest.Gateway.Upstream == nil && c.sound(keyUpstream) {
		c.warn(keyInboundMode, "is %v, and %s is missing: there is nothing to limit", made.Mode, keyUpstream)
	}
	c.identity(given.Identity, rest, &made)
	c.durationIn(keyInboundWindow, limiter.Window, time.Millisecond, ratelimit.MaxSpan)
	c.durationIn(keyInboundTimeout, limiter.CommandTimeout, time.Millisecond, 10*time.Second)
	c.oneOf(keyOutagePolicy, limiter.OutagePolicy, "local-fallback", "fail-closed")
	c.oneOf(keyPreflight, limiter.Preflight, "exempt", "count")
	made.Limits = c.inboundLimits(limiter.Limits, made.Mode)
	made.Tenants = c.tenants(limiter.Tenants, made.Limits)
	made.Redis = c.inboundRedis(limiter.RedisURL, made.Mode)
	made.Secret = c.inboundSecret(limiter.HMACSecretFile, made.Mode)
	made.Source = c.limitsSource(given.LimitsSource, made.Mode)
	c.replicas(limiter, made)
	return made
}

func (c *compiler) inboundMode(word string) InboundMode {
	if !c.oneOf(keyInboundMode, word, inboundModes...) {
		return ModeOff
	}
	return InboundMode(slices.Index(inboundModes, word))
}

// inboundRedis takes REDIS_URL before redis-url. The variable is read in mode
// redis alone: it may be another program's.
func (c *compiler) inboundRedis(text string, mode InboundMode) InboundRedis {
	end := c.endpoint(keyRedisURL, text)
	if mode == ModeRedis && c.redisEnv != "" {
		c.given(keyRedisURL, redisEnviron)
		end = c.endpoint(keyRedisURL, c.redisEnv)
	}
	if mode == ModeRedis && cmp.Or(c.redisEnv, text) == "" {
		c.refuse(keyRedisURL, "is missing, and mode is redis: give the server, as in redis://127.0.0.1:6379/1, or set %s", redisEnviron)
	}
	if mode == ModeRedis && end.username != "" && end.password == "" {
		c.refuse(keyRedisURL, "names a user without a password: give the whole URL by the environment, as %s", redisEnviron)
	}
	return InboundRedis{
		Address: end.address, TLS: end.tls, Database: end.database,
		Username: end.username, Password: NewSensitive(end.password),
	}
}

// inboundSecret is needed where replicas must name an address alike.
func (c *compiler) inboundSecret(name string, mode InboundMode) secret.Secret {
	if mode == ModeOff || mode == ModeLocal && cmp.Or(name, c.secretEnv) == "" {
		return secret.Secret{}
	}
	return c.secret(keyInboundSecretFile, name)
}

func (c *compiler) replicas(given rawInbound, made InboundWeb) {
	if !c.numberIn(keyReplicas, given.Replicas, 1, maxReplicas) || given.Replicas == 1 {
		return
	}
	if made.Mode == ModeLocal && !given.AcceptPerReplicaLimits {
		c.refuse(keyReplicas, "is %d, and in mode local each counts alone: write mode: redis, or accept-per-replica-limits: true", given.Replicas)
	}
}
