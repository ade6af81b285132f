package config

import (
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/secret"
)

// Cache is where replicas share what they look up. Unless Enabled it is checked and
// not complete. It is no endpoint of a limiter, and none can be made of it.
type Cache struct {
	Enabled        bool
	Address        string // host:port
	TLS            bool
	Database       int
	Username       string
	Password       Sensitive
	Secret         secret.Secret
	KeyPrefix      string
	DialTimeout    time.Duration
	CommandTimeout time.Duration
	MaxConnections int
}

// Redacted is the server for logs: scheme, host, port and database. It holds
// neither user nor password. It is "" when none is configured.
func (c Cache) Redacted() string { return redacted(c.Address, c.TLS, c.Database) }
