package config

import (
	"time"
)

// cache needs the rest of the configuration compiled: the cache's server is nobody
// else's.
func (c *compiler) cache(given rawCacheRedis, rest Config) Cache {
	made := Cache{
		Enabled: given.Enabled, KeyPrefix: given.KeyPrefix,
		DialTimeout: given.DialTimeout, CommandTimeout: given.CommandTimeout, MaxConnections: int(given.MaxConnections),
	}
	if given.Role != "" {
		c.oneOf(keyCacheRole, given.Role, "cache")
	}
	if !keyPrefix.MatchString(given.KeyPrefix) {
		c.refuse(keyCacheKeyPrefix, "must be 1 to 32 characters of a-z 0-9 . _ -; it is %s", shown(given.KeyPrefix))
	}
	c.durationIn(keyCacheDialTimeout, given.DialTimeout, time.Millisecond, time.Minute)
	c.durationIn(keyCacheTimeout, given.CommandTimeout, time.Millisecond, 10*time.Second)
	c.numberIn(keyCacheMaxConnections, given.MaxConnections, 1, 10_000)

	end := c.endpoint(keyCacheEndpoint, given.Endpoint)
	made.Address, made.TLS, made.Database = end.address, end.tls, end.database
	made.Username, made.Password = c.credentials(
		credentialKeys{keyCacheEndpoint, keyCacheUsername, keyCachePasswordFile}, given.Username, given.PasswordFile, end, given.Enabled)
	if !given.Enabled {
		return made
	}
	if given.Role == "" {
		c.refuse(keyCacheRole, "is missing, and %s is true: write role: cache, and use a Redis of its own for it", keyCacheEnabled)
	}
	if given.Endpoint == "" {
		c.refuse(keyCacheEndpoint, "is missing, and %s is true: give the cache's Redis, as in redis://127.0.0.1:6380/0", keyCacheEnabled)
	}
	made.Secret = c.secret(keyCacheSecretFile, given.HMACSecretFile)
	c.apart(end, rest)
	if rest.InboundWeb.Source.URL == nil {
		c.warn(keyCacheEnabled, "is true, and nothing uses the cache: give %s, or turn it off", keySourceURL)
	}
	return made
}

// apart refuses a cache that is where a limiter counts: it may fail open, and it may
// be evicted.
func (c *compiler) apart(end endpoint, rest Config) {
	if end.address == "" {
		return
	}
	if limits := rest.RateLimit.Redis; sameAddress(end.address, limits.Address) && end.database == limits.Database {
		c.refuse(keyCacheEndpoint, "is %s: a cache needs a Redis of its own", keyEndpoint)
	}
	if inbound := rest.InboundWeb; inbound.Mode == ModeRedis && sameAddress(end.address, inbound.Redis.Address) {
		c.refuse(keyCacheEndpoint, "is the server of %s, in whatever database: a cache needs a Redis of its own", keyRedisURL)
	}
}

// sameAddress tells whether two host:port surely are one server.
func sameAddress(a, b string) bool {
	one, errOne := parseListener(a)
	other, errOther := parseListener(b)
	return errOne == nil && errOther == nil && one.port == other.port && one.sameHost(other)
}
