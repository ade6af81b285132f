package cache

import (
	"crypto/tls"
	"errors"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/secret"
)

// Config says where the cache's Redis is and how long anything may take. There are
// no defaults: every bound is stated.
type Config struct {
	// Addr is host:port.
	Addr string

	// Username and Password are for ACL users; Password alone for requirepass.
	Username, Password string

	Database int

	// TLS, if set, encrypts every connection.
	TLS *tls.Config

	// DialTimeout bounds a dial with its handshake.
	DialTimeout time.Duration

	// CommandTimeout bounds the wait for a connection and, anew, a command. A ctx
	// may shorten it.
	CommandTimeout time.Duration

	// MaxConnections is how many connections there are at most.
	MaxConnections int

	// KeyPrefix begins every key: [a-z0-9._-]{1,32}.
	KeyPrefix string

	// Secret names the entries: no name of a key appears in Redis.
	Secret secret.Secret
}

func (c Config) validate() error {
	var errs []error
	need := func(ok bool, problem string) {
		if !ok {
			errs = append(errs, errors.New("cache: "+problem))
		}
	}
	need(c.Addr != "", "Addr is needed")
	need(c.Database >= 0, "Database must not be negative")
	need(c.DialTimeout > 0, "DialTimeout must be above 0")
	need(c.CommandTimeout > 0, "CommandTimeout must be above 0")
	need(c.MaxConnections > 0, "MaxConnections must be above 0")
	return errors.Join(errs...)
}
