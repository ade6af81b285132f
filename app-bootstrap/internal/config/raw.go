package config

import (
	_ "embed"
	"reflect"
	"time"
)

// defaultsYAML is the first layer. It holds every key that has a default.
//
//go:embed defaults.yaml
var defaultsYAML []byte

// The raw structs are the schema: their tags are the only keys, their types the
// only types. A pointer has no default: nil is absent.

type raw struct {
	App rawApp `koanf:"app"`
}

type rawApp struct {
	Server     rawServer     `koanf:"server"`
	Gateway    rawGateway    `koanf:"gateway"`
	RateLimit  rawRateLimit  `koanf:"rate-limit"`
	InboundWeb rawInboundWeb `koanf:"inbound-web"`
	Cache      rawCache      `koanf:"cache"`
}

type rawServer struct {
	Listen         string      `koanf:"listen"`
	AdminListen    string      `koanf:"admin-listen"`
	AdminTokenFile string      `koanf:"admin-token-file"`
	TrustedProxies []string    `koanf:"trusted-proxies"`
	ClientIP       rawClientIP `koanf:"client-ip"`
}

type rawClientIP struct {
	IPv6Prefix int64 `koanf:"ipv6-prefix"`
}

type rawGateway struct {
	Upstream string     `koanf:"upstream"`
	Subject  rawSubject `koanf:"subject"`
	RawPaths string     `koanf:"raw-paths"`
}

type rawSubject struct {
	From   string `koanf:"from"`
	Header string `koanf:"header"`
}

type rawRateLimit struct {
	Enabled       bool           `koanf:"enabled"`
	Provider      string         `koanf:"provider"`
	FailurePolicy string         `koanf:"failure-policy"`
	DefaultPolicy string         `koanf:"default-policy"`
	Routes        []rawRoute     `koanf:"routes"`
	Policies      []rawPolicy    `koanf:"policies"`
	Redis         rawRedis       `koanf:"redis"`
	DenialCache   rawDenialCache `koanf:"denial-cache"`
}

type rawRoute struct {
	Path    *string  `koanf:"path"`
	Methods []string `koanf:"methods"`
	Policy  *string  `koanf:"policy"`
	Cost    *int64   `koanf:"cost"`
}

type rawPolicy struct {
	ID                 *string        `koanf:"id"`
	Revision           *int64         `koanf:"revision"`
	Algorithm          *string        `koanf:"algorithm"`
	Limit              *int64         `koanf:"limit"`
	Window             *time.Duration `koanf:"window"`
	Capacity           *int64         `koanf:"capacity"`
	RefillTokens       *int64         `koanf:"refill-tokens"`
	RefillPeriod       *time.Duration `koanf:"refill-period"`
	MaxCost            *int64         `koanf:"max-cost"`
	CleanupGrace       *time.Duration `koanf:"cleanup-grace"`
	MaxClockRegression *time.Duration `koanf:"max-clock-regression"`
}

type rawRedis struct {
	Role           string        `koanf:"role"`
	Endpoint       string        `koanf:"endpoint"`
	Username       string        `koanf:"username"`
	PasswordFile   string        `koanf:"password-file"`
	HMACSecretFile string        `koanf:"hmac-secret-file"`
	KeyPrefix      string        `koanf:"key-prefix"`
	DialTimeout    time.Duration `koanf:"dial-timeout"`
	CommandTimeout time.Duration `koanf:"command-timeout"`
	MaxInFlight    int64         `koanf:"max-in-flight"`
	AdmissionWait  time.Duration `koanf:"admission-wait"`
	Breaker        rawBreaker    `koanf:"breaker"`
}

type rawBreaker struct {
	Failures   int64         `koanf:"failures"`
	ProbeEvery time.Duration `koanf:"probe-every"`
}

type rawDenialCache struct {
	MaxEntries *int64        `koanf:"max-entries"`
	MaxAge     time.Duration `koanf:"max-age"`
}

type rawInboundWeb struct {
	Identity     rawIdentity     `koanf:"identity"`
	RateLimit    rawInbound      `koanf:"rate-limit"`
	LimitsSource rawLimitsSource `koanf:"limits-source"`
}

type rawLimitsSource struct {
	URL       string        `koanf:"url"`
	TTL       time.Duration `koanf:"ttl"`
	Timeout   time.Duration `koanf:"timeout"`
	TokenFile string        `koanf:"token-file"`
}

type rawCache struct {
	Redis rawCacheRedis `koanf:"redis"`
}

type rawCacheRedis struct {
	Enabled        bool          `koanf:"enabled"`
	Role           string        `koanf:"role"`
	Endpoint       string        `koanf:"endpoint"`
	Username       string        `koanf:"username"`
	PasswordFile   string        `koanf:"password-file"`
	HMACSecretFile string        `koanf:"hmac-secret-file"`
	KeyPrefix      string        `koanf:"key-prefix"`
	DialTimeout    time.Duration `koanf:"dial-timeout"`
	CommandTimeout time.Duration `koanf:"command-timeout"`
	MaxConnections int64         `koanf:"max-connections"`
}

type rawIdentity struct {
	TenantHeader string `koanf:"tenant-header"`
	UserHeader   string `koanf:"user-header"`
	KeyHeader    string `koanf:"key-header"`
}

type rawInbound struct {
	Mode                   string               `koanf:"mode"`
	RedisURL               string               `koanf:"redis-url"`
	HMACSecretFile         string               `koanf:"hmac-secret-file"`
	Window                 time.Duration        `koanf:"window"`
	Limits                 rawInboundLimits     `koanf:"limits"`
	Tenants                map[string]rawTenant `koanf:"tenants"` // by id
	OutagePolicy           string               `koanf:"outage-policy"`
	Replicas               int64                `koanf:"replicas"`
	AcceptPerReplicaLimits bool                 `koanf:"accept-per-replica-limits"`
	CommandTimeout         time.Duration        `koanf:"command-timeout"`
	Preflight              string               `koanf:"preflight"`
}

type rawInboundLimits struct {
	Tenant    *int64 `koanf:"tenant"`
	User      *int64 `koanf:"user"`
	Key       *int64 `koanf:"key"`
	Anonymous *int64 `koanf:"anonymous"`
}

type rawTenant struct {
	Tenant *int64 `koanf:"tenant"`
	User   *int64 `koanf:"user"`
	Key    *int64 `koanf:"key"`
}

// What a policy or a route has when it does not say.
const (
	defaultCost               = 1
	defaultMaxCost            = 1
	defaultCleanupGrace       = 30 * time.Second
	defaultMaxClockRegression = 2 * time.Second
)

// The key paths that the code itself names.
const (
	keyListen         = "app.server.listen"
	keyAdminListen    = "app.server.admin-listen"
	keyAdminTokenFile = "app.server.admin-token-file"
	keyTrustedProxies = "app.server.trusted-proxies"
	keyIPv6Prefix     = "app.server.client-ip.ipv6-prefix"

	keyUpstream      = "app.gateway.upstream"
	keySubjectFrom   = "app.gateway.subject.from"
	keySubjectHeader = "app.gateway.subject.header"
	keyRawPaths      = "app.gateway.raw-paths"

	keyProvider      = "app.rate-limit.provider"
	keyFailurePolicy = "app.rate-limit.failure-policy"
	keyDefaultPolicy = "app.rate-limit.default-policy"
	keyRoutes        = "app.rate-limit.routes"
	keyPolicies      = "app.rate-limit.policies"

	keyRole           = "app.rate-limit.redis.role"
	keyEndpoint       = "app.rate-limit.redis.endpoint"
	keyUsername       = "app.rate-limit.redis.username"
	keyPasswordFile   = "app.rate-limit.redis.password-file"
	keyHMACSecretFile = "app.rate-limit.redis.hmac-secret-file"
	keyKeyPrefix      = "app.rate-limit.redis.key-prefix"
	keyDialTimeout    = "app.rate-limit.redis.dial-timeout"
	keyCommandTimeout = "app.rate-limit.redis.command-timeout"
	keyMaxInFlight    = "app.rate-limit.redis.max-in-flight"
	keyAdmissionWait  = "app.rate-limit.redis.admission-wait"
	keyFailures       = "app.rate-limit.redis.breaker.failures"
	keyProbeEvery     = "app.rate-limit.redis.breaker.probe-every"

	keyDenialEntries = "app.rate-limit.denial-cache.max-entries"
	keyDenialAge     = "app.rate-limit.denial-cache.max-age"

	keyTenantHeader = "app.inbound-web.identity.tenant-header"
	keyUserHeader   = "app.inbound-web.identity.user-header"
	keyKeyHeader    = "app.inbound-web.identity.key-header"

	keyInboundMode       = "app.inbound-web.rate-limit.mode"
	keyRedisURL          = "app.inbound-web.rate-limit.redis-url"
	keyInboundSecretFile = "app.inbound-web.rate-limit.hmac-secret-file"
	keyInboundWindow     = "app.inbound-web.rate-limit.window"
	keyInboundLimits     = "app.inbound-web.rate-limit.limits"
	keyTenants           = "app.inbound-web.rate-limit.tenants"
	keyOutagePolicy      = "app.inbound-web.rate-limit.outage-policy"
	keyReplicas          = "app.inbound-web.rate-limit.replicas"
	keyInboundTimeout    = "app.inbound-web.rate-limit.command-timeout"
	keyPreflight         = "app.inbound-web.rate-limit.preflight"

	keySourceURL       = "app.inbound-web.limits-source.url"
	keySourceTTL       = "app.inbound-web.limits-source.ttl"
	keySourceTimeout   = "app.inbound-web.limits-source.timeout"
	keySourceTokenFile = "app.inbound-web.limits-source.token-file"

	keyCacheEnabled        = "app.cache.redis.enabled"
	keyCacheRole           = "app.cache.redis.role"
	keyCacheEndpoint       = "app.cache.redis.endpoint"
	keyCacheUsername       = "app.cache.redis.username"
	keyCachePasswordFile   = "app.cache.redis.password-file"
	keyCacheSecretFile     = "app.cache.redis.hmac-secret-file"
	keyCacheKeyPrefix      = "app.cache.redis.key-prefix"
	keyCacheDialTimeout    = "app.cache.redis.dial-timeout"
	keyCacheTimeout        = "app.cache.redis.command-timeout"
	keyCacheMaxConnections = "app.cache.redis.max-connections"
)

// secretive tells whether a value of the key may hold a password, so that no
// message repeats it. The names of secret files count: a secret pasted where its
// file's name belongs must not reach a log.
func secretive(key string) bool {
	switch key {
	case keyEndpoint, keyUpstream, keyAdminTokenFile, keyPasswordFile, keyHMACSecretFile, keyRedisURL, keyInboundSecretFile,
		keySourceURL, keySourceTokenFile, keyCacheEndpoint, keyCachePasswordFile, keyCacheSecretFile:
		return true
	}
	return false
}

var schema = reflect.TypeFor[raw]()

// fieldOf finds the field of struct type t that holds the key name.
func fieldOf(t reflect.Type, name string) (reflect.StructField, bool) {
	for i := range t.NumField() {
		if t.Field(i).Tag.Get("koanf") == name {
			return t.Field(i), true
		}
	}
	return reflect.StructField{}, false
}

// names lists the keys of struct type t, in order.
func names(t reflect.Type) []string {
	var out []string
	for i := range t.NumField() {
		out = append(out, t.Field(i).Tag.Get("koanf"))
	}
	return out
}

// listOfSections tells whether t is a list whose items are sections.
func listOfSections(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct
}
