package config

import (
	"fmt"
	"net/url"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/secret"
)

// InboundWeb is the configuration of the inbound-web limiter. In ModeOff it is
// checked and not complete.
type InboundWeb struct {
	TenantHeader string // canonical, as the others are; "": nobody is authenticated by headers
	UserHeader   string // "" is none
	KeyHeader    string // "" is none

	Mode    InboundMode
	Redis   InboundRedis // counts in ModeRedis alone
	Window  time.Duration
	Limits  InboundLimits            // of who is not in Tenants
	Tenants map[string]InboundLimits // by tenant id; complete, never nil
	Secret  secret.Secret            // zero in ModeOff, and in ModeLocal when none is given

	FailClosed     bool // in an outage of Redis; else the local fallback decides
	Replicas       int  // 1 or more; above 1 in ModeLocal, the operator accepted that each counts alone
	CommandTimeout time.Duration
	CountPreflight bool // CORS preflights count; else they are exempt

	Source LimitsSource
}

// LimitsSource is a service that says what limits tenants have.
type LimitsSource struct {
	URL     *url.URL      // https, or on loopback; nil: there is none
	Token   Sensitive     // zero: none
	TTL     time.Duration // how long an answer is not asked for again
	Timeout time.Duration // of a question
}

// InboundMode is where the inbound-web limiter counts.
type InboundMode int

// The modes.
const (
	ModeOff   InboundMode = iota // nowhere: there is no such limiter
	ModeLocal                    // in this process
	ModeRedis
)

// inboundModes are the words of the modes, in their order.
var inboundModes = []string{"off", "local", "redis"}

// String is the mode as it is configured.
func (m InboundMode) String() string {
	if m < 0 || int(m) >= len(inboundModes) {
		return fmt.Sprintf("mode %d", int(m))
	}
	return inboundModes[m]
}

// InboundLimits are the calls a window, each 0 to 100,000. 0 denies all.
type InboundLimits struct {
	Tenant    int
	User      int // of a tenant's user
	Key       int // of a tenant's API key
	Anonymous int // of an address; not a tenant's own
}

// InboundRedis is where ModeRedis counts. It may be the coordination server.
type InboundRedis struct {
	Address  string // host:port
	TLS      bool
	Database int
	Username string
	Password Sensitive
}

// Redacted is the server for logs: scheme, host, port and database. It holds
// neither user nor password. It is "" when none is configured.
func (r InboundRedis) Redacted() string { return redacted(r.Address, r.TLS, r.Database) }

func redacted(address string, tls bool, database int) string {
	if address == "" {
		return ""
	}
	scheme := "redis"
	if tls {
		scheme = "rediss"
	}
	return fmt.Sprintf("%s://%s/%d", scheme, address, database)
}
