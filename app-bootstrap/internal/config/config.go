package config

import (
	"net/netip"
	"net/url"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
	"github.com/edgelimit/edgelimit/shared-contract/secret"
)

// Config is a validated configuration, ready to use. It prints no password,
// token or secret.
type Config struct {
	Server     Server
	Gateway    Gateway
	RateLimit  RateLimit
	InboundWeb InboundWeb
	Cache      Cache
}

// Server is where the program listens, and whom it believes.
type Server struct {
	Listen         string         // host:port, the port in digits; 0 is a free one
	AdminListen    string         // host:port; "" is no admin listener
	AdminToken     Sensitive      // zero: none, and then AdminListen is loopback
	TrustedProxies []netip.Prefix // masked, IPv4 never embedded in IPv6
	IPv6PrefixBits int            // 32 to 128
}

// Gateway is what stands behind the program.
type Gateway struct {
	Upstream        *url.URL // nil: none, authorize alone
	SubjectHeader   string   // canonical; "": the client's address is the subject
	ForwardRawPaths bool     // paths that could be read in two ways go through
}

// RateLimit is the edge port's configuration. Unless Enabled it is checked and
// not complete: DefaultPolicy may be zero, Redis.Secret and Redis.Password are.
type RateLimit struct {
	Enabled       bool
	DefaultPolicy ratelimit.Policy
	Policies      []ratelimit.Policy
	Routes        []Route // the first match wins
	Redis         Redis
	DenialCache   DenialCache // zero: none
}

// DenialCache is how many denials this process repeats by itself, and how long.
type DenialCache struct {
	MaxEntries int
	MaxAge     time.Duration
}

// Route gives the requests that it covers a policy and a cost.
type Route struct {
	Path    string   // begins with /; a trailing /* covers the path itself and everything below
	Methods []string // upper case; empty: all. GET covers HEAD
	Policy  string   // the id of one of the policies
	Cost    int64    // 1 to that policy's max cost
}

// Redis is the dedicated coordination endpoint and how it is used.
type Redis struct {
	Address           string // host:port
	TLS               bool
	Database          int
	Username          string
	Password          Sensitive
	Secret            secret.Secret
	KeyPrefix         string
	DialTimeout       time.Duration
	CommandTimeout    time.Duration
	AdmissionWait     time.Duration // 0: refuse at once when full
	MaxInFlight       int
	BreakerFailures   int // consecutive ones that open the breaker
	BreakerProbeEvery time.Duration
}

// Redacted is the endpoint for logs: scheme, host, port and database. It holds
// neither user nor password. It is "" when no endpoint is configured.
func (r Redis) Redacted() string { return redacted(r.Address, r.TLS, r.Database) }
